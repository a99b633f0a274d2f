"""Read large lists of numbers into arrays without creating Python objects.

simdjson parses them and flattens nested lists. The shape is found in the text without digits and spaces:
lists of equal length leave a repeating pattern like `[[,,],[,,]]`. For any other body, and for one with
an error, the result is None, and `decode` handles it.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import DType
from tfport.graph.model import Signature
from tfport.serve.rest.tensors import MOST_AXES, readable
from tfport.serve.status import StatusError

try:
    import simdjson
except ImportError:  # no wheel for some Python versions: slower, but the same results
    simdjson = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSTANCES, INPUTS, SIGNATURE = "instances", "inputs", "signature_name"
LARGE = 2**13
"""Size in bytes from which this is faster than creating objects."""
KEPT = 2**22
"""Parsing takes about ten times the size of a body; above this size the memory is freed afterwards."""
_OF_NUMBERS = b"0123456789+-.eE \t\r\n"
_LISTS = re.compile(rb"\[[\[\],]*+")  # possessive: no backtracking
_parser = simdjson.Parser() if simdjson else None
_one_at_a_time = threading.Lock()


def numbers_of(
    body: bytes, signature_of: Callable[[str], Signature]
) -> tuple[Signature, str, dict[str, NDArray[Any]]] | None:
    """Return the signature, the key of the inputs and the inputs; None if `decode` must handle the body."""
    if _parser is None or len(body) < LARGE:
        return None
    if len(body) > KEPT:
        return _read(simdjson.Parser(), body, signature_of)
    with _one_at_a_time:
        return _read(_parser, body, signature_of)


def _read(
    parser: Any, body: bytes, signature_of: Callable[[str], Signature]
) -> tuple[Signature, str, dict[str, NDArray[Any]]] | None:
    try:
        document = parser.parse(body)
        keys = set(document.keys())  # not its items: they would become Python objects
        (key,) = keys - {SIGNATURE}
        value, called = document[key], document[SIGNATURE] if SIGNATURE in keys else ""
        signature = signature_of(called) if isinstance(called, str) else None
    except (ValueError, TypeError, AttributeError, RuntimeError, StatusError):  # invalid, or other JSON
        return None
    if signature is None or key not in (INSTANCES, INPUTS) or len(document) != len(keys):
        return None
    if key == INPUTS and isinstance(value, simdjson.Object):
        named = [(name, value[name]) for name in value.keys()]  # noqa: SIM118  not a dict
    else:
        named = [(name, value) for name in signature.inputs]
    skeletons = [match.rstrip(b",") for match in _LISTS.findall(body.translate(None, _OF_NUMBERS))]
    if len(skeletons) != len(named) or sorted(name for name, _ in named) != sorted(signature.inputs):
        return None
    arrays = {}
    for (name, numbers), skeleton in zip(named, skeletons, strict=True):
        array = _array(numbers, skeleton, signature.inputs[name].dtype)
        if array is None:
            return None
        arrays[name] = array
    return signature, key, arrays


def _array(numbers: Any, skeleton: bytes, dtype: DType) -> NDArray[Any] | None:
    shape = shape_of(skeleton)
    if shape is None or not readable(dtype) or not (dtype.is_floating or dtype.is_integer):
        return None
    kind = "d" if dtype.is_floating else "u" if dtype.name == "uint64" else "i"
    try:
        flat = np.frombuffer(numbers.as_buffer(of_type=kind), {"d": "f8", "i": "i8", "u": "u8"}[kind])
    except (TypeError, ValueError, AttributeError):  # not a list, or not all elements are numbers
        return None
    if flat.size != math.prod(shape):  # a list is empty
        return None
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        if flat.min() < limits.min or flat.max() > limits.max:
            return None
    with np.errstate(over="ignore"):
        if dtype.is_floating and dtype.numpy.itemsize < 4:
            flat = flat.astype(np.float32)
        return flat.astype(dtype.numpy, copy=False).reshape(shape)


def shape_of(skeleton: bytes) -> list[int] | None:
    """Return the shape of nested lists from their brackets and commas; None if lengths differ."""
    depth = len(skeleton) - len(skeleton.lstrip(b"["))
    if depth > MOST_AXES:
        return None
    shape: list[int] = []
    inner = b""
    for level in range(1, depth + 1):
        begin = depth - level
        end = skeleton.find(b"]" * level, begin) + level
        size = (end - begin - 1) // (len(inner) + 1)
        if size < 1:
            return None
        shape.insert(0, size)
        inner = b"[" + b",".join([inner] * size) + b"]"
    return shape if inner == skeleton else None
