"""Datasets of the elements of others as they are: some of them, again, one behind or beside another."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.ops.data.dataset import INFINITE, UNKNOWN, Dataset, Element, Steps, row


@dataclass(eq=False)
class Take(Dataset):
    """The first elements; all where `count` is negative."""

    input: Dataset
    count: int

    def iterate(self) -> Iterator[Element]:
        given, left = self.input.iterate() if self.count else iter(()), self.count

        def step() -> Element:
            nonlocal left
            if left == 0:
                raise StopIteration
            element = next(given)
            left -= 1
            return element

        return Steps(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if self.count == 0 or n == UNKNOWN:
            return 0 if self.count == 0 else UNKNOWN
        if self.count == INFINITE:
            return n
        return self.count if n == INFINITE else min(n, self.count)  # TensorFlow tells -5 of -5 as well


@dataclass(eq=False)
class Skip(Dataset):
    """All but the first elements; none where `count` is negative."""

    input: Dataset
    count: int

    def iterate(self) -> Iterator[Element]:
        given, left = self.input.iterate() if self.count >= 0 else iter(()), self.count

        def step() -> Element:
            nonlocal left
            while left > 0:
                next(given)
                left -= 1
            return next(given)

        return Steps(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if self.count < 0:
            return 0
        return n if n < 0 else max(0, n - self.count)


@dataclass(eq=False)
class Repeat(Dataset):
    """The elements again and again: so many times, or forever where `count` is negative."""

    input: Dataset
    count: int

    def iterate(self) -> Iterator[Element]:
        given: Iterator[Element] | None = None
        left, is_empty = self.count, True

        def step() -> Element:
            nonlocal given, left, is_empty
            while left:
                if given is None:
                    given, is_empty = self.input.iterate(), True
                try:
                    element = next(given)
                except StopIteration:
                    given, left = None, left - 1
                    if is_empty:
                        left = 0  # repeated forever, nothing is still nothing
                else:
                    is_empty = False
                    return element
            raise StopIteration

        return Steps(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if self.count < 0:
            return 0 if n == 0 else INFINITE
        if self.count == 0:
            return 0
        return n if n < 0 else n * self.count


@dataclass(eq=False)
class Chain(Dataset):
    """One dataset behind the other."""

    inputs: Sequence[Dataset]

    def iterate(self) -> Iterator[Element]:
        waiting = iter(self.inputs)
        given = next(waiting).iterate()

        def step() -> Element:
            nonlocal given
            while True:
                try:
                    return next(given)
                except StopIteration:
                    given = next(waiting).iterate()

        return Steps(step)

    def cardinality(self) -> int:
        counts = [dataset.cardinality() for dataset in self.inputs]
        return next((special for special in (INFINITE, UNKNOWN) if special in counts), sum(counts))


@dataclass(eq=False)
class Zip(Dataset):
    """Elements side by side, as long as every dataset has one."""

    inputs: Sequence[Dataset]

    def iterate(self) -> Iterator[Element]:
        given = [dataset.iterate() for dataset in self.inputs]
        if not given:
            raise RunFailed("there is nothing to zip")
        return Steps(lambda: tuple(chain.from_iterable([next(one) for one in given])))

    def cardinality(self) -> int:
        counts = [n for dataset in self.inputs if (n := dataset.cardinality()) != INFINITE]
        return min(counts, default=INFINITE)


@dataclass(eq=False)
class Shard(Dataset):
    """Every so many elements one, beginning with that at `index`."""

    input: Dataset
    count: int
    index: int
    require_non_empty: bool = False

    def __post_init__(self) -> None:
        if self.count < 1:
            raise RunFailed(f"there must be at least one shard, not {self.count}")
        if not 0 <= self.index < self.count and not (self.count == 1 and self.index < 0):
            raise RunFailed(f"there is no shard {self.index} of {self.count}")

    def iterate(self) -> Iterator[Element]:
        given, at = self.input.iterate(), 0

        def step() -> Element:
            nonlocal at
            while True:
                element = next(given, None)
                if element is None:
                    if self.require_non_empty and at < self.count:
                        raise RunFailed(f"there are {at} elements for {self.count} shards")
                    raise StopIteration
                at += 1
                if (at - 1) % self.count == self.index:
                    return element

        return Steps(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        return n if n < 0 else n // self.count + (self.index < n % self.count)


class Memory:
    """What a cache keeps: all elements, once somebody has walked them to the end."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.elements: list[Element] | None = None


@dataclass(eq=False)
class Cache(Dataset):
    """The elements as they were when they were first walked."""

    input: Dataset
    memory: Memory = field(default_factory=Memory)

    def iterate(self) -> Iterator[Element]:
        if self.memory.elements is not None:
            return iter(self.memory.elements)
        given = self.input.iterate()
        kept: list[Element] = []

        def step() -> Element:
            try:
                element = next(given)
            except StopIteration:
                with self.memory.lock:
                    if self.memory.elements is None:
                        self.memory.elements = kept
                raise
            kept.append(element)
            return element

        return Steps(step)

    def cardinality(self) -> int:
        return self.input.cardinality()


@dataclass(eq=False)
class Unbatch(Dataset):
    """The rows of each element as elements."""

    input: Dataset

    def iterate(self) -> Iterator[Element]:
        given = self.input.iterate()
        rows: Iterator[Element] = iter(())

        def step() -> Element:
            nonlocal rows
            while (found := next(rows, None)) is None:
                rows = _rows(next(given))
            return found

        return Steps(step)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        sizes = {shape.dims[0] if shape.dims else None for shape in self.input.shapes}
        size = sizes.pop() if len(sizes) == 1 else None
        return n if n < 0 else UNKNOWN if size is None else n * size


def _rows(element: Element) -> Iterator[Element]:
    counts = {len(part) if getattr(part, "ndim", 0) else None for part in element}
    if len(counts) != 1 or None in counts:
        raise RunFailed("the parts of an element do not have the same number of rows")
    return (tuple(row(part, i) for part in element) for i in range(counts.pop() or 0))


@dataclass(eq=False)
class Unique(Dataset):
    """Each element when it is first met; of one tensor each."""

    input: Dataset

    def iterate(self) -> Iterator[Element]:
        given = self.input.iterate()
        met: set[Any] = set()

        def step() -> Element:
            while True:
                element = next(given)
                tensor = element[0]
                held = tuple(tensor.reshape(-1).tolist()) if tensor.dtype == object else tensor.tobytes()
                if (tensor.shape, held) not in met:
                    met.add((tensor.shape, held))
                    return element

        return Steps(step)


@dataclass(eq=False)
class IgnoreErrors(Dataset):
    """The elements that do not fail."""

    input: Dataset

    def iterate(self) -> Iterator[Element]:
        given = self.input.iterate()

        def step() -> Element:
            while True:
                try:
                    return next(given)
                except RunFailed:
                    continue

        return Steps(step)


@dataclass(eq=False)
class Counted(Dataset):
    """Elements of which there must be a number."""

    input: Dataset
    expected: int

    def iterate(self) -> Iterator[Element]:
        given, met = self.input.iterate(), 0

        def step() -> Element:
            nonlocal met
            element = next(given, None)
            if element is None:
                if met != self.expected:
                    raise RunFailed(f"the dataset has {met} elements, not {_said(self.expected)}")
                raise StopIteration
            met += 1
            if 0 <= self.expected < met:
                raise RunFailed(f"the dataset has more than {self.expected} elements")
            return element

        return Steps(step)

    def cardinality(self) -> int:
        return self.expected


def _said(count: int) -> str:
    return {INFINITE: "infinitely many", UNKNOWN: "an unknown number"}.get(count, str(count))


@dataclass(eq=False)
class Chosen(Dataset):
    """Elements of several datasets; another dataset tells of which each time."""

    selector: Dataset
    inputs: Sequence[Dataset]
    stop_on_empty: bool

    def iterate(self) -> Iterator[Element]:
        numbers = self.selector.iterate()
        given: list[Iterator[Element] | None] = [dataset.iterate() for dataset in self.inputs]

        def step() -> Element:
            while any(given):
                number = int(next(numbers)[0])
                if not 0 <= number < len(given):
                    raise RunFailed(f"there is no dataset {number} of {len(given)}")
                chosen = given[number]
                element = next(chosen, None) if chosen is not None else None
                if element is not None:
                    return element
                if self.stop_on_empty:
                    break
                given[number] = None
            raise StopIteration

        return Steps(step)
