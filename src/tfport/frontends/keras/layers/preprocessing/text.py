"""Texts to words, words to indices and back: TextVectorization, StringLookup, IntegerLookup."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.preprocessing.lookup import (
    Vocabulary,
    inverse,
    looked_up,
    vocabulary_of,
    weighted,
)
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import concat, slice_axis, squeeze
from tfport.graph.dtypes import FLOAT32, INT32, INT64, STRING, DType
from tfport.startup.dataclass import dataclass

PUNCTUATION = r'[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']'
LOWERS, STRIPS = (
    ("lower", "lower_and_strip_punctuation"),
    ("strip_punctuation", "lower_and_strip_punctuation"),
)


@layer("TextVectorization")
def text_vectorization(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    max_tokens: int | None = None,
    standardize: Json = "lower_and_strip_punctuation",
    split: Json = "whitespace",
    ngrams: int | Sequence[int] | None = None,
    output_mode: str = "int",
    output_sequence_length: int | None = None,
    pad_to_max_tokens: bool = False,
    vocabulary: Json = None,
    vocabulary_size: Json = None,
    idf_weights: Sequence[float] | None = None,
    sparse: bool = False,
    ragged: bool = False,
    encoding: str | None = "utf-8",
) -> LayerTensor:
    if ragged:
        raise b.refuse("its result is ragged, and a plain tensor does not say where rows end")
    v = vocabulary_of(
        b, vocabulary, STRING, mask_token="", oov_token="[UNK]", oov_count=1, output_mode=output_mode
    )
    texts = _standardized(b, x, standardize)
    if split is None:
        if ngrams is not None:
            raise b.refuse("it makes n-grams of texts that it does not split, which tfport does not do")
        indices = looked_up(b, texts, v)
    else:
        words = _split(b, texts, split)
        words = words if ngrams is None else _ngrams(b, words, ngrams)
        indices = _padded_rows(b, words, v)
    if output_mode == "int":
        return indices if output_sequence_length is None else _cut(b, indices, output_sequence_length)
    return weighted(
        b, indices, v, max_tokens=max_tokens, pad_to_max_tokens=pad_to_max_tokens, idf_weights=idf_weights,
        dtype=result_type(b, output_mode),
    )  # fmt: skip


def _standardized(b: LayerBuilder, x: LayerTensor, standardize: Json) -> LayerTensor:
    if standardize is not None and standardize not in (*LOWERS, *STRIPS):
        raise b.refuse(f"its standardization {standardize!r:.80} is a function that is not in the file")
    if standardize in LOWERS:
        x = b.StringLower(x)
    if standardize in STRIPS:
        x = b.StaticRegexReplace(x, pattern=PUNCTUATION, rewrite="")
    return x


@dataclass(frozen=True, slots=True)
class RaggedWords:
    """Words of several texts: all words, and where those of each text begin and end."""

    words: LayerTensor
    splits: LayerTensor
    texts: int | None


def _split(b: LayerBuilder, x: LayerTensor, split: Json) -> RaggedWords:
    if x.rank > 1:
        if x.shape[-1] != 1:
            raise b.refuse(f"it splits texts of the shape {x.shape}; expected a last size of 1")
        x = squeeze(b, x, -1)
    if x.rank != 1:
        raise b.refuse(f"it splits texts of rank {x.rank}, which tfport does not do")
    if split == "whitespace":
        node = b.node("StringSplitV2", x, b.constant(b"", STRING))
        indices, words, shape = (node.output(i) for i in range(3))
        rows = slice_axis(b, b.tensor(indices, (None, 2)), 1, 0, 1)
        rows = squeeze(b, rows, 1)
        count = b.tensor(b.node("StridedSlice", shape, [0], [1], [1], shrink_axis_mask=1), ())
        lengths = b.tensor(b.node("UnsortedSegmentSum", b.OnesLike(rows), rows, count), (x.shape[0],))
        ends = b.Cumsum(lengths, 0)
        splits = concat(b, [b.constant([0], INT64), ends], 0)
        return RaggedWords(b.tensor(words, (None,)), splits, x.shape[0])
    if split == "character":
        node = b.node("UnicodeDecode", x, input_encoding="UTF-8", Tsplits=INT64)
        splits, codes = b.tensor(node.output(0), (None,)), b.tensor(node.output(1), (None,))
        count = b.Size(codes, out_type=INT64)
        each = b.node("Range", b.constant(0, INT64), b.Add(count, 1), b.constant(1, INT64))
        characters = b.node("UnicodeEncode", codes, each, output_encoding="UTF-8", Tsplits=INT64)
        return RaggedWords(b.tensor(characters, (None,)), splits, x.shape[0])
    raise b.refuse(f"its split {split!r:.80} is a function that is not in the file")


def _ngrams(b: LayerBuilder, ragged: RaggedWords, ngrams: int | Sequence[int]) -> RaggedWords:
    widths = list(range(1, ngrams + 1)) if isinstance(ngrams, int) else list(ngrams)
    node = b.node(
        "StringNGrams", ragged.words, ragged.splits, separator=" ", ngram_widths=widths, left_pad="",
        right_pad="", pad_width=0, preserve_short_sequences=False, Tsplits=INT64,
    )  # fmt: skip
    return RaggedWords(b.tensor(node.output(0), (None,)), b.tensor(node.output(1), (None,)), ragged.texts)


def _padded_rows(b: LayerBuilder, ragged: RaggedWords, vocabulary: Vocabulary) -> LayerTensor:
    """The indices of words, a row for each text; missing ones are 0, or -1 where indices are counted."""
    indices = looked_up(b, ragged.words, vocabulary)
    missing = b.constant(0 if vocabulary.output_mode == "int" else -1, INT64)
    node = b.node(
        "RaggedTensorToTensor", b.constant([-1, -1], INT64), indices, missing, [ragged.splits],
        row_partition_types=["ROW_SPLITS"],
    )  # fmt: skip
    return b.tensor(node, (ragged.texts, None))


def _cut(b: LayerBuilder, indices: LayerTensor, length: int) -> LayerTensor:
    """Rows of one length, cut or filled with 0."""
    rows = slice_axis(b, indices, -1, None, length)
    size = b.Shape(rows, out_type=INT32)
    last = b.tensor(b.node("StridedSlice", size, [rows.rank - 1], [rows.rank], [1], shrink_axis_mask=1), ())
    missing = b.Sub(b.constant(length), last)
    flat = b.node("Pack", [*[b.constant(0)] * (2 * rows.rank - 1), missing], T=INT32, axis=0)
    paddings = b.node("Reshape", flat, [rows.rank, 2])
    return b.tensor(b.node("Pad", rows, paddings), (*rows.shape[:-1], length))


# StringLookup and IntegerLookup


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
    indices = looked_up(b, x, v, salt=salt)
    return weighted(
        b, indices, v, max_tokens=max_tokens, pad_to_max_tokens=pad_to_max_tokens, idf_weights=idf_weights,
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
    indices = looked_up(b, x, v, salt=salt, hashed=oov_method == "farmhash")
    return weighted(
        b, indices, v, max_tokens=max_tokens, pad_to_max_tokens=pad_to_max_tokens, idf_weights=idf_weights,
        dtype=result_type(b, output_mode),
    )  # fmt: skip


def result_type(b: LayerBuilder, output_mode: str) -> DType:
    """The type of indices and counts: Keras 3 counts in integers."""
    if output_mode == "int" or b.version.major >= 3:
        return INT64
    return b.dtype if b.dtype.is_floating else FLOAT32
