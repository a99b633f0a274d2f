"""The base of all datasets: a sequence of elements, and its cardinality.

An element is a tuple of tensors. Nothing is computed before an element is requested, and an
iterator continues after an element that failed, as TensorFlow's do. So iterators call a function
for each element (`ElementIterator`); a Python generator would end at the first error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime.bounds.run_scope import current_scope
from tfport.startup.dataclass import dataclass

Element = tuple[Any, ...]
Call = Callable[[Sequence[Any]], Sequence[Any]]
"""A function of the graph: tensors to tensors."""
INFINITE, UNKNOWN = -1, -2
"""Special cardinalities."""
AUTOTUNE = -1
DEEPEST = 300
"""The longest chain of datasets; each one calls the next recursively."""


class Dataset(ABC):
    """A sequence of elements that can be iterated any number of times."""

    types: Sequence[DType] = ()
    shapes: Sequence[Shape] = ()
    depth = 1
    """The length of the chain of datasets up to this one."""

    @abstractmethod
    def iterate(self) -> Iterator[Element]: ...

    def cardinality(self) -> int:
        """The number of elements, if TensorFlow knows it without iterating."""
        return UNKNOWN


class ElementIterator(Iterator[Element]):
    """An iterator that calls a function for each element; StopIteration ends it."""

    def __init__(self, step: Callable[[], Element]) -> None:
        self._step = step

    def __next__(self) -> Element:
        if (scope := current_scope()) is not None:
            scope.stop.check()
        try:
            return self._step()
        except RecursionError:
            raise RunFailed("the chain of datasets is too long for Python's recursion limit") from None


@dataclass(eq=False)
class Passed(Dataset):
    """Another dataset unchanged: the op only affects speed in TensorFlow."""

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
    """Stack tensors of the same shape; variants become an array of objects."""
    if isinstance(tensors[0], np.ndarray):
        return np.stack(tensors)
    out = np.empty(len(tensors), object)
    out[:] = list(tensors)
    return out


def whole(tensor: Any, what: str) -> int:
    """The value of an integer scalar."""
    if np.ndim(tensor):
        raise RunFailed(f"{what} must be a scalar, found shape {list(np.shape(tensor))}")
    return int(tensor)


def check_types(expected: Sequence[DType], actual: Sequence[DType], what: str) -> None:
    if list(expected) != list(actual):
        wanted, present = (", ".join(map(str, types)) for types in (expected, actual))
        raise RunFailed(f"{what} must have elements of types {wanted}, found {present}")


def check_shapes(expected: Sequence[Shape], actual: Sequence[Shape], what: str) -> None:
    fits = len(expected) == len(actual) and all(a.fits(b) for a, b in zip(expected, actual, strict=True))
    if not fits:
        wanted, present = (", ".join(map(str, shapes)) for shapes in (expected, actual))
        raise RunFailed(f"{what} must have elements of shapes {wanted}, found {present}")


def check_element(types: Sequence[DType], shapes: Sequence[Shape], element: Sequence[Any]) -> list[Any]:
    """The tensors of an element, checked against the types and shapes that the op declares."""
    if len(types) != len(element):
        raise RunFailed(f"the element must have {len(types)} tensors, found {len(element)}")
    for index, (dtype, shape, tensor) in enumerate(zip(types, shapes, element, strict=True)):
        actual = Shape(tensor.shape if isinstance(tensor, np.ndarray) else ())
        if not shape.fits(actual):
            raise RunFailed(f"component {index} of the element must have shape {shape}, found {actual}")
        if dtype.name not in ("variant", "resource") and np.asarray(tensor).dtype != dtype.numpy:
            raise RunFailed(f"component {index} of the element must be {dtype}, found {tensor.dtype}")
    return list(element)
