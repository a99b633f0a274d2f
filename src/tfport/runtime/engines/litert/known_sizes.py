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
TYPES = {ONNX_TYPES[name]: np.dtype(name) for name in ("int64", "int32", "float32")}


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


KNOWN: dict[str, Compute] = {
    "Add": lambda _, arrays: arrays[0] + arrays[1],
    "Cast": _cast,
    "Concat": lambda node, arrays: np.concatenate(arrays, node.attrs["axis"]),
    "Div": lambda _, arrays: _quotient(*arrays),
    "Gather": lambda node, arrays: np.take(arrays[0], arrays[1], node.attrs.get("axis", 0)),
    "Identity": lambda _, arrays: arrays[0],
    "Max": lambda _, arrays: np.maximum.reduce(arrays),
    "Min": lambda _, arrays: np.minimum.reduce(arrays),
    "Mul": lambda _, arrays: arrays[0] * arrays[1],
    "Reshape": lambda _, arrays: arrays[0].reshape([int(size) for size in arrays[1]]),
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": lambda _, arrays: arrays[0] - arrays[1],
    "Unsqueeze": lambda node, arrays: np.expand_dims(arrays[0], tuple(node.list_of("axes", 1) or ())),
}


def known_result(node: IslandNode) -> IslandValue | None:
    """The result of a node on constants, or the shape of a value; None if it is computed in each run."""
    if node.op == "Shape":
        sizes = node.first.sizes[node.attrs.get("start", 0) : node.attrs.get("end")]
        return constant_value(np.array(sizes, np.int64))
    arrays = [value.array for value in node.inputs if value is not None]
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays):
        return None
    if node.op not in KNOWN:
        raise NotInLite(f"{node.op} of constants")
    return constant_value(np.asarray(KNOWN[node.op](node, known)))
