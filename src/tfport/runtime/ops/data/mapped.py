"""Datasets that ask functions of the graph: what an element becomes, whether it stays, what to walk next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.data.dataset import UNKNOWN, Call, Dataset, Element, Steps


@dataclass(eq=False)
class Map(Dataset):
    """What a function makes of each element."""

    input: Dataset
    call: Call
    keeps_number: bool = True

    def iterate(self) -> Iterator[Element]:
        given = self.input.iterate()
        return Steps(lambda: tuple(self.call(next(given))))

    def cardinality(self) -> int:
        return self.input.cardinality() if self.keeps_number else UNKNOWN


@dataclass(eq=False)
class Filter(Dataset):
    """The elements for which a function is true; with `stops`, up to the first for which it is not."""

    input: Dataset
    call: Call
    stops: bool = False

    def iterate(self) -> Iterator[Element]:
        given = self.input.iterate()
        ended = False

        def step() -> Element:
            nonlocal ended
            while not ended:
                element = next(given)
                if is_kept(self.call(element)):
                    return element
                ended = self.stops
            raise StopIteration

        return Steps(step)


def is_kept(answers: Sequence[Any]) -> bool:
    if len(answers) != 1 or np.shape(answers[0]) or np.asarray(answers[0]).dtype != bool:
        raise RunFailed("the predicate must answer one bool, a scalar")
    return bool(answers[0])


@dataclass(eq=False)
class Interleave(Dataset):
    """Elements of the datasets that a function makes, in turns: some of one, then some of the next.

    `cycle` datasets are open at a time; with one, this is a flat map.
    """

    input: Dataset
    call: Call
    cycle: int
    block: int

    def __post_init__(self) -> None:
        if self.cycle <= 0:
            raise RunFailed(f"the length of the cycle must be greater than 0, not {self.cycle}")
        if self.block <= 0:
            raise RunFailed(f"the length of a block must be greater than 0, not {self.block}")

    def iterate(self) -> Iterator[Element]:
        given: Iterator[Element] | None = self.input.iterate()
        opened: dict[int, Iterator[Element]] = {}  # not a list: a cycle may be as long as a file says
        at = taken = 0

        def advance() -> None:
            nonlocal at, taken
            at, taken = (at + 1) % self.cycle, 0
            if given is None and opened and at not in opened:
                at = min((i for i in opened if i > at), default=min(opened))

        def step() -> Element:
            nonlocal given, taken
            while given is not None or opened:
                if at in opened:
                    element = next(opened[at], None)
                    if element is None:
                        del opened[at]
                        advance()
                        continue
                    taken += 1
                    if taken == self.block:
                        advance()
                    return element
                if given is None:
                    advance()
                elif (argument := next(given, None)) is None:
                    given = None
                else:
                    opened[at] = self._opened(argument)
            raise StopIteration

        return Steps(step)

    def _opened(self, argument: Element) -> Iterator[Element]:
        answers = self.call(argument)
        if len(answers) != 1 or not isinstance(answers[0], Dataset):
            raise RunFailed("the function must answer one dataset")
        return answers[0].iterate()


@dataclass(eq=False)
class Scan(Dataset):
    """What a function makes of each element and of a state, which it hands on."""

    input: Dataset
    initial: Sequence[Any]
    call: Call
    keeps_number: bool

    def iterate(self) -> Iterator[Element]:
        given, state = self.input.iterate(), list(self.initial)

        def step() -> Element:
            answers = self.call([*state, *next(given)])
            state[:] = answers[: len(state)]
            return tuple(answers[len(state) :])

        return Steps(step)

    def cardinality(self) -> int:
        return self.input.cardinality() if self.keeps_number else UNKNOWN


@dataclass(eq=False)
class GroupByReducer(Dataset):
    """What a reduction makes of the elements of each key, in the order of the keys."""

    input: Dataset
    key: Call
    init: Call
    reduce: Call
    finalize: Call

    def iterate(self) -> Iterator[Element]:
        waiting: Iterator[tuple[int, list[Any]]] | None = None

        def step() -> Element:
            nonlocal waiting
            if waiting is None:
                states: dict[int, list[Any]] = {}
                for element in self.input.iterate():
                    number = key_of(self.key(element))
                    state = states.get(number) or list(self.init([np.asarray(number, np.int64)]))
                    states[number] = list(self.reduce([*state, *element]))
                waiting = iter(sorted(states.items()))
            return tuple(self.finalize(next(waiting)[1]))

        return Steps(step)


def key_of(answers: Sequence[Any]) -> int:
    if len(answers) != 1 or np.shape(answers[0]) or np.asarray(answers[0]).dtype != np.int64:
        raise RunFailed("a key must be one int64, a scalar")
    return int(answers[0])


@dataclass(eq=False)
class GroupByWindow(Dataset):
    """The datasets that a function makes of windows of elements with one key, one behind the other."""

    input: Dataset
    key: Call
    reduce: Call
    size: Call

    def iterate(self) -> Iterator[Element]:
        from tfport.runtime.ops.data.sources import Listed

        given: Iterator[Element] | None = self.input.iterate()
        groups: dict[int, list[Element]] = {}
        sizes: dict[int, int] = {}
        current: Iterator[Element] = iter(())

        def opened(number: int) -> Iterator[Element]:
            window = Listed(groups.pop(number))
            window.types, window.shapes = self.input.types, self.input.shapes
            (made,) = self.reduce([np.asarray(number, np.int64), window])
            found: Iterator[Element] = made.iterate()
            return found

        def full() -> Iterator[Element]:
            """The next window that is full, or the next of those that are left."""
            nonlocal given
            while given is not None:
                element = next(given, None)
                if element is None:
                    given = None
                    break
                number = key_of(self.key(element))
                if number not in groups:
                    sizes[number] = key_of(self.size([np.asarray(number, np.int64)]))
                    if sizes[number] <= 0:
                        raise RunFailed(f"a window has at least one element, not {sizes[number]}")
                groups.setdefault(number, []).append(element)
                if len(groups[number]) == sizes[number]:
                    return opened(number)
            if not groups:
                raise StopIteration
            return opened(min(groups))

        def step() -> Element:
            nonlocal current
            while (element := next(current, None)) is None:
                current = full()
            return element

        return Steps(step)


def reduced(dataset: Dataset, initial: Sequence[Any], call: Call) -> list[Any]:
    """What a function makes of a state and all elements, one after the other."""
    state = list(initial)
    for element in dataset.iterate():
        answers = list(call([*state, *element]))
        if len(answers) != len(state):
            raise RunFailed(f"the function answers {len(answers)} tensors for a state of {len(state)}")
        state = answers
    return state
