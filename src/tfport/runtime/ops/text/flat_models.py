"""Models of TensorFlow Text that are flatbuffers in a constant of the graph, and their double-array tries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfport.errors import RunFailed, UnreadableFile
from tfport.formats.lite.flatbuffer import Fields, FlatbufferReader
from tfport.formats.lite.schema import SCALARS, Schema, TableField

if TYPE_CHECKING:
    from numpy.typing import NDArray

Model = TypeVar("Model")

_TABLES = {
    "FastBertNormalizerModel": "lower_case_nfd_strip_accents: bool, trie_array: [uint], "
    "data_for_codepoint_zero: int, normalized_string_pool: [ubyte]",
    # a failure structure is two 32-bit numbers, read as one of 64 bits; strings are read as bytes
    "FastWordpieceTokenizerConfig": "trie_array: [uint], failure_struct_array: [ulong], "
    "failure_pops_pool: [int], trie_suffix_root: uint, max_bytes_per_token: int, suffix_indicator: [ubyte], "
    "unk_token: [ubyte], unk_token_id: int, precomputed_result_for_suffix_indicator: [int], "
    "trie_punct_failure_link_node: uint, end_to_end: bool, support_detokenization: bool, "
    "vocab_array: [string], vocab_is_suffix_array: [bool]",
    "Trie": "nodes: [uint]",
    "PhraseTokenizerConfig": "prob: int, unk_token: [ubyte], unk_token_id: int, "
    "support_detokenization: bool, vocab_array: [string], vocab_trie: Trie, whitespace_config: [ubyte], "
    "split_end_punctuation: bool",
    "EncoderConfig": "version: byte, start_code: int, end_code: int, unknown_code: int, "
    "unknown_penalty: float, encoding_offset: int, pieces: Trie, pieces_scores: [float], "
    "remove_extra_whitespaces: bool, add_dummy_prefix: bool, escape_whitespaces: bool, "
    "normalized_prefixes: Trie, normalized_replacements: [byte]",
    "DecoderConfig": "version: byte, encoding_offset: int, decode_pieces: [string], "
    "denormalized_prefixes: Trie, denormalized_replacements: [byte], remove_dummy_prefix: bool",
}


def _field(text: str) -> TableField:
    name, type_name = text.split(": ")
    element = type_name.strip("[]")
    if element == type_name:
        return TableField(
            name, "scalar" if type_name in SCALARS else "table", type_name, None, SCALARS.get(type_name, "")
        )
    if element == "string":
        return TableField(name, "strings", element, None)
    return TableField(name, "scalars", element, None, SCALARS[element])


_SCHEMA = Schema({}, {}, {table: tuple(map(_field, text.split(", "))) for table, text in _TABLES.items()})


def read_model(data: NDArray[Any], table: str) -> Fields:
    """The fields of a model; those that have their default are missing."""
    try:
        return FlatbufferReader(memoryview(np.ascontiguousarray(data).data).cast("B"), _SCHEMA, table).root(
            table
        )
    except UnreadableFile as error:
        raise RunFailed(f"the {table} in the graph is invalid: {error}") from None


def prepared(at: int, read: Callable[[Any], Model], run: Callable[..., Any]) -> Callable[..., Any]:
    """The quick variant of a kernel whose input `at` is a model: a constant one is read once."""

    def quick(groups: Any, attrs: Mapping[str, Any]) -> Callable[..., Any] | None:
        value = groups[at].array
        if value is None:
            return None
        models: list[Any] = []

        def call(*inputs: Any) -> Any:
            if not models:
                models.append(read(value))
            return run(models[0], *inputs[:at], *inputs[at + 1 :], **attrs)

        return call

    return quick


def trie_offset(unit: int) -> int:
    """Where the children of a node are, relative to it."""
    return (unit >> 10) << ((unit & 0x200) >> 6)


def prefix_matches(trie: tuple[int, ...], text: bytes, at: int) -> list[tuple[int, int]]:
    """The words of a trie that begin at a byte of a text, short ones first: their ends and values."""
    matches: list[tuple[int, int]] = []
    if not trie:
        return matches
    size = len(trie)
    unit = trie[0]
    node = (unit >> 10) << ((unit & 0x200) >> 6)
    for here in range(at, len(text)):
        byte = text[here]
        node ^= byte
        if node >= size:
            break
        unit = trie[node]
        if unit & 0x800000FF != byte:
            break
        node ^= (unit >> 10) << ((unit & 0x200) >> 6)
        if node >= size:
            break
        if unit & 0x100:
            matches.append((here + 1, trie[node] & 0x7FFFFFFF))
    return matches
