"""Shuffled and random datasets, and their seed generators."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.data.dataset import INFINITE, UNKNOWN, Dataset, Element, ElementIterator, whole
from tfport.runtime.ops.data.declare import dataset
from tfport.runtime.ops.random.philox import from_seeds
from tfport.startup.dataclass import dataclass


def _seeds(seed, seed2):
    return seeds_of(whole(seed, "seed"), whole(seed2, "seed2"))


class DummySeeds:
    """A placeholder for a seed generator where the seeds are inputs."""


@host("AnonymousSeedGenerator")
def anonymous_seed_generator(seed, seed2, reshuffle):
    generator = SeedGenerator(_seeds(seed, seed2), bool(reshuffle))
    return generator, generator


@host("DummySeedGenerator")
def dummy_seed_generator():
    return DummySeeds()


@host("DeleteSeedGenerator")
def delete_seed_generator(handle, deleter):
    """No effect: Python frees what is no longer referenced."""


@dataset("ShuffleDataset")
def shuffle_dataset(input_dataset, buffer_size, seed, seed2, *, reshuffle_each_iteration):
    generator = SeedGenerator(_seeds(seed, seed2), reshuffle_each_iteration)
    return Shuffle(input_dataset, whole(buffer_size, "buffer_size"), generator)


@dataset("ShuffleDatasetV2")
def shuffle_dataset_v2(input_dataset, buffer_size, seed_generator):
    if not isinstance(seed_generator, SeedGenerator):
        raise RunFailed(f"seed_generator must be a seed generator, found {type(seed_generator).__name__}")
    return Shuffle(input_dataset, whole(buffer_size, "buffer_size"), seed_generator)


@dataset("ShuffleDatasetV3")
def shuffle_dataset_v3(input_dataset, buffer_size, seed, seed2, seed_generator, *, reshuffle_each_iteration):
    generator = _generator(seed, seed2, seed_generator, reshuffle_each_iteration)
    return Shuffle(input_dataset, whole(buffer_size, "buffer_size"), generator)


@dataset("ShuffleAndRepeatDataset")
def shuffle_and_repeat_dataset(input_dataset, buffer_size, seed, seed2, count, *, reshuffle_each_iteration):
    generator = SeedGenerator(_seeds(seed, seed2), reshuffle_each_iteration)
    size = whole(buffer_size, "buffer_size")
    return Shuffle(input_dataset, size, generator, whole(count, "count"))


@dataset("ShuffleAndRepeatDatasetV2")
def shuffle_and_repeat_dataset_v2(
    input_dataset, buffer_size, seed, seed2, count, seed_generator, *, reshuffle_each_iteration
):
    generator = _generator(seed, seed2, seed_generator, reshuffle_each_iteration)
    size = whole(buffer_size, "buffer_size")
    return Shuffle(input_dataset, size, generator, whole(count, "count"))


@dataset("RandomDataset ExperimentalRandomDataset")
def random_dataset(seed, seed2):
    return RandomNumbers(SeedGenerator(_seeds(seed, seed2), False))


@dataset("RandomDatasetV2")
def random_dataset_v2(seed, seed2, seed_generator, *, rerandomize_each_iteration):
    return RandomNumbers(_generator(seed, seed2, seed_generator, rerandomize_each_iteration))


def _generator(seed, seed2, generator, reshuffle):
    if isinstance(generator, SeedGenerator):
        return generator
    return SeedGenerator(_seeds(seed, seed2), reshuffle)


# Shuffled datasets and random numbers, in TensorFlow's order for the same seeds.
#
# Without a seed the order differs each time, as in TensorFlow.

Seeds = tuple[int, int]
MOST_EPOCHS = 3
"""Rounds that may be in the buffer at the same time."""


def seeds_of(seed: int, seed2: int) -> Seeds:
    """The seeds, or random ones if both are 0."""
    return (seed, seed2) if seed or seed2 else (secrets.randbits(63), secrets.randbits(63))


class SeedGenerator:
    """The seeds of each iteration of a dataset: always the same, or new ones each time."""

    def __init__(self, seeds: Seeds, reshuffle: bool) -> None:
        self.lock = threading.Lock()
        self.seeds, self.reshuffle = seeds, reshuffle
        self._words = from_seeds(*seeds).words()

    def next(self) -> Seeds:
        if not self.reshuffle:
            return self.seeds
        with self.lock:
            return next(self._words), next(self._words)


@dataclass(eq=False)
class Shuffle(Dataset):
    """Random elements of a buffer that is kept full; `count` rounds, or endlessly many if it is -1."""

    input: Dataset
    size: int
    generator: SeedGenerator
    count: int = 1

    def __post_init__(self) -> None:
        if self.size <= 0 and self.size != UNKNOWN:
            raise RunFailed(f"buffer_size must be positive, found {self.size}")
        if self.count == 0 or self.count < -1:
            raise RunFailed(f"count must be positive or -1 (forever), found {self.count}")

    def iterate(self) -> Iterator[Element]:
        return _Shuffling(self)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if self.count < 0:
            return 0 if n == 0 else INFINITE
        return n if n < 0 else n * self.count


class _Round:
    """The remaining elements of one round."""

    def __init__(self) -> None:
        self._items: list[Element] = []
        self._start = 0

    def __len__(self) -> int:
        return len(self._items) - self._start

    def put(self, element: Element) -> None:
        self._items.append(element)

    def take(self, at: int) -> Element:
        """Remove an element; the first one takes its index."""
        items, start = self._items, self._start
        element, items[start + at] = items[start + at], items[start]
        self._start += 1
        if self._start > 1024 and 2 * self._start > len(items):
            del items[: self._start]
            self._start = 0
        return element


class _Shuffling(Iterator[Element]):
    """Rounds are separate: the next begins when the previous is used up, with its own seeds."""

    def __init__(self, dataset: Shuffle) -> None:
        self._dataset = dataset
        self._words = from_seeds(*dataset.generator.next()).words()
        self._given: Iterator[Element] | None = None
        self._rounds: list[_Round] = []
        self._left = dataset.count
        self._is_empty = True

    def __next__(self) -> Element:
        self._fill()
        if not any(self._rounds):
            raise StopIteration
        while not self._rounds[0]:
            self._rounds.pop(0)
            self._words = from_seeds(*self._dataset.generator.next()).words()
        first = self._rounds[0]
        return first.take(next(self._words) % len(first))

    def _fill(self) -> None:
        while self._has_place():
            if self._given is None:
                self._given = self._dataset.input.iterate()
                self._left -= 1
                self._is_empty = True
                self._rounds.append(_Round())
            element = next(self._given, None)
            if element is not None:
                self._rounds[-1].put(element)
                self._is_empty = False
                continue
            self._given = None
            if self._is_empty:
                self._left = 0  # an empty dataset stays empty, however often it is repeated

    def _has_place(self) -> bool:
        if self._given is None and self._left == 0:
            return False
        buffered, size = sum(map(len, self._rounds)), self._dataset.size
        if buffered and len(self._rounds) > (1 if size == UNKNOWN and self._given is None else MOST_EPOCHS):
            return False
        return size == UNKNOWN or buffered < size


@dataclass(eq=False)
class RandomNumbers(Dataset):
    """32-bit random numbers, endless."""

    generator: SeedGenerator

    def iterate(self) -> Iterator[Element]:
        words = from_seeds(*self.generator.next()).words()
        return ElementIterator(lambda: (np.asarray(next(words), np.int64),))

    def cardinality(self) -> int:
        return INFINITE
