"""A tensor between layers: a value of the graph with its shape, and the mask that Keras passes along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tfport.errors import CannotRun
from tfport.frontends.keras.config import DEEPEST, TensorRef
from tfport.graph.building.node_builder import Dims
from tfport.graph.dtypes import DType
from tfport.graph.graph import Value
from tfport.graph.shapes import Shape
from tfport.startup.dataclass import dataclass, replace


@dataclass(frozen=True, eq=False, slots=True)
class LayerTensor:
    """A tensor with its static shape."""

    value: Value
    dims: Dims | None
    """Its shape; None if the rank is unknown."""
    mask: LayerTensor | None = None
    """Which time steps count, as a boolean tensor; None if all do."""

    @property
    def dtype(self) -> DType:
        return self.value.dtype.base

    @property
    def shape(self) -> Dims:
        """Its shape, for what cannot be built without the rank."""
        if self.dims is None:
            raise CannotRun(f"the rank of `{self.value}` is unknown")
        return self.dims

    @property
    def rank(self) -> int:
        return len(self.shape)

    def with_mask(self, mask: LayerTensor | None) -> LayerTensor:
        return replace(self, mask=mask)

    def __str__(self) -> str:
        return f"{self.dtype}{Shape(self.dims)}"


LayerSize = int | LayerTensor | None
"""A size: known, computed (a scalar), or None for the one that follows from the others."""


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
