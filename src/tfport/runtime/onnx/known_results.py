"""Compute nodes whose inputs are known before a run: those that compute shapes from sizes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.program import ONNX_TYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

Attrs = Mapping[str, Any]
Arrays = Sequence["NDArray[Any] | None"]
Compute = Callable[[Attrs, Arrays], "NDArray[Any]"]
NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "float32", "float64")
TYPES = {ONNX_TYPES[name]: np.dtype(name) for name in NUMBERS}
MAX_ELEMENTS = 1 << 20
"""Of a result: larger ones are computed in each run."""


class NotKnown(Exception):
    """A result that is not computed here, or an error that a run would report."""


def known_result(op: str, attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    """The result of a node on constants; None stands for an input that is left out."""
    if op not in KNOWN:
        raise NotKnown(f"{op} of constants")
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(KNOWN[op](attrs, arrays))
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise NotKnown(f"{op}: {error}") from None
    if result.size > MAX_ELEMENTS:
        raise NotKnown(f"{op}: {result.size} elements")
    return result


def integers(name: str, number: int, attrs: Attrs, arrays: Arrays) -> list[int] | None:
    """Integers of an attribute, or, as in newer versions of an op, of an input."""
    if name in attrs:
        return list(attrs[name])
    array = arrays[number] if number < len(arrays) else None
    return [int(element) for element in np.atleast_1d(array)] if array is not None else None


def _cast(attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    return _first(arrays).astype(TYPES[attrs["to"]])


def _squeeze(attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    axes = integers("axes", 1, attrs, arrays)
    return np.squeeze(_first(arrays), tuple(axes) if axes is not None else None)


def _unsqueeze(attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    return np.expand_dims(_first(arrays), tuple(integers("axes", 1, attrs, arrays) or ()))


def _slice(attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    data, starts, ends = (np.asarray(array) for array in arrays[:3])
    axes = integers("axes", 3, attrs, arrays) or range(len(starts))
    steps = integers("steps", 4, attrs, arrays)
    parts = [slice(None)] * data.ndim
    for index, axis in enumerate(axes):
        parts[axis] = slice(int(starts[index]), int(ends[index]), steps[index] if steps else 1)
    return data[tuple(parts)]


def _reshape(attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    data, shape = (np.asarray(array) for array in arrays)
    sizes = [int(size) for size in shape]
    if not attrs.get("allowzero"):
        sizes = [data.shape[axis] if size == 0 else size for axis, size in enumerate(sizes)]
    return data.reshape(sizes)


def _quotient(numerator: NDArray[Any], divisor: NDArray[Any]) -> NDArray[Any]:
    if not divisor.all():
        raise ValueError("a divisor is 0")
    if numerator.dtype.kind == "f":
        return np.asarray(np.true_divide(numerator, divisor))
    if min(numerator.min(), divisor.min()) < 0:
        raise ValueError("a quotient of other integers than sizes")
    return np.asarray(np.floor_divide(numerator, divisor))


def _filled(attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    value = attrs.get("value")
    sizes = _limited([int(size) for size in _first(arrays)])
    return np.full(sizes, np.float32(0) if value is None else np.asarray(value).reshape(()))


def _expand(_attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    data, shape = (np.asarray(array) for array in arrays)
    sizes = np.broadcast_shapes(data.shape, tuple(int(size) for size in shape))
    return np.array(np.broadcast_to(data, _limited(sizes)))


def _tile(_attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    data, counts = (np.asarray(array) for array in arrays)
    _limited([data.size, *counts])
    return np.tile(data, [int(count) for count in counts])


def _range(_attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
    start, limit, step = (np.asarray(array).item() for array in arrays)
    _limited([max(0, int((limit - start) / step))])
    return np.arange(start, limit, step, dtype=_first(arrays).dtype)


def _limited(sizes: Sequence[int]) -> Sequence[int]:
    """Sizes whose product is not too large."""
    if np.prod([float(size) for size in sizes]) > MAX_ELEMENTS:
        raise ValueError("too many elements")
    return sizes


def _first(arrays: Arrays) -> NDArray[Any]:
    return np.asarray(arrays[0])


def _reduced(reduce: Callable[..., Any]) -> Compute:
    def compute(attrs: Attrs, arrays: Arrays) -> NDArray[Any]:
        axes = integers("axes", 1, attrs, arrays)
        kept = bool(attrs.get("keepdims", 1))
        return np.asarray(reduce(_first(arrays), axis=tuple(axes) if axes else None, keepdims=kept))

    return compute


def _plain(compute: Callable[..., Any]) -> Compute:
    """A function of NumPy that takes the inputs as they are."""
    return lambda _, arrays: np.asarray(compute(*arrays))


KNOWN: dict[str, Compute] = {
    "Abs": _plain(np.abs),
    "Add": _plain(np.add),
    "And": _plain(np.logical_and),
    "Cast": _cast,
    "Ceil": _plain(np.ceil),
    "Concat": lambda attrs, arrays: np.concatenate([np.asarray(a) for a in arrays], attrs["axis"]),
    "ConstantOfShape": _filled,
    "Div": _plain(_quotient),
    "Equal": _plain(np.equal),
    "Expand": _expand,
    "Floor": _plain(np.floor),
    "Gather": lambda attrs, arrays: np.take(_first(arrays), np.asarray(arrays[1]), attrs.get("axis", 0)),
    "Greater": _plain(np.greater),
    "GreaterOrEqual": _plain(np.greater_equal),
    "Identity": lambda _, arrays: _first(arrays),
    "Less": _plain(np.less),
    "LessOrEqual": _plain(np.less_equal),
    "Max": _plain(lambda *arrays: functools.reduce(np.maximum, arrays)),
    "Min": _plain(lambda *arrays: functools.reduce(np.minimum, arrays)),
    "Mul": _plain(np.multiply),
    "Neg": _plain(np.negative),
    "Not": _plain(np.logical_not),
    "Or": _plain(np.logical_or),
    "Range": _range,
    "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
    "ReduceProd": _reduced(np.prod),
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _plain(np.subtract),
    "Tile": _tile,
    "Transpose": lambda attrs, arrays: np.transpose(_first(arrays), attrs.get("perm")),
    "Unsqueeze": _unsqueeze,
    "Where": _plain(np.where),
    "Xor": _plain(np.logical_xor),
}
"""What is computed with constants."""
OF_SIZES = frozenset(["Shape", "Size"])
"""Ops that need only the sizes of their input."""


def of_sizes(op: str, attrs: Attrs, sizes: Sequence[int]) -> NDArray[Any]:
    """The result of Shape or Size."""
    if op == "Size":
        return np.array(int(np.prod(sizes)), np.int64)
    return np.array(sizes[attrs.get("start", 0) : attrs.get("end")], np.int64)
