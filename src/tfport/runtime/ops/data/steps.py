"""Datasets that select, repeat, chain, zip or cache elements of others, unchanged."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.ops.data.dataset import INFINITE, UNKNOWN, Dataset, Element, ElementIterator, row
from tfport.startup.dataclass import dataclass, field


@dataclass(eq=False)
class Take(Dataset):
    """The first `count` elements; all if it is negative."""

    input: Dataset
    count: int

    def iterate(self) -> Iterator[Element]:
        elements, left = self.input.iterate() if self.count else iter(()), self.count

        def step() -> Element:
            nonlocal left
            if left == 0:
                raise StopIteration
            element = next(elements)
            left -= 1
            return element

        return ElementIterator(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if self.count == 0 or n == UNKNOWN:
            return 0 if self.count == 0 else UNKNOWN
        if self.count == INFINITE:
            return n
        return (
            self.count if n == INFINITE else min(n, self.count)
        )  # TensorFlow returns any negative count as it is


@dataclass(eq=False)
class Skip(Dataset):
    """All but the first `count` elements; none if it is negative."""

    input: Dataset
    count: int

    def iterate(self) -> Iterator[Element]:
        elements, left = self.input.iterate() if self.count >= 0 else iter(()), self.count

        def step() -> Element:
            nonlocal left
            while left > 0:
                next(elements)
                left -= 1
            return next(elements)

        return ElementIterator(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if self.count < 0:
            return 0
        return n if n < 0 else max(0, n - self.count)


@dataclass(eq=False)
class Repeat(Dataset):
    """The elements repeated `count` times, or forever if it is negative."""

    input: Dataset
    count: int

    def iterate(self) -> Iterator[Element]:
        elements: Iterator[Element] | None = None
        left, is_empty = self.count, True

        def step() -> Element:
            nonlocal elements, left, is_empty
            while left:
                if elements is None:
                    elements, is_empty = self.input.iterate(), True
                try:
                    element = next(elements)
                except StopIteration:
                    elements, left = None, left - 1
                    if is_empty:
                        left = 0  # an empty dataset stays empty, however often it is repeated
                else:
                    is_empty = False
                    return element
            raise StopIteration

        return ElementIterator(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if self.count < 0:
            return 0 if n == 0 else INFINITE
        if self.count == 0:
            return 0
        return n if n < 0 else n * self.count


@dataclass(eq=False)
class Chain(Dataset):
    """Datasets concatenated."""

    inputs: Sequence[Dataset]

    def iterate(self) -> Iterator[Element]:
        waiting = iter(self.inputs)
        elements = next(waiting).iterate()

        def step() -> Element:
            nonlocal elements
            while True:
                try:
                    return next(elements)
                except StopIteration:
                    elements = next(waiting).iterate()

        return ElementIterator(step)

    def cardinality(self) -> int:
        counts = [dataset.cardinality() for dataset in self.inputs]
        return next((special for special in (INFINITE, UNKNOWN) if special in counts), sum(counts))


@dataclass(eq=False)
class Zip(Dataset):
    """Elements of several datasets together, until one of them ends."""

    inputs: Sequence[Dataset]

    def iterate(self) -> Iterator[Element]:
        iterators = [dataset.iterate() for dataset in self.inputs]
        if not iterators:
            raise RunFailed("zip needs at least one dataset")
        return ElementIterator(lambda: tuple(chain.from_iterable([next(elements) for elements in iterators])))

    def cardinality(self) -> int:
        counts = [n for dataset in self.inputs if (n := dataset.cardinality()) != INFINITE]
        return min(counts, default=INFINITE)


@dataclass(eq=False)
class Shard(Dataset):
    """Every `count`-th element, starting at `index`."""

    input: Dataset
    count: int
    index: int
    require_non_empty: bool = False

    def __post_init__(self) -> None:
        if self.count < 1:
            raise RunFailed(f"num_shards must be positive, found {self.count}")
        if not 0 <= self.index < self.count and not (self.count == 1 and self.index < 0):
            raise RunFailed(f"index must be in [0, {self.count}), found {self.index}")

    def iterate(self) -> Iterator[Element]:
        elements, at = self.input.iterate(), 0

        def step() -> Element:
            nonlocal at
            while True:
                element = next(elements, None)
                if element is None:
                    if self.require_non_empty and at < self.count:
                        raise RunFailed(f"expected at least {self.count} elements, one per shard, found {at}")
                    raise StopIteration
                at += 1
                if (at - 1) % self.count == self.index:
                    return element

        return ElementIterator(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        return n if n < 0 else n // self.count + (self.index < n % self.count)


class Memory:
    """The content of a cache: all elements, once they were iterated to the end."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.elements: list[Element] | None = None


@dataclass(eq=False)
class Cache(Dataset):
    """The elements of the first complete iteration."""

    input: Dataset
    memory: Memory = field(default_factory=Memory)

    def iterate(self) -> Iterator[Element]:
        if self.memory.elements is not None:
            return iter(self.memory.elements)
        elements = self.input.iterate()
        kept: list[Element] = []

        def step() -> Element:
            try:
                element = next(elements)
            except StopIteration:
                with self.memory.lock:
                    if self.memory.elements is None:
                        self.memory.elements = kept
                raise
            kept.append(element)
            return element

        return ElementIterator(step)

    def cardinality(self) -> int:
        return self.input.cardinality()


@dataclass(eq=False)
class Unbatch(Dataset):
    """The rows of each element as elements."""

    input: Dataset

    def iterate(self) -> Iterator[Element]:
        elements = self.input.iterate()
        rows: Iterator[Element] = iter(())

        def step() -> Element:
            nonlocal rows
            while (element := next(rows, None)) is None:
                rows = _rows(next(elements))
            return element

        return ElementIterator(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        sizes = {shape.dims[0] if shape.dims else None for shape in self.input.shapes}
        size = sizes.pop() if len(sizes) == 1 else None
        return n if n < 0 else UNKNOWN if size is None else n * size


def _rows(element: Element) -> Iterator[Element]:
    counts = {len(part) if getattr(part, "ndim", 0) else None for part in element}
    if len(counts) != 1 or None in counts:
        raise RunFailed("the components of an element must have the same number of rows")
    return (tuple(row(part, i) for part in element) for i in range(counts.pop() or 0))


@dataclass(eq=False)
class Unique(Dataset):
    """Distinct elements, of one tensor each."""

    input: Dataset

    def iterate(self) -> Iterator[Element]:
        elements = self.input.iterate()
        seen: set[Any] = set()

        def step() -> Element:
            while True:
                element = next(elements)
                tensor = element[0]
                value = tuple(tensor.reshape(-1).tolist()) if tensor.dtype == object else tensor.tobytes()
                if (tensor.shape, value) not in seen:
                    seen.add((tensor.shape, value))
                    return element

        return ElementIterator(step)


@dataclass(eq=False)
class IgnoreErrors(Dataset):
    """The elements that do not fail."""

    input: Dataset

    def iterate(self) -> Iterator[Element]:
        elements = self.input.iterate()

        def step() -> Element:
            while True:
                try:
                    return next(elements)
                except RunFailed:
                    continue

        return ElementIterator(step)


@dataclass(eq=False)
class Counted(Dataset):
    """A dataset whose number of elements is checked."""

    input: Dataset
    expected: int

    def iterate(self) -> Iterator[Element]:
        elements, count = self.input.iterate(), 0

        def step() -> Element:
            nonlocal count
            element = next(elements, None)
            if element is None:
                if count != self.expected:
                    raise RunFailed(f"the dataset must have {_number(self.expected)} elements, found {count}")
                raise StopIteration
            count += 1
            if 0 <= self.expected < count:
                raise RunFailed(f"the dataset has more than {self.expected} elements")
            return element

        return ElementIterator(step)

    def cardinality(self) -> int:
        return self.expected


def _number(count: int) -> str:
    return {INFINITE: "infinitely many", UNKNOWN: "an unknown number"}.get(count, str(count))


@dataclass(eq=False)
class Chosen(Dataset):
    """Elements of several datasets; a selector dataset says which one is next."""

    selector: Dataset
    inputs: Sequence[Dataset]
    stop_on_empty: bool

    def iterate(self) -> Iterator[Element]:
        numbers = self.selector.iterate()
        iterators: list[Iterator[Element] | None] = [dataset.iterate() for dataset in self.inputs]

        def step() -> Element:
            while any(iterators):
                number = int(next(numbers)[0])
                if not 0 <= number < len(iterators):
                    raise RunFailed(f"the selector must be in [0, {len(iterators)}), found {number}")
                chosen = iterators[number]
                element = next(chosen, None) if chosen is not None else None
                if element is not None:
                    return element
                if self.stop_on_empty:
                    break
                iterators[number] = None
            raise StopIteration

        return ElementIterator(step)
