"""What every dataset is: elements one after the other, and how many there are.

An element is a tuple of tensors. Nothing is computed before an element is asked for, and an
iterator goes on behind an element that failed, as TensorFlow's do: so iterators are
functions that are called for each element (`Steps`), not Python's generators, which an error ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape

Element = tuple[Any, ...]
Call = Callable[[Sequence[Any]], Sequence[Any]]
"""A function of the graph: tensors in, tensors out."""
INFINITE, UNKNOWN = -1, -2
"""Cardinalities that are no number."""
AUTOTUNE = -1
DEEPEST = 300
"""Datasets that may stand on each other; each asks the next within its own call."""


class Dataset(ABC):
    """A sequence of elements that can be walked any number of times."""

    types: Sequence[DType] = ()
    shapes: Sequence[Shape] = ()
    depth = 1
    """How many datasets stand on each other, this one included."""

    @abstractmethod
    def iterate(self) -> Iterator[Element]: ...

    def cardinality(self) -> int:
        """How many elements there are, as far as TensorFlow tells without walking them."""
        return UNKNOWN


class Steps(Iterator[Element]):
    """An iterator that asks a function for each element; StopIteration ends it."""

    def __init__(self, step: Callable[[], Element]) -> None:
        self._step = step

    def __next__(self) -> Element:
        try:
            return self._step()
        except RecursionError:
            raise RunFailed("the datasets stand on each other too deeply") from None


@dataclass(eq=False)
class Passed(Dataset):
    """Another dataset as it is: what only changes how fast TensorFlow walks it."""

    input: Dataset

    def iterate(self) -> Iterator[Element]:
        return self.input.iterate()

    def cardinality(self) -> int:
        return self.input.cardinality()


def row(tensor: Any, at: int) -> Any:
    """One row of a tensor, as a tensor."""
    taken = tensor[at, ...]
    is_variant = taken.dtype == object and taken.ndim == 0 and not isinstance(taken[()], bytes)
    return taken[()] if is_variant else taken


def stacked(tensors: Sequence[Any]) -> Any:
    """Tensors of one shape as rows of one; variants become an array of objects."""
    if isinstance(tensors[0], np.ndarray):
        return np.stack(tensors)
    out = np.empty(len(tensors), object)
    out[:] = list(tensors)
    return out


def whole(tensor: Any, what: str) -> int:
    """The integer in a scalar."""
    if np.ndim(tensor):
        raise RunFailed(f"{what} must be a scalar, not of shape {list(np.shape(tensor))}")
    return int(tensor)


def check_types(expected: Sequence[DType], found: Sequence[DType], what: str) -> None:
    if list(expected) != list(found):
        said = [", ".join(map(str, types)) for types in (expected, found)]
        raise RunFailed(f"{what} has elements of types {said[1]}, where {said[0]} are expected")


def check_shapes(expected: Sequence[Shape], found: Sequence[Shape], what: str) -> None:
    fits = len(expected) == len(found) and all(a.fits(b) for a, b in zip(expected, found, strict=True))
    if not fits:
        said = [", ".join(map(str, shapes)) for shapes in (expected, found)]
        raise RunFailed(f"{what} has elements of shapes {said[1]}, where {said[0]} are expected")


def check_element(types: Sequence[DType], shapes: Sequence[Shape], element: Sequence[Any]) -> list[Any]:
    """The tensors of an element, if they are what an op was told that they would be."""
    if len(types) != len(element):
        raise RunFailed(f"the element has {len(element)} tensors, not {len(types)}")
    for place, (dtype, shape, tensor) in enumerate(zip(types, shapes, element, strict=True)):
        found = tensor.shape if isinstance(tensor, np.ndarray) else ()
        if not shape.fits(Shape(found)):
            raise RunFailed(
                f"part {place} of the element has shape {Shape(found)}, where {shape} was expected"
            )
        if dtype.name not in ("variant", "resource") and np.asarray(tensor).dtype != dtype.numpy:
            raise RunFailed(f"part {place} of the element is {tensor.dtype}, where {dtype} was expected")
    return list(element)
