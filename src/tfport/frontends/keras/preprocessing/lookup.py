"""Tokens to indices by vocabularies, and indices to encodings: numbers, one-hot vectors or counts.

The first indices are those of special tokens: the mask token (if indices are the output), then the tokens
that stand for everything out of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.rearranging import one_hot
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, reduce, select, squeeze
from tfport.graph.dtypes import FLOAT32, INT64, STRING, DType
from tfport.startup.dataclass import dataclass

ONE_HOT, MULTI_HOT, COUNT = "one_hot", ("multi_hot", "binary"), "count"
TF_IDF = ("tf_idf", "tf-idf")
VOCABULARY = "vocabulary.txt"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of a lookup layer and its special tokens."""

    tokens: list[Any]
    """Without special tokens."""
    dtype: DType
    mask_token: Any
    oov_token: Any
    oov_count: int
    output_mode: str
    has_special_tokens: bool = False
    """Whether the stored list began with the special tokens."""

    @property
    def oov_start(self) -> int:
        return 1 if self.mask_token is not None and self.output_mode == "int" else 0

    @property
    def token_start(self) -> int:
        return self.oov_start + self.oov_count

    @property
    def size(self) -> int:
        return self.token_start + len(self.tokens)


def vocabulary_of(
    b: LayerBuilder,
    stored: Json,
    dtype: DType,
    *,
    mask_token: Any,
    oov_token: Any,
    oov_count: int,
    output_mode: str,
) -> Vocabulary:
    """The vocabulary in the configuration, or the one that `adapt` learned, in the assets of the file."""
    if isinstance(stored, str):
        raise b.refuse(f"its vocabulary is the file `{stored[:80]}`, which is not part of the model")
    listed = stored if stored is not None else _from_assets(b, dtype)
    if not isinstance(listed, list | tuple) or not listed:
        raise b.refuse("its vocabulary is not in the file; save the model as a `.keras` file")
    empty = Vocabulary([], dtype, mask_token, oov_token, oov_count, output_mode)
    special = [mask_token] * empty.oov_start + [oov_token] * oov_count
    begins = len(special) > 0 and list(listed[: len(special)]) == special
    tokens = list(listed[len(special) :] if begins else listed)
    return Vocabulary(tokens, dtype, mask_token, oov_token, oov_count, output_mode, begins)


def _from_assets(b: LayerBuilder, dtype: DType) -> list[Any] | None:
    data = b.model.asset(b.instance.config, VOCABULARY)
    if data is None:
        return None
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return lines if dtype == STRING else [int(line) for line in lines if line]


def looked_up(
    b: LayerBuilder, x: LayerTensor, vocabulary: Vocabulary, *, salt: Json = None, hashed: bool = False
) -> LayerTensor:
    """The index of each token; what does not count has the index -1 unless indices are the output."""
    v, dtype = vocabulary, vocabulary.dtype
    keys = b.cast(x, dtype) if x.dtype != dtype and dtype != STRING else x
    default = v.oov_start if v.oov_count == 1 else -1
    token_indices = np.arange(v.token_start, v.size)
    indices = _find(
        b, keys, b.constant(v.tokens, dtype), b.constant(token_indices, INT64), b.constant(default, INT64)
    )
    if v.oov_count > 1:
        buckets = b.Add(_bucket(b, keys, v.oov_count, salt, hashed), b.constant(v.oov_start, INT64))
        indices = select(b, b.Equal(indices, b.constant(-1, INT64)), buckets, indices)
    if v.mask_token is not None:
        masked = b.Equal(keys, b.constant(v.mask_token, dtype))
        value = b.constant(0 if v.output_mode == "int" else -1, INT64)
        indices = select(b, masked, value, indices)
    return indices


def _bucket(b: LayerBuilder, keys: LayerTensor, count: int, salt: Json, hashed: bool) -> LayerTensor:
    """One of several indices for what is out of the vocabulary."""
    if keys.dtype != STRING and not hashed:
        return b.FloorMod(keys, b.constant(count, keys.dtype))
    text = keys if keys.dtype == STRING else b.AsString(keys)
    if salt is None:
        return b.StringToHashBucketFast(text, num_buckets=count)
    key = [salt, salt] if isinstance(salt, int) else list(salt)
    return b.StringToHashBucketStrong(text, num_buckets=count, key=key)


def inverse(b: LayerBuilder, x: LayerTensor, vocabulary: Vocabulary) -> LayerTensor:
    """The token of each index."""
    v = vocabulary
    keys = b.cast(x, INT64)
    token_indices = b.constant(np.arange(v.token_start, v.size), INT64)
    tokens = _find(b, keys, token_indices, b.constant(v.tokens, v.dtype), b.constant(v.oov_token, v.dtype))
    if v.mask_token is None:
        return tokens
    return select(b, b.Equal(keys, b.constant(0, INT64)), b.constant(v.mask_token, v.dtype), tokens)


def _find(
    b: LayerBuilder, x: LayerTensor, keys: LayerTensor, values: LayerTensor, default: LayerTensor
) -> LayerTensor:
    """The values of keys in a table that is filled when the model is loaded."""
    table = b.node("HashTableV2", key_dtype=keys.dtype, value_dtype=values.dtype, use_node_name_sharing=True)
    b.model.initializers.append(b.node("InitializeTableV2", table, keys, values))
    return b.tensor(b.node("LookupTableFindV2", table, x, default), x.shape)


def weighted(
    b: LayerBuilder,
    indices: LayerTensor,
    vocabulary: Vocabulary,
    *,
    max_tokens: int | None,
    pad_to_max_tokens: bool,
    idf_weights: Sequence[float] | None,
    dtype: DType,
) -> LayerTensor:
    """Indices in the output mode of a lookup layer."""
    v = vocabulary
    depth = max_tokens if pad_to_max_tokens and max_tokens else v.size
    if v.output_mode not in TF_IDF:
        return encoded(b, indices, v.output_mode, depth, dtype=dtype)
    counts = encoded(b, indices, "count", depth, dtype=FLOAT32)
    if idf_weights is None:
        return b.Mul(counts, b.weight("idf_weights", (depth,), trainable=False, dtype=FLOAT32))
    weights = np.asarray(idf_weights, np.float32)
    front = 0 if v.has_special_tokens else v.token_start
    weights = np.pad(weights, (front, 0), constant_values=weights.mean())
    return b.Mul(counts, b.constant(np.pad(weights, (0, depth - len(weights))), FLOAT32))


def encoded(
    b: LayerBuilder,
    indices: LayerTensor,
    mode: str,
    depth: int,
    *,
    dtype: DType | None = None,
    weights: LayerTensor | None = None,
) -> LayerTensor:
    """Categories in an output mode of Keras, dense also where Keras makes a sparse tensor of them.

    Numbers below 0 do not count.
    """
    target = dtype or b.dtype
    if mode == "int":
        return b.cast(indices, target)
    if mode == ONE_HOT:
        # Keras 3 before 3.5 keeps an axis of size 1
        if indices.rank > 1 and indices.shape[-1] == 1 and not (3, 0) <= b.version.numbers < (3, 5):
            indices = squeeze(b, indices, -1)
        return one_hot(b, indices, depth, -1, target)
    vectors = one_hot(b, indices, depth, -1, target)
    if mode in MULTI_HOT:
        return reduce(b, "Max", vectors, [-2])
    if mode != COUNT:
        raise b.refuse(f"its output mode `{mode}` is unknown")
    if weights is not None:
        vectors = b.Mul(vectors, expand_dims(b, b.cast(weights, target), -1))
    return reduce(b, "Sum", vectors, [-2])
