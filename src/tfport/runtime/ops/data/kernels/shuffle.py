"""Shuffled and random datasets, and their seed generators."""

from __future__ import annotations

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.data.dataset import whole
from tfport.runtime.ops.data.declare import dataset
from tfport.runtime.ops.data.shuffled import RandomNumbers, SeedGenerator, Shuffle, seeds_of


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
