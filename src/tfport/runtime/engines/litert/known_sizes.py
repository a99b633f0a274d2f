"""Nodes whose results are known before a run, as all sizes are: those that compute shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.engines.litert.island_node import IslandNode
from tfport.runtime.engines.litert.island_value import IslandValue, NotInLite, constant_value
from tfport.runtime.program import ONNX_TYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

Compute = Callable[[IslandNode, "list[NDArray[Any]]"], "NDArray[Any]"]
NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "float32", "float64")
TYPES = {ONNX_TYPES[name]: np.dtype(name) for name in NUMBERS}


def _cast(node: IslandNode, arrays: list[NDArray[Any]]) -> NDArray[Any]:
    if node.attrs["to"] not in TYPES:
        raise NotInLite("Cast of a constant to such a type")
    return arrays[0].astype(TYPES[node.attrs["to"]])


def _squeeze(node: IslandNode, arrays: list[NDArray[Any]]) -> NDArray[Any]:
    axes = node.list_of("axes", 1)
    return np.squeeze(arrays[0], tuple(axes) if axes is not None else None)


def _slice(node: IslandNode, arrays: list[NDArray[Any]]) -> NDArray[Any]:
    data, starts, ends = arrays[:3]
    axes, steps = node.list_of("axes", 3) or range(len(starts)), node.list_of("steps", 4)
    parts = [slice(None)] * data.ndim
    for place, axis in enumerate(axes):
        parts[axis] = slice(int(starts[place]), int(ends[place]), steps[place] if steps else 1)
    return data[tuple(parts)]


def _quotient(numerator: NDArray[Any], divisor: NDArray[Any]) -> NDArray[Any]:
    if not divisor.all() or min(numerator.min(), divisor.min()) < 0:
        raise NotInLite("a quotient of other numbers than sizes")
    divide = np.floor_divide if numerator.dtype.kind == "i" else np.true_divide
    return np.asarray(divide(numerator, divisor))


def _reduced(reduce: Callable[..., Any]) -> Compute:
    def compute(node: IslandNode, arrays: list[NDArray[Any]]) -> NDArray[Any]:
        axes = node.list_of("axes", 1)
        kept = bool(node.attrs.get("keepdims", 1))
        return np.asarray(reduce(arrays[0], axis=tuple(axes) if axes else None, keepdims=kept))

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
    "Concat": lambda node, arrays: np.concatenate(arrays, node.attrs["axis"]),
    "Div": _plain(_quotient),
    "Equal": _plain(np.equal),
    "Floor": _plain(np.floor),
    "Gather": lambda node, arrays: np.take(arrays[0], arrays[1], node.attrs.get("axis", 0)),
    "Greater": _plain(np.greater),
    "Identity": lambda _, arrays: arrays[0],
    "Less": _plain(np.less),
    "Max": lambda _, arrays: np.maximum.reduce(arrays),
    "Min": lambda _, arrays: np.minimum.reduce(arrays),
    "Mul": _plain(np.multiply),
    "Neg": _plain(np.negative),
    "Not": _plain(np.logical_not),
    "Or": _plain(np.logical_or),
    "Range": lambda _, arrays: np.arange(*(array.item() for array in arrays), dtype=arrays[0].dtype),
    "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
    "ReduceProd": _reduced(np.prod),
    "Reshape": lambda _, arrays: arrays[0].reshape([int(size) for size in arrays[1]]),
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _plain(np.subtract),
    "Unsqueeze": lambda node, arrays: np.expand_dims(arrays[0], tuple(node.list_of("axes", 1) or ())),
    "Where": _plain(np.where),
}
"""What is computed with constants."""
OF_SIZES = frozenset(["Shape", "Size"])
"""Ops that need only the sizes of their input."""


def known_result(node: IslandNode) -> IslandValue | None:
    """The result of a node on constants, or the shape of a value; None if it is computed in each run."""
    if node.op == "Shape":
        sizes = node.first.sizes[node.attrs.get("start", 0) : node.attrs.get("end")]
        return constant_value(np.array(sizes, np.int64))
    if node.op == "Size":
        return constant_value(np.array(node.first.elements, np.int64))
    arrays = [value.array for value in node.inputs if value is not None]
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays):
        return None
    if node.op not in KNOWN:
        raise NotInLite(f"{node.op} of constants")
    try:
        return constant_value(np.asarray(KNOWN[node.op](node, known)))
    except (ValueError, IndexError) as error:
        raise NotInLite(f"{node.op}: {error}") from None
