"""Datasets of several elements of another put together: batches, padded ones, windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.data.dataset import Dataset, Element, Steps, stacked
from tfport.runtime.ops.data.sources import Listed


@dataclass(eq=False)
class Batch(Dataset):
    """So many elements as one; the last may have fewer."""

    input: Dataset
    size: int
    drop_remainder: bool

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise RunFailed(f"a batch has at least one element, not {self.size}")

    def iterate(self) -> Iterator[Element]:
        given = self.input.iterate()

        def step() -> Element:
            taken: list[Element] = []
            while len(taken) < self.size and (element := next(given, None)) is not None:
                taken.append(element)
            if not taken or (self.drop_remainder and len(taken) < self.size):
                raise StopIteration
            return tuple(self.joined(i, list(parts)) for i, parts in enumerate(zip(*taken, strict=True)))

        return Steps(step)

    def joined(self, place: int, tensors: list[Any]) -> Any:
        shapes = {np.shape(tensor) for tensor in tensors}
        if len(shapes) > 1:
            a, b = sorted(shapes)[:2]
            raise RunFailed(f"tensors of shapes {list(a)} and {list(b)} are no batch (part {place})")
        return stacked(tensors)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        return n if n < 0 else n // self.size if self.drop_remainder else -(-n // self.size)


@dataclass(eq=False)
class PaddedBatch(Batch):
    """Batches of elements of different sizes: each is filled up to a shape, or to the largest."""

    padded: Sequence[Any]
    values: Sequence[Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.padded) != len(self.values):
            raise RunFailed(f"there are {len(self.padded)} shapes for {len(self.values)} values")
        if any(np.ndim(shape) != 1 for shape in self.padded):
            raise RunFailed("a shape to pad to must be a vector")
        if any(np.ndim(value) for value in self.values):
            raise RunFailed("what is padded with must be a scalar")

    def joined(self, place: int, tensors: list[Any]) -> Any:
        asked = self.padded[place].tolist()
        if any(tensor.ndim != len(asked) for tensor in tensors):
            raise RunFailed(f"part {place} must have {len(asked)} axes, as the shape that it is padded to")
        most = [max(sizes) for sizes in zip(*(t.shape for t in tensors), strict=True)]
        sizes = [largest if size < 0 else size for size, largest in zip(asked, most, strict=True)]
        if any(largest > size for size, largest in zip(sizes, most, strict=True)):
            raise RunFailed(f"part {place} of shape {most} cannot be padded to {sizes}, which is smaller")
        out = np.full((len(tensors), *sizes), self.values[place][()], tensors[0].dtype)
        for i, tensor in enumerate(tensors):
            part = out[i, ...]
            part[tuple(slice(n) for n in tensor.shape)] = tensor
        return out


@dataclass(eq=False)
class SparseBatch(Batch):
    """Batches of dense elements as a sparse tensor, with a shape that all of them fit in."""

    row_shape: Any

    def joined(self, place: int, tensors: list[Any]) -> Any:
        from tfport.runtime.ops.io.kernels.serialized import Held

        sizes = [int(n) for n in self.row_shape]
        if any(tensor.ndim != len(sizes) for tensor in tensors):
            raise RunFailed(f"an element must have {len(sizes)} axes")
        most = [max(each) for each in zip(*(t.shape for t in tensors), strict=True)]
        sizes = [largest if n < 0 else n for n, largest in zip(sizes, most, strict=True)]
        if any(largest > size for size, largest in zip(sizes, most, strict=True)):
            raise RunFailed(f"an element of shape {most} does not fit in {sizes}")
        rows = [np.full((t.size, 1), i) for i, t in enumerate(tensors)]
        places = [np.indices(t.shape).reshape(t.ndim, -1).T for t in tensors]
        indices = np.concatenate([np.hstack(both) for both in zip(rows, places, strict=True)])
        out = np.empty(3, object)
        out[:] = [
            Held(indices.astype(np.int64)),
            Held(np.concatenate([t.reshape(-1) for t in tensors])),
            Held(np.array([len(tensors), *sizes], np.int64)),
        ]
        return out


@dataclass(eq=False)
class Window(Dataset):
    """Elements that are datasets: so many elements, then so many as begin `shift` later."""

    input: Dataset
    size: int
    shift: int
    stride: int
    drop_remainder: bool

    def __post_init__(self) -> None:
        for what, number in (("size", self.size), ("shift", self.shift), ("stride", self.stride)):
            if number <= 0:
                raise RunFailed(f"the {what} of windows must be greater than 0, not {number}")

    @property
    def span(self) -> int:
        return (self.size - 1) * self.stride + 1

    def iterate(self) -> Iterator[Element]:
        given = self.input.iterate()
        held: list[Element] = []
        ahead = 0  # elements to leave out before the next window

        def step() -> Element:
            nonlocal ahead
            while ahead:
                next(given)
                ahead -= 1
            while len(held) < self.span and (element := next(given, None)) is not None:
                held.append(element)
            if not held or (self.drop_remainder and len(held) < self.span):
                raise StopIteration
            taken = held[: self.span : self.stride]
            ahead = max(0, self.shift - len(held))
            del held[: self.shift]
            return tuple(self._part(i, taken) for i in range(len(taken[0])))

        return Steps(step)

    def _part(self, place: int, taken: Sequence[Element]) -> Dataset:
        made = Listed([(element[place],) for element in taken])
        made.types, made.shapes = self.input.types[place : place + 1], self.input.shapes[place : place + 1]
        return made

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if n < 0:
            return n
        return max(0, -(-(n - self.span + 1) // self.shift)) if self.drop_remainder else -(-n // self.shift)
