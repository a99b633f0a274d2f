"""A tensor between layers: a value of the graph with its shape, and the mask that Keras passes along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tfport.frontends.keras.config import DEEPEST, TensorRef
from tfport.graph.dtypes import DType
from tfport.graph.graph import Value
from tfport.startup.dataclass import dataclass, replace

Dims = tuple[int | None, ...]
"""A shape whose rank is known; None for an unknown size."""


@dataclass(frozen=True, eq=False, slots=True)
class LayerTensor:
    """A tensor with its static shape."""

    value: Value
    shape: Dims
    mask: LayerTensor | None = None
    """Which time steps count, as a boolean tensor; None if all do."""

    @property
    def dtype(self) -> DType:
        return self.value.dtype.base

    @property
    def rank(self) -> int:
        return len(self.shape)

    def with_mask(self, mask: LayerTensor | None) -> LayerTensor:
        return replace(self, mask=mask)

    def __str__(self) -> str:
        return f"{self.dtype}({', '.join('?' if d is None else str(d) for d in self.shape)})"


def map_structure(function: Callable[[Any], Any], structure: Any, depth: int = 0) -> Any:
    """Apply a function to every element of nested lists, tuples and dicts."""
    if depth < DEEPEST:
        if isinstance(structure, list | tuple):
            return type(structure)(map_structure(function, inner, depth + 1) for inner in structure)
        if isinstance(structure, dict):
            return {key: map_structure(function, inner, depth + 1) for key, inner in structure.items()}
    return function(structure)


def flat_tensors(structure: Any) -> Iterator[Any]:
    """The tensors, or references to tensors, in nested lists and dicts; dicts in the order of their keys."""
    if isinstance(structure, list | tuple):
        for inner in structure:
            yield from flat_tensors(inner)
    elif isinstance(structure, dict):
        for key in sorted(structure):
            yield from flat_tensors(structure[key])
    elif isinstance(structure, LayerTensor | TensorRef):
        yield structure


def broadcast_dims(a: Dims, b: Dims) -> Dims:
    """The shape of an elementwise operation on two shapes that fit."""
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return tuple(_broadcast_dim(x, y) for x, y in pairs)


def _broadcast_dim(x: int | None, y: int | None) -> int | None:
    if x == 1:
        return y
    if y == 1 or x == y:
        return x
    return x if y is None else y
