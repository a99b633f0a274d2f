"""Datasets that call functions of the graph: map, filter, interleave, scan, group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.data.dataset import UNKNOWN, Call, Dataset, Element, ElementIterator
from tfport.startup.dataclass import dataclass


@dataclass(eq=False)
class Map(Dataset):
    """A function applied to each element."""

    input: Dataset
    call: Call
    keeps_number: bool = True

    def iterate(self) -> Iterator[Element]:
        elements = self.input.iterate()
        return ElementIterator(lambda: tuple(self.call(next(elements))))

    def cardinality(self) -> int:
        return self.input.cardinality() if self.keeps_number else UNKNOWN


@dataclass(eq=False)
class Filter(Dataset):
    """The elements for which a function is true; with `stops`, up to the first for which it is false."""

    input: Dataset
    call: Call
    stops: bool = False

    def iterate(self) -> Iterator[Element]:
        elements = self.input.iterate()
        ended = False

        def step() -> Element:
            nonlocal ended
            while not ended:
                element = next(elements)
                if is_kept(self.call(element)):
                    return element
                ended = self.stops
            raise StopIteration

        return ElementIterator(step)


def _described(answers: Sequence[Any]) -> str:
    tensors = [np.asarray(answer) for answer in answers]
    return ", ".join(f"{tensor.dtype} of shape {list(tensor.shape)}" for tensor in tensors) or "nothing"


def is_kept(answers: Sequence[Any]) -> bool:
    if len(answers) != 1 or np.shape(answers[0]) or np.asarray(answers[0]).dtype != bool:
        raise RunFailed(f"the predicate must return a scalar bool, found {_described(answers)}")
    return bool(answers[0])


@dataclass(eq=False)
class Interleave(Dataset):
    """Interleave the datasets that a function returns: a block of elements of each in turn.

    `cycle` datasets are open at a time; a cycle of one is a flat map.
    """

    input: Dataset
    call: Call
    cycle: int
    block: int

    def __post_init__(self) -> None:
        if self.cycle <= 0:
            raise RunFailed(f"cycle_length must be positive, found {self.cycle}")
        if self.block <= 0:
            raise RunFailed(f"block_length must be positive, found {self.block}")

    def iterate(self) -> Iterator[Element]:
        elements: Iterator[Element] | None = self.input.iterate()
        opened: dict[int, Iterator[Element]] = {}  # not a list: the model decides how long a cycle is
        at = taken = 0

        def advance() -> None:
            nonlocal at, taken
            at, taken = (at + 1) % self.cycle, 0
            if elements is None and opened and at not in opened:
                at = min((i for i in opened if i > at), default=min(opened))

        def step() -> Element:
            nonlocal elements, taken
            while elements is not None or opened:
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
                if elements is None:
                    advance()
                elif (argument := next(elements, None)) is None:
                    elements = None
                else:
                    opened[at] = self._opened(argument)
            raise StopIteration

        return ElementIterator(step)

    def _opened(self, argument: Element) -> Iterator[Element]:
        answers = self.call(argument)
        if len(answers) != 1 or not isinstance(answers[0], Dataset):
            raise RunFailed("the function must return one dataset")
        return answers[0].iterate()


@dataclass(eq=False)
class Scan(Dataset):
    """A function applied to a state and each element; it returns the next state."""

    input: Dataset
    initial: Sequence[Any]
    call: Call
    keeps_number: bool

    def iterate(self) -> Iterator[Element]:
        elements, state = self.input.iterate(), list(self.initial)

        def step() -> Element:
            answers = self.call([*state, *next(elements)])
            state[:] = answers[: len(state)]
            return tuple(answers[len(state) :])

        return ElementIterator(step)

    def cardinality(self) -> int:
        return self.input.cardinality() if self.keeps_number else UNKNOWN


@dataclass(eq=False)
class GroupByReducer(Dataset):
    """A reduction of the elements of each key, in the order of the keys."""

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

        return ElementIterator(step)


def key_of(answers: Sequence[Any]) -> int:
    if len(answers) != 1 or np.shape(answers[0]) or np.asarray(answers[0]).dtype != np.int64:
        raise RunFailed(f"a key must be a scalar int64, found {_described(answers)}")
    return int(answers[0])


@dataclass(eq=False)
class GroupByWindow(Dataset):
    """Windows of elements with the same key, each turned into a dataset by a function, concatenated."""

    input: Dataset
    key: Call
    reduce: Call
    size: Call

    def iterate(self) -> Iterator[Element]:
        from tfport.runtime.ops.data.sources import Listed

        elements: Iterator[Element] | None = self.input.iterate()
        groups: dict[int, list[Element]] = {}
        sizes: dict[int, int] = {}
        current: Iterator[Element] = iter(())

        def opened(number: int) -> Iterator[Element]:
            window = Listed(groups.pop(number))
            window.types, window.shapes = self.input.types, self.input.shapes
            (dataset,) = self.reduce([np.asarray(number, np.int64), window])
            elements: Iterator[Element] = dataset.iterate()
            return elements

        def full() -> Iterator[Element]:
            """The next full window, or the next incomplete one at the end."""
            nonlocal elements
            while elements is not None:
                element = next(elements, None)
                if element is None:
                    elements = None
                    break
                number = key_of(self.key(element))
                if number not in groups:
                    sizes[number] = key_of(self.size([np.asarray(number, np.int64)]))
                    if sizes[number] <= 0:
                        raise RunFailed(f"the window size must be positive, found {sizes[number]}")
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

        return ElementIterator(step)


def reduced(dataset: Dataset, initial: Sequence[Any], call: Call) -> list[Any]:
    """Reduce all elements to a state."""
    state = list(initial)
    for element in dataset.iterate():
        answers = list(call([*state, *element]))
        if len(answers) != len(state):
            raise RunFailed(f"the function must return a state of {len(state)} tensors, found {len(answers)}")
        state = answers
    return state
