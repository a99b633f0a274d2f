"""Categories and numbers as features: CategoryEncoding, Hashing, crosses; Normalization, Discretization."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.preprocessing.lookup import encoded
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import concat, expand_dims, reshape, select
from tfport.graph.dtypes import FLOAT32, INT32, INT64, STRING

DEFAULT_KEY = 0xDECAFCAFFE
"""The key that `tf.sparse.cross_hashed` uses by default."""


@layer("CategoryEncoding")
def category_encoding(
    b: LayerBuilder,
    x: LayerTensor,
    count_weights: LayerTensor | None = None,
    *,
    num_tokens: int | None = None,
    max_tokens: int | None = None,
    output_mode: str = "multi_hot",
    sparse: bool = False,
) -> LayerTensor:
    """Keras 2 before 2.6 calls the number of categories `max_tokens`."""
    depth = max_tokens if num_tokens is None else num_tokens
    if depth is None:
        raise b.refuse("its number of categories is not in the file")
    dtype = b.dtype if b.dtype.is_floating else FLOAT32
    if x.rank == 1 and output_mode != "one_hot":
        x = expand_dims(b, x, -1)
    return encoded(b, b.cast(x, INT64), output_mode, depth, dtype=dtype, weights=count_weights)


@layer("Hashing")
def hashing(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    num_bins: int,
    mask_value: Json = None,
    salt: int | Sequence[int] | None = None,
    output_mode: str = "int",
    sparse: bool = False,
) -> LayerTensor:
    """FarmHash of strings, SipHash with a salt; integers are hashed as their digits."""
    bins, masked = num_bins, None
    if mask_value is not None and num_bins > 1:
        bins -= 1
        masked = b.Equal(x, b.constant(mask_value, x.dtype))
    text = x if x.dtype == STRING else _digits(b, x)
    if salt is None or salt == [DEFAULT_KEY] * 2:  # which Keras 2.4 and 2.5 store for no salt
        node = b.node("StringToHashBucketFast", text, num_buckets=bins)
    else:
        key = [salt, salt] if isinstance(salt, int) else list(salt)
        node = b.node("StringToHashBucketStrong", text, num_buckets=bins, key=key)
    indices = b.tensor(node, x.shape)
    if masked is not None:
        indices = select(b, masked, b.ZerosLike(indices), b.Add(indices, 1))
    return encoded(b, indices, output_mode, num_bins, dtype=INT64 if output_mode == "int" else None)


def _digits(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    integers = b.cast(x, INT64) if x.dtype.is_floating else x
    return b.AsString(integers)


@layer("HashedCrossing")
def hashed_crossing(
    b: LayerBuilder,
    inputs: Sequence[LayerTensor],
    *,
    num_bins: int,
    output_mode: str = "int",
    sparse: bool = False,
) -> LayerTensor:
    first = inputs[0]
    columns = [reshape(b, x if x.dtype == STRING else b.cast(x, INT64), (None, 1)) for x in inputs]
    node = b.node(
        "SparseCross", [], [], [], columns,
        hashed_output=True, num_buckets=num_bins, hash_key=DEFAULT_KEY, out_type=INT64,
        internal_type=STRING if all(x.dtype == STRING for x in columns) else INT64,
        sparse_types=[], dense_types=[x.dtype for x in columns],
    )  # fmt: skip
    indices = b.tensor(
        reshape(b, b.tensor(node.output(1), (None,)), (None, *first.shape[1:])).value, first.shape
    )
    return encoded(b, indices, output_mode, num_bins, dtype=INT64 if output_mode == "int" else None)


@layer("CategoryCrossing")
def category_crossing(
    b: LayerBuilder,
    inputs: Sequence[LayerTensor],
    *,
    depth: int | Sequence[int] | None = None,
    separator: str | None = "_X_",
) -> LayerTensor:
    """Every combination of the values of several inputs, as texts; `depth` says how many inputs at once."""
    columns = [x if x.rank > 1 else expand_dims(b, x, -1) for x in inputs]
    columns = [x if x.dtype == STRING else b.cast(x, INT64) for x in columns]
    counts = range(1, depth + 1) if isinstance(depth, int) else depth or [len(columns)]
    chosen = [part for count in counts for part in combinations(columns, count)]
    if not chosen:
        raise b.refuse(f"it crosses {depth} of {len(columns)} inputs")
    return concat(b, [_crossed(b, part, separator or "_X_") for part in chosen], 1)


def _crossed(b: LayerBuilder, columns: Sequence[LayerTensor], separator: str) -> LayerTensor:
    types = {"sparse_types": [], "dense_types": [x.dtype for x in columns]}
    node = b.node("SparseCrossV2", [], [], [], list(columns), b.constant(separator.encode(), STRING), **types)
    indices, values, shape = (node.output(i) for i in range(3))
    width = None if any(x.shape[1] is None for x in columns) else prod(x.shape[1] or 0 for x in columns)
    dense = b.node("SparseToDense", indices, shape, values, b.constant(b"", STRING))
    return b.tensor(dense, (columns[0].shape[0], width))


# Numbers

EPSILON = 1e-7


@layer("Normalization")
def normalization(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    axis: int | Sequence[int] | None = -1,
    mean: Json = None,
    variance: Json = None,
    invert: bool = False,
) -> LayerTensor:
    axes = [] if axis is None else [a % x.rank for a in ([axis] if isinstance(axis, int) else axis)]
    shape = [x.shape[a] for a in sorted(axes)]
    spread = [size if i in axes else 1 for i, size in enumerate(x.shape)]
    if mean is None or variance is None:
        center, square = (
            b.weight("mean", shape, trainable=False),
            b.weight("variance", shape, trainable=False),
        )
        b.weight("count", (), trainable=False, dtype=INT64 if b.version.major < 3 else INT32)
        center, square = (reshape(b, part, spread) for part in (center, square))
    else:
        center, square = (
            b.constant((np.asarray(part) * np.ones(shape)).reshape(spread), b.dtype)  # type: ignore[arg-type]
            for part in (mean, variance)
        )
    x = b.cast(x, b.dtype)
    deviation = b.Maximum(b.Sqrt(square), EPSILON)
    return b.Add(center, b.Mul(x, deviation)) if invert else b.RealDiv(b.Sub(x, center), deviation)


@layer("Discretization")
def discretization(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    bin_boundaries: Sequence[float] | None = None,
    bins: Sequence[float] | int | None = None,
    num_bins: int | None = None,
    epsilon: float = 0.01,
    output_mode: str = "int",
    sparse: bool = False,
) -> LayerTensor:
    """Bins by their boundaries; Keras 2 before 2.6 calls them `bins`, and 2.4.4 was seen to answer int32."""
    boundaries = bins if bin_boundaries is None and isinstance(bins, list) else bin_boundaries
    if boundaries is None:
        raise b.refuse(
            "the boundaries of its bins are not in the file; state `bin_boundaries` and save again"
        )
    indices = b.node("Bucketize", x if x.dtype != INT64 else b.cast(x, FLOAT32), boundaries=list(boundaries))
    integer = INT64 if (2, 5) <= b.version.numbers < (3, 11) else INT32
    dtype = integer if output_mode == "int" else None
    return encoded(b, b.tensor(indices, x.shape), output_mode, len(boundaries) + 1, dtype=dtype)
