"""Datasets made from tensors: one element, rows, ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import INT64, DType
from tfport.graph.shapes import UNKNOWN as ANY
from tfport.runtime.ops.data.dataset import Dataset, Element, row
from tfport.runtime.ops.sparse.coordinates import checked
from tfport.startup.dataclass import dataclass


@dataclass(eq=False)
class SingleElement(Dataset):
    """One element."""

    element: Element

    def iterate(self) -> Iterator[Element]:
        return iter([self.element])

    def cardinality(self) -> int:
        return 1


@dataclass(eq=False)
class Listed(Dataset):
    """A list of elements."""

    elements: Sequence[Element]

    def iterate(self) -> Iterator[Element]:
        return iter(self.elements)

    def cardinality(self) -> int:
        return len(self.elements)


class TensorRows(Dataset):
    """The rows of tensors along their first axis."""

    def __init__(self, components: Sequence[Any]) -> None:
        if any(np.ndim(c) == 0 for c in components):
            raise RunFailed("components must have at least 1 axis, found a scalar")
        if len({len(c) for c in components}) != 1:
            raise RunFailed(
                f"components must have the same number of rows, found {[len(c) for c in components]}"
            )
        self.components = components

    def iterate(self) -> Iterator[Element]:
        return (tuple(row(c, i) for c in self.components) for i in range(self.cardinality()))

    def cardinality(self) -> int:
        return len(self.components[0])


class Numbers(Dataset):
    """The numbers from `start` to `stop`, exclusive."""

    def __init__(self, start: int, stop: int, step: int, dtype: DType) -> None:
        if step == 0:
            raise RunFailed("step must not be 0")
        self.numbers, self.numpy_type = range(start, stop, step), dtype.numpy

    def iterate(self) -> Iterator[Element]:
        return ((np.asarray(number).astype(self.numpy_type),) for number in self.numbers)

    def cardinality(self) -> int:
        # `len` fails for more elements than fit a machine word
        first, last, step = self.numbers.start, self.numbers.stop, self.numbers.step
        return max(0, -(-(last - first) // step))


class SparseRows(Dataset):
    """The rows of a sparse tensor, each a sparse tensor."""

    def __init__(self, indices: Any, values: Any, shape: Any, dtype: DType) -> None:
        checked(indices, values, shape)
        if len(shape) < 1:
            raise RunFailed("components must have at least 1 axis, found a scalar")
        if len(indices) and (np.diff(indices[:, 0]) < 0).any():
            raise RunFailed("the indices of the sparse tensor must be sorted by row")
        self.indices, self.values, self.shape = indices, values, np.asarray(shape, np.int64)
        self.types, self.shapes = (INT64, dtype, INT64), (ANY,) * 3
        self.starts = np.searchsorted(indices[:, 0], np.arange(self.cardinality() + 1))

    def iterate(self) -> Iterator[Element]:
        return (self._row(*self.starts[i : i + 2]) for i in range(self.cardinality()))

    def _row(self, start: int, end: int) -> Element:
        return self.indices[start:end, 1:], self.values[start:end], self.shape[1:]

    def cardinality(self) -> int:
        return int(self.shape[0])
