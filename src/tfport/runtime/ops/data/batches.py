"""Datasets that combine elements of another: batches, padded batches, windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.data.dataset import Dataset, Element, ElementIterator, stacked
from tfport.runtime.ops.data.sources import Listed
from tfport.startup.dataclass import dataclass


@dataclass(eq=False)
class Batch(Dataset):
    """Batches of `size` elements; the last may be smaller."""

    input: Dataset
    size: int
    drop_remainder: bool

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise RunFailed(f"the batch size must be positive, found {self.size}")

    def iterate(self) -> Iterator[Element]:
        elements = self.input.iterate()

        def step() -> Element:
            taken: list[Element] = []
            while len(taken) < self.size and (element := next(elements, None)) is not None:
                taken.append(element)
            if not taken or (self.drop_remainder and len(taken) < self.size):
                raise StopIteration
            return tuple(self.combined(i, list(parts)) for i, parts in enumerate(zip(*taken, strict=True)))

        return ElementIterator(step)

    def combined(self, index: int, tensors: list[Any]) -> Any:
        shapes = {np.shape(tensor) for tensor in tensors}
        if len(shapes) > 1:
            a, b = sorted(shapes)[:2]
            raise RunFailed(f"component {index}: shapes {list(a)} and {list(b)} cannot be batched")
        return stacked(tensors)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        return n if n < 0 else n // self.size if self.drop_remainder else -(-n // self.size)


@dataclass(eq=False)
class PaddedBatch(Batch):
    """Batches of elements of different sizes, padded to a shape or to the largest."""

    padded: Sequence[Any]
    values: Sequence[Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.padded) != len(self.values):
            raise RunFailed(f"{len(self.padded)} padded shapes for {len(self.values)} padding values")
        if any(np.ndim(shape) != 1 for shape in self.padded):
            raise RunFailed(
                f"a padded shape must be a vector, found ranks {[np.ndim(shape) for shape in self.padded]}"
            )
        if any(np.ndim(value) for value in self.values):
            raise RunFailed(
                f"a padding value must be a scalar, found ranks {[np.ndim(value) for value in self.values]}"
            )

    def combined(self, index: int, tensors: list[Any]) -> Any:
        shape = self.padded[index].tolist()
        if any(tensor.ndim != len(shape) for tensor in tensors):
            raise RunFailed(
                f"component {index} must have {len(shape)} axes like its padded shape, "
                f"found {[tensor.ndim for tensor in tensors]}"
            )
        most = [max(sizes) for sizes in zip(*(t.shape for t in tensors), strict=True)]
        sizes = [largest if size < 0 else size for size, largest in zip(shape, most, strict=True)]
        if any(largest > size for size, largest in zip(sizes, most, strict=True)):
            raise RunFailed(f"component {index} of shape {most} does not fit the padded shape {sizes}")
        out = np.full((len(tensors), *sizes), self.values[index][()], tensors[0].dtype)
        for i, tensor in enumerate(tensors):
            part = out[i, ...]
            part[tuple(slice(n) for n in tensor.shape)] = tensor
        return out


@dataclass(eq=False)
class SparseBatch(Batch):
    """Batches of dense elements as a sparse tensor of a given row shape."""

    row_shape: Any

    def combined(self, index: int, tensors: list[Any]) -> Any:
        from tfport.runtime.ops.io.kernels.serialized import SerializedPart

        sizes = [int(n) for n in self.row_shape]
        if any(tensor.ndim != len(sizes) for tensor in tensors):
            raise RunFailed(
                f"elements must have {len(sizes)} axes, found {[tensor.ndim for tensor in tensors]}"
            )
        most = [max(each) for each in zip(*(t.shape for t in tensors), strict=True)]
        sizes = [largest if n < 0 else n for n, largest in zip(sizes, most, strict=True)]
        if any(largest > size for size, largest in zip(sizes, most, strict=True)):
            raise RunFailed(f"an element of shape {most} does not fit the row shape {sizes}")
        rows = [np.full((t.size, 1), i) for i, t in enumerate(tensors)]
        within = [np.indices(t.shape).reshape(t.ndim, -1).T for t in tensors]
        indices = np.concatenate([np.hstack(both) for both in zip(rows, within, strict=True)])
        out = np.empty(3, object)
        out[:] = [
            SerializedPart(indices.astype(np.int64)),
            SerializedPart(np.concatenate([t.reshape(-1) for t in tensors])),
            SerializedPart(np.array([len(tensors), *sizes], np.int64)),
        ]
        return out


@dataclass(eq=False)
class Window(Dataset):
    """Windows, each a dataset of `size` elements; the next one starts `shift` elements later."""

    input: Dataset
    size: int
    shift: int
    stride: int
    drop_remainder: bool

    def __post_init__(self) -> None:
        for what, number in (("size", self.size), ("shift", self.shift), ("stride", self.stride)):
            if number <= 0:
                raise RunFailed(f"the window {what} must be positive, found {number}")

    @property
    def span(self) -> int:
        return (self.size - 1) * self.stride + 1

    def iterate(self) -> Iterator[Element]:
        elements = self.input.iterate()
        buffer: list[Element] = []
        ahead = 0  # elements to skip before the next window

        def step() -> Element:
            nonlocal ahead
            while ahead:
                next(elements)
                ahead -= 1
            while len(buffer) < self.span and (element := next(elements, None)) is not None:
                buffer.append(element)
            if not buffer or (self.drop_remainder and len(buffer) < self.span):
                raise StopIteration
            taken = buffer[: self.span : self.stride]
            ahead = max(0, self.shift - len(buffer))
            del buffer[: self.shift]
            return tuple(self._part(i, taken) for i in range(len(taken[0])))

        return ElementIterator(step)

    def _part(self, index: int, taken: Sequence[Element]) -> Dataset:
        part = Listed([(element[index],) for element in taken])
        part.types, part.shapes = self.input.types[index : index + 1], self.input.shapes[index : index + 1]
        return part

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if n < 0:
            return n
        return max(0, -(-(n - self.span + 1) // self.shift)) if self.drop_remainder else -(-n // self.shift)
