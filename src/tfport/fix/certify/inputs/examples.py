"""Generate serialized Examples and SequenceExamples with the features that a model parses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.certify.inputs.arrays import Random, ValueProfile, array_of
from tfport.formats.proto import serving_pb2 as pb
from tfport.graph.dtypes import STRING, DType
from tfport.graph.graph import Node
from tfport.graph.shapes import Shape
from tfport.graph.value_readers import Reading
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """The fewest and the most values of a feature that may have any number."""

    fewest: int
    most: int


@dataclass(frozen=True, slots=True)
class WantedFeature:
    """A feature that a node parses."""

    key: str
    dtype: DType
    shape: Shape | None = None
    """The shape of a dense feature; its first size may be unknown."""
    optional: bool = True
    """Whether an Example may lack it: it is sparse or ragged, or has a default."""


def wanted_by(reading: Reading) -> list[WantedFeature] | None:
    """The features that a node parses; None if it does not parse Examples."""
    find = _FINDERS.get(reading.node.op)
    return list(find(reading)) if find is not None and reading.index == 0 else None


def _parse_example(reading: Reading) -> Iterator[WantedFeature]:
    attrs = reading.node.attrs
    sparse, dense = feature_types(attrs.get("sparse_types")), feature_types(attrs.get("Tdense"))
    keys = [key for i in range(len(sparse) + len(dense)) for key in feature_keys(reading.constant(2 + i))]
    yield from loose_features(keys[: len(sparse)], sparse)
    yield from _dense(reading, keys[len(sparse) :], dense, 2 + len(sparse) + len(dense))


def _parse_example_v2(reading: Reading) -> Iterator[WantedFeature]:
    attrs = reading.node.attrs
    sparse, dense, ragged = (feature_keys(reading.constant(i)) for i in (2, 3, 4))
    yield from loose_features(sparse, feature_types(attrs.get("sparse_types")))
    yield from loose_features(ragged, feature_types(attrs.get("ragged_value_types")))
    yield from _dense(reading, dense, feature_types(attrs.get("Tdense")), 5)


def _parse_single_example(reading: Reading) -> Iterator[WantedFeature]:
    attrs = reading.node.attrs
    yield from loose_features(listed_keys(attrs.get("sparse_keys")), feature_types(attrs.get("sparse_types")))
    yield from _dense(reading, listed_keys(attrs.get("dense_keys")), feature_types(attrs.get("Tdense")), 1)


_FINDERS = {
    "ParseExample": _parse_example,
    "ParseExampleV2": _parse_example_v2,
    "ParseSingleExample": _parse_single_example,
}


def loose_features(keys: Sequence[str], types: Sequence[DType]) -> Iterator[WantedFeature]:
    return (WantedFeature(key, dtype) for key, dtype in zip(keys, types, strict=False))


def _dense(
    reading: Reading, keys: Sequence[str], types: Sequence[DType], defaults: int
) -> Iterator[WantedFeature]:
    return dense_features(reading, keys, types, dense_shapes(reading.node, "dense_shapes"), defaults)


def dense_features(
    reading: Reading, keys: Sequence[str], types: Sequence[DType], shapes: Sequence[Shape], defaults: int
) -> Iterator[WantedFeature]:
    """Features of these shapes; input `defaults` is the default of the first."""
    for i, (key, dtype, shape) in enumerate(zip(keys, types, shapes, strict=False)):
        default = reading.constant(defaults + i)
        # a feature of unknown first size is padded, so it may be missing
        open_first = shape.dims is not None and None in shape.dims[:1]
        yield WantedFeature(key, dtype, shape, open_first or (default is not None and default.size > 0))


def dense_shapes(node: Node, attr: str) -> list[Shape]:
    shapes = node.attrs.get(attr)
    return [shape for shape in shapes if isinstance(shape, Shape)] if isinstance(shapes, list) else []


def feature_types(attr: Any) -> list[DType]:
    return [dtype for dtype in attr if isinstance(dtype, DType)] if isinstance(attr, list) else []


def feature_keys(array: NDArray[Any] | None) -> list[str]:
    return [] if array is None else listed_keys(array.ravel().tolist())


def listed_keys(keys: Any) -> list[str]:
    texts = keys if isinstance(keys, list) else []
    return [key.decode(errors="replace") if isinstance(key, bytes) else str(key) for key in texts]


def generated_examples(
    wanted: Sequence[WantedFeature],
    shape: tuple[int, ...],
    profile: ValueProfile,
    random: Random,
    counts: ValueCounts,
) -> NDArray[Any]:
    """Examples with values of a profile, in an array of this shape."""
    flat = np.empty(math.prod(shape), object)
    flat[:] = [_example(wanted, profile, random, counts, first=i == 0) for i in range(flat.size)]
    return flat.reshape(shape)


def _example(
    wanted: Sequence[WantedFeature],
    profile: ValueProfile,
    random: Random,
    counts: ValueCounts,
    *,
    first: bool,
) -> bytes:
    example = pb.Example()
    fill_features(example.features, wanted, profile, random, counts, first=first)
    return example.SerializeToString(deterministic=True)


def fill_features(
    into: pb.Features,
    wanted: Sequence[WantedFeature],
    profile: ValueProfile,
    random: Random,
    counts: ValueCounts,
    *,
    first: bool,
) -> None:
    """Add features: the first Example has every one, others may lack optional ones."""
    for feature in wanted:
        if first or not feature.optional or counts.fewest or random.random() < 0.75:
            count = int(random.integers(max(counts.fewest, int(first)), counts.most, endpoint=True))
            fill_feature(into.feature[feature.key], feature, profile, random, count)


def fill_feature(
    into: pb.Feature, feature: WantedFeature, profile: ValueProfile, random: Random, count: int
) -> None:
    """Add the values of one feature; `count` of them if its shape does not say how many."""
    if feature.shape is not None and feature.shape.dims is not None:
        sizes = [count if i == 0 and size is None else size or 0 for i, size in enumerate(feature.shape.dims)]
        count = math.prod(sizes)
    values = array_of(feature.dtype, (count,), profile, random).tolist()
    if feature.dtype == STRING:
        into.bytes_list.value.extend(values)
    elif feature.dtype.is_floating:
        into.float_list.value.extend(values)
    else:
        into.int64_list.value.extend(values)


# SequenceExamples: features of a context, and lists with a feature for each step.

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
    """The keys of each kind, and the index of the defaults among the inputs."""

    sparse: list[str]
    dense: list[str]
    list_sparse: list[str]
    list_dense: list[str]
    defaults: int
    ragged: Sequence[str] = ()
    list_ragged: Sequence[str] = ()


def sequences_by(reading: Reading) -> SequenceFeatures | None:
    """What a node parses; None if it does not parse SequenceExamples."""
    find = _SEQUENCE_FINDERS.get(reading.node.op)
    return _features(reading, find(reading)) if find is not None and reading.index == 0 else None


def _v2(reading: Reading) -> _ParsedKeys:
    keys = [feature_keys(reading.constant(i)) for i in range(2, 8)]
    return _ParsedKeys(keys[0], keys[1], keys[3], keys[4], 9, keys[2], keys[5])


def _v1(reading: Reading) -> _ParsedKeys:
    attrs = reading.node.attrs
    sparse, dense, list_sparse, list_dense = (listed_keys(attrs.get(f"{kind}_keys")) for kind in KINDS)
    return _ParsedKeys(sparse, dense, list_sparse, list_dense, 2)


def _single(reading: Reading) -> _ParsedKeys:
    attrs, index, groups = reading.node.attrs, 2, []
    for kind in KINDS:
        count = attrs.get(f"N{kind}")
        number = count if isinstance(count, int) else 0
        groups.append([key for i in range(number) for key in feature_keys(reading.constant(index + i))])
        index += number
    sparse, dense, list_sparse, list_dense = groups
    return _ParsedKeys(sparse, dense, list_sparse, list_dense, index)


_SEQUENCE_FINDERS = {
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


def generated_sequences(
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
