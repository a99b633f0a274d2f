"""Read large requests of numbers into arrays without creating Python objects.

`flat_json` separates numbers, strings and structure. Tensors are regular, and so is their structure: lists of
equal length leave a repeating pattern like `[[,,],[,,]]`, and so do rows of named inputs. Inputs that are
strings may stand beside the numbers. For any other body, and for one with an error, the result is None, and
`decode` handles it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import STRING, DType
from tfport.graph.model import Signature
from tfport.serve.rest.flat_json import FlatJson, Kind, available, flatten
from tfport.serve.rest.tensors import B64, MOST_AXES, decoded, readable
from tfport.serve.status import StatusError
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSTANCES, INPUTS, SIGNATURE = "instances", "inputs", "signature_name"
LARGE = 2**15
LARGE_OF_SEVERAL = 2**21
"""Sizes in bytes from which this is faster than creating objects: for one input, and for several."""
_EXACT = 2**53
"""Integers below this are exact as doubles."""
_NAME = rb'"signature_name"~:~"([^"\\\x00-\x1f]*+)"~'
_HEAD, _TAIL = (
    re.compile(pattern.replace(b"~", rb"[ \t\r\n]*+"))
    for pattern in (rb"~\{~(?:" + _NAME + rb',~)?"(instances|inputs)"~:', rb"(?:,~" + _NAME + rb")?\}~\Z")
)
_LONGEST_TAIL = 1024
_TEXT, _BASE64 = b'"', b"b"  # elements that are strings, in a skeleton
_CONTROL = bytes(range(32))


@dataclass(frozen=True, slots=True)
class _Member:
    """An input in a skeleton: its name, and the shape of its elements in each row."""

    name: str
    shape: list[int]
    element: bytes
    """Empty for numbers, else the kind of string."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def strings(self) -> int:
        """Return how many strings its elements consist of."""
        return self.size * {b"": 0, _TEXT: 1, _BASE64: 2}[self.element]


def numbers_of(
    body: bytes, signature_of: Callable[[str], Signature]
) -> tuple[Signature, str, dict[str, NDArray[Any]]] | None:
    """Return the signature, the key of the inputs and the inputs; None if `decode` must handle the body."""
    if len(body) < LARGE or not available():
        return None
    head, tail = _HEAD.match(body), _TAIL.search(body, max(len(body) - _LONGEST_TAIL, 0))
    if head is None or tail is None or (head[1] is not None and tail[1] is not None):
        return None
    try:
        signature, key = signature_of((head[1] or tail[1] or b"").decode()), head[2].decode()
    except (StatusError, UnicodeDecodeError):
        return None
    if len(signature.inputs) > 1 and len(body) < LARGE_OF_SEVERAL:
        return None
    dtypes = [spec.dtype for spec in signature.inputs.values()]
    numeric = [dtype for dtype in dtypes if _is_numeric(dtype)]
    if not numeric or any(dtype != STRING for dtype in dtypes if dtype not in numeric):
        return None
    floating = any(dtype.is_floating for dtype in numeric)
    mixed = floating and any(dtype.is_integer for dtype in numeric)
    kind: Kind = "d" if floating else "u" if {dtype.name for dtype in numeric} == {"uint64"} else "i"
    flat = flatten(body[head.end() : tail.start()], kind, with_fractions=mixed)
    arrays = _arrays(flat, key, signature) if flat is not None else None
    return None if arrays is None else (signature, key, arrays)


def _is_numeric(dtype: DType) -> bool:
    return readable(dtype) and (dtype.is_floating or dtype.is_integer)


def _arrays(flat: FlatJson, key: str, signature: Signature) -> dict[str, NDArray[Any]] | None:
    skeleton, rows = flat.skeleton.replace(b'{":"}', _BASE64), 1
    in_rows = key == INSTANCES and skeleton.startswith(b"[{")
    if in_rows:
        row = skeleton[1 : skeleton.find(b"}") + 1]
        rows = (len(skeleton) - 1) // (len(row) + 1)
        if skeleton != repeated(row, rows):
            return None
        skeleton = row
    elif key == INSTANCES and not skeleton.startswith(b"["):
        return None
    named = skeleton.startswith(b"{")
    members = (_named_members if named else _only_member)(skeleton, flat.strings, signature)
    if members is None or not _are_whole(members, rows, flat, named):
        return None
    arrays = {}
    for member, array in zip(members, _columns(members, rows, flat, signature, named), strict=False):
        if array is None:
            return None
        arrays[member.name] = array.reshape([rows, *member.shape] if in_rows else member.shape)
    return arrays


def _only_member(skeleton: bytes, strings: Sequence[bytes], signature: Signature) -> list[_Member] | None:
    """Return the only input; None if there are others."""
    member = _member(next(iter(signature.inputs)), skeleton, signature)
    return None if member is None or len(signature.inputs) > 1 else [member]


def _named_members(skeleton: bytes, strings: Sequence[bytes], signature: Signature) -> list[_Member] | None:
    """Return the inputs in the skeleton of an object."""
    start, *values = skeleton[1:-1].split(b'":')
    if start or not skeleton.endswith(b"}") or not all(value.endswith(b",") for value in values[:-1]):
        return None
    values = [value[:-1] for value in values[:-1]] + values[-1:]
    sizes = (1 + value.count(_TEXT) + 2 * value.count(_BASE64) for value in values)
    keys = [strings[at] for at in list(accumulate(sizes, initial=0))[:-1] if at < len(strings)]
    by_key = {name.encode(): name for name in signature.inputs}
    if not set(keys) <= set(by_key) or len(set(keys)) != len(values):
        return None
    names = [by_key[key] for key in keys]
    if not set(signature.inputs) - set(names) <= set(signature.defaults):
        return None
    members = [_member(name, value, signature) for name, value in zip(names, values, strict=True)]
    return None if None in members else [member for member in members if member is not None]


def _member(name: str, skeleton: bytes, signature: Signature) -> _Member | None:
    element = skeleton.strip(b"[],")[:1]
    shape = shape_of(skeleton, element)
    is_text = signature.inputs[name].dtype == STRING
    if shape is None or is_text != bool(element) or element not in (b"", _TEXT, _BASE64):
        return None
    return _Member(name, shape, element)


def _are_whole(members: Sequence[_Member], rows: int, flat: FlatJson, named: bool) -> bool:
    """Whether there are as many numbers and strings as the skeleton says: no list is empty."""
    width, strings = sum(member.size for member in members), sum(member.strings for member in members)
    return len(flat.numbers) == rows * width and len(flat.strings) == rows * (strings + named * len(members))


def _columns(
    members: Sequence[_Member], rows: int, flat: FlatJson, signature: Signature, named: bool
) -> Iterator[NDArray[Any] | None]:
    """Yield the elements of each input; None if they are not valid."""
    numbers, fractions = flat.numbers.reshape(rows, -1), flat.fractions.reshape(rows, -1)
    step, at, string = len(flat.strings) // rows, 0, 0
    for member in members:
        if named:
            keys = flat.strings[string::step]
            if keys.count(keys[0]) != rows:
                yield None
            string += 1
        if member.element:
            texts = _in_rows(flat.strings, string, string + member.strings, step)
            yield _base64(texts) if member.element == _BASE64 else _texts(texts)
        else:
            column = slice(at, at + member.size)
            yield _numbers(numbers[:, column], fractions[:, column], signature.inputs[member.name].dtype)
        at, string = at + member.size, string + member.strings


def _in_rows(strings: list[bytes], begin: int, end: int, step: int) -> list[bytes]:
    """Return the strings of one input, row by row."""
    if end - begin == step:
        return strings
    if end - begin == 1:
        return strings[begin::step]
    return [text for at in range(0, len(strings), step) for text in strings[at + begin : at + end]]


def _texts(texts: list[bytes]) -> NDArray[Any] | None:
    joined = b"".join(texts)
    try:
        joined.decode()
        if len(joined.translate(None, _CONTROL)) != len(joined):
            return None
    except UnicodeDecodeError:
        return None
    return _objects(texts)


def _base64(texts: list[bytes]) -> NDArray[Any] | None:
    keys, values = texts[::2], texts[1::2]
    if keys.count(B64.encode()) != len(keys):
        return None
    try:
        return _objects([decoded({B64: text.decode()}) for text in values])
    except (StatusError, UnicodeDecodeError):
        return None


def _objects(items: list[bytes]) -> NDArray[Any]:
    out = np.empty(len(items), object)
    out[:] = items
    return out


def _numbers(values: NDArray[Any], fractions: NDArray[np.bool_], dtype: DType) -> NDArray[Any] | None:
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        low, high = values.min(), values.max()
        if values.dtype.kind == "f" and (fractions.any() or low <= -_EXACT or high >= _EXACT):
            return None
        if low < limits.min or high > limits.max:
            return None
    with np.errstate(over="ignore"):
        if dtype.is_floating and dtype.numpy.itemsize < 4:
            values = values.astype(np.float32)
        return values.astype(dtype.numpy, copy=False)


def repeated(item: bytes, count: int) -> bytes:
    """Return a list of equal items."""
    return b"[%s%s]" % ((item + b",") * (count - 1), item)


def shape_of(skeleton: bytes, element: bytes = b"") -> list[int] | None:
    """Return the shape of nested lists from their brackets and commas; None if lengths differ."""
    depth = len(skeleton) - len(skeleton.lstrip(b"["))
    if depth > MOST_AXES:
        return None
    shape: list[int] = []
    inner = element
    for level in range(1, depth + 1):
        begin = depth - level
        end = skeleton.find(b"]" * level, begin) + level
        size = (end - begin - 1) // (len(inner) + 1)
        if size < 1:
            return None
        shape.insert(0, size)
        inner = repeated(inner, size)
    return shape if inner == skeleton else None
