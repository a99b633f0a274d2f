"""StringLookup and IntegerLookup: tokens to indices and back."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.preprocessing.lookup import inverse, looked_up, vocabulary_of, weighted
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import FLOAT32, INT64, STRING, DType


@layer("StringLookup")
def string_lookup(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    max_tokens: int | None = None,
    num_oov_indices: int = 1,
    mask_token: str | None = None,
    oov_token: str = "[UNK]",
    vocabulary: Json = None,
    vocabulary_size: Json = None,
    idf_weights: Sequence[float] | None = None,
    encoding: str | None = "utf-8",
    invert: bool = False,
    output_mode: str = "int",
    sparse: bool = False,
    pad_to_max_tokens: bool = False,
    oov_method: str = "farmhash",
    salt: Json = None,
) -> LayerTensor:
    v = vocabulary_of(
        b, vocabulary, STRING, mask_token=mask_token, oov_token=oov_token, oov_count=num_oov_indices,
        output_mode=output_mode,
    )  # fmt: skip
    if invert:
        return inverse(b, x, v)
    places = looked_up(b, x, v, salt=salt)
    return weighted(
        b, places, v, max_tokens=max_tokens, pad_to_max_tokens=pad_to_max_tokens, idf_weights=idf_weights,
        dtype=result_type(b, output_mode),
    )  # fmt: skip


@layer("IntegerLookup")
def integer_lookup(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    max_tokens: int | None = None,
    num_oov_indices: int = 1,
    mask_token: int | None = None,
    oov_token: int = -1,
    vocabulary: Json = None,
    vocabulary_dtype: str = "int64",
    vocabulary_size: Json = None,
    idf_weights: Sequence[float] | None = None,
    invert: bool = False,
    output_mode: str = "int",
    sparse: bool = False,
    pad_to_max_tokens: bool = False,
    oov_method: str = "floormod",
    salt: Json = None,
) -> LayerTensor:
    v = vocabulary_of(
        b, vocabulary, DType.parse(vocabulary_dtype), mask_token=mask_token, oov_token=oov_token,
        oov_count=num_oov_indices, output_mode=output_mode,
    )  # fmt: skip
    if invert:
        return inverse(b, x, v)
    places = looked_up(b, x, v, salt=salt, hashed=oov_method == "farmhash")
    return weighted(
        b, places, v, max_tokens=max_tokens, pad_to_max_tokens=pad_to_max_tokens, idf_weights=idf_weights,
        dtype=result_type(b, output_mode),
    )  # fmt: skip


def result_type(b: LayerBuilder, output_mode: str) -> DType:
    """The type of indices and counts: Keras 3 counts in integers."""
    if output_mode == "int" or b.version.major >= 3:
        return INT64
    return b.dtype if b.dtype.is_floating else FLOAT32
