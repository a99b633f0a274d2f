"""Generate serialized SequenceExamples with the features and feature lists that a model parses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.certify.inputs.arrays import Random, ValueProfile
from tfport.fix.certify.inputs.examples import (
    ValueCounts,
    WantedFeature,
    dense_features,
    dense_shapes,
    feature_keys,
    feature_types,
    fill_feature,
    fill_features,
    listed_keys,
    loose_features,
)
from tfport.fix.certify.inputs.input_uses import Reading
from tfport.formats.proto import serving_pb2 as pb
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_STEPS = 4
KINDS = ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")


@dataclass(frozen=True, slots=True)
class SequenceFeatures:
    """What a node parses: features of the context, and lists with a feature for each step."""

    context: Sequence[WantedFeature] = ()
    lists: Sequence[WantedFeature] = ()
    """The shape of a dense one is that of a step."""

    @property
    def all(self) -> list[WantedFeature]:
        return [*self.context, *self.lists]


@dataclass(frozen=True, slots=True)
class _ParsedKeys:
    """The keys of each kind, and the place of the defaults among the inputs."""

    sparse: list[str]
    dense: list[str]
    list_sparse: list[str]
    list_dense: list[str]
    defaults: int
    ragged: Sequence[str] = ()
    list_ragged: Sequence[str] = ()


def sequences_by(reading: Reading) -> SequenceFeatures | None:
    """What a node parses; None if it does not parse SequenceExamples."""
    find = _FINDERS.get(reading.node.op)
    return _features(reading, find(reading)) if find is not None and reading.index == 0 else None


def _v2(reading: Reading) -> _ParsedKeys:
    keys = [feature_keys(reading.constant(i)) for i in range(2, 8)]
    return _ParsedKeys(keys[0], keys[1], keys[3], keys[4], 9, keys[2], keys[5])


def _v1(reading: Reading) -> _ParsedKeys:
    attrs = reading.node.attrs
    sparse, dense, list_sparse, list_dense = (listed_keys(attrs.get(f"{kind}_keys")) for kind in KINDS)
    return _ParsedKeys(sparse, dense, list_sparse, list_dense, 2)


def _single(reading: Reading) -> _ParsedKeys:
    attrs, place, groups = reading.node.attrs, 2, []
    for kind in KINDS:
        count = attrs.get(f"N{kind}")
        number = count if isinstance(count, int) else 0
        groups.append([key for i in range(number) for key in feature_keys(reading.constant(place + i))])
        place += number
    sparse, dense, list_sparse, list_dense = groups
    return _ParsedKeys(sparse, dense, list_sparse, list_dense, place)


_FINDERS = {
    "ParseSequenceExample": _v1,
    "ParseSequenceExampleV2": _v2,
    "ParseSingleSequenceExample": _single,
}


def _features(reading: Reading, keys: _ParsedKeys) -> SequenceFeatures:
    node = reading.node

    def types(attr: str) -> Any:
        return feature_types(node.attrs.get(attr))

    shapes = dense_shapes(node, "context_dense_shapes")
    context = [
        *loose_features(keys.sparse, types("context_sparse_types")),
        *dense_features(reading, keys.dense, types("Tcontext_dense"), shapes, keys.defaults),
        *loose_features(keys.ragged, types("context_ragged_value_types")),
    ]
    steps = dense_shapes(node, "feature_list_dense_shapes")
    dense = zip(keys.list_dense, types("feature_list_dense_types"), steps, strict=False)
    lists = [
        *loose_features(keys.list_sparse, types("feature_list_sparse_types")),
        *(WantedFeature(key, dtype, shape, optional=False) for key, dtype, shape in dense),
        *loose_features(keys.list_ragged, types("feature_list_ragged_value_types")),
    ]
    return SequenceFeatures(context, lists)


def made_sequences(
    wanted: SequenceFeatures,
    shape: tuple[int, ...],
    profile: ValueProfile,
    random: Random,
    counts: ValueCounts,
) -> NDArray[Any]:
    """SequenceExamples with values of a profile, in an array of this shape."""
    flat = np.empty(math.prod(shape), object)
    flat[:] = [_sequence(wanted, profile, random, counts, first=i == 0) for i in range(flat.size)]
    return flat.reshape(shape)


def _sequence(
    wanted: SequenceFeatures, profile: ValueProfile, random: Random, counts: ValueCounts, *, first: bool
) -> bytes:
    """One SequenceExample; all of its lists have the same number of steps, as in real data."""
    example = pb.SequenceExample()
    fill_features(example.context, wanted.context, profile, random, counts, first=first)
    steps = int(random.integers(max(counts.fewest, int(first)), MOST_STEPS, endpoint=True))
    for feature in wanted.lists:
        into = example.feature_lists.feature_list[feature.key]
        for _ in range(steps):
            count = int(random.integers(counts.fewest, counts.most, endpoint=True))
            fill_feature(into.feature.add(), feature, profile, random, count)
    return example.SerializeToString(deterministic=True)
