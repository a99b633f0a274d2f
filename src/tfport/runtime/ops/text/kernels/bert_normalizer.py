"""FastBertNormalize: characters replaced by the model of BERT's normalizer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.shared.arrays import expand_ranges, string_array
from tfport.runtime.ops.strings.byte_strings import ByteChange
from tfport.runtime.ops.text.characters import beyond_ascii
from tfport.runtime.ops.text.flat_models import prepared, read_model, trie_offset
from tfport.runtime.ops.text.tokens import TokenCache

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIFFERENT = 0x40000000
_SPACE = ord(" ")


class BertNormalizer(dict[int, Any]):
    """A FastBertNormalizerModel as a table for `str.translate`, filled as characters are met."""

    def __init__(self, data: NDArray[Any]) -> None:
        fields = read_model(data, "FastBertNormalizerModel")
        if not fields.get("trie_array") or "normalized_string_pool" not in fields:
            raise RunFailed("a FastBertNormalizerModel must have a trie and its strings")
        self._trie: tuple[int, ...] = fields["trie_array"]
        self._zero: int = fields.get("data_for_codepoint_zero", 0)
        self._pool = bytes(fields["normalized_string_pool"])
        self._of_ascii = self._change_of_ascii()
        self._known = TokenCache(self._normalized)
        self._keeps_spaces = self[_SPACE] == _SPACE

    def __missing__(self, point: int) -> Any:
        value = self._lookup(chr(point).encode("utf-8", "surrogateescape")) if point else self._zero
        out: int | str = point
        if value & _DIFFERENT:
            start = (value & 0x3FFFFFC0) >> 6
            out = self._pool[start : start + (value & 0x3F)].decode("utf-8", "surrogateescape")
        self[point] = out
        return out

    def _lookup(self, character: bytes) -> int:
        trie, node = self._trie, 0
        unit = trie[0]
        for byte in character:
            node ^= trie_offset(unit) ^ byte
            if node >= len(trie) or trie[node] & 0x800000FF != byte:
                return 0
            unit = trie[node]
        return trie[node ^ trie_offset(unit)] & 0x7FFFFFFF if unit & 0x100 else 0

    def normalize(self, text: bytes) -> bytes:
        """The text with its characters replaced; ill-formed bytes stay as they are.

        A character is replaced whatever is beside it, so what lies between spaces is remembered.
        """
        if not self._keeps_spaces or (self._of_ascii is not None and text.isascii()):
            return self._normalized(text)
        return b" ".join(map(self._known.__getitem__, text.split(b" ")))

    def _normalized(self, text: bytes) -> bytes:
        if self._of_ascii is None:
            characters = text.decode("utf-8", "surrogateescape").translate(self)
        else:
            text = self._of_ascii(text)
            if text.isascii():
                return text
            characters = beyond_ascii(self._replaced, text.decode("utf-8", "surrogateescape"))
        return characters.encode("utf-8", "surrogateescape")

    def _replaced(self, match: re.Match[str]) -> str:
        return match[0].translate(self)

    def _change_of_ascii(self) -> ByteChange | None:
        """The change of the characters of ASCII, if each becomes another one of them or nothing."""
        becomes = [chr(point).translate(self) for point in range(128)]
        if any(len(each) > 1 or not each.isascii() for each in becomes):
            return None
        removed = bytes(point for point in range(128) if not becomes[point])
        table = "".join(each or "\0" for each in becomes).encode() + bytes(range(128, 256))
        return ByteChange(table, removed)

    def offsets(self, text: bytes) -> NDArray[Any]:
        """The byte of the text that each byte of the normalized one comes from, and where both end."""
        characters = text.decode("utf-8", "surrogateescape")
        widths = _widths(characters)
        starts = np.cumsum(widths) - widths
        replacements = [self[ord(character)] for character in characters]
        same = np.array([isinstance(each, int) for each in replacements], bool)
        lengths = np.array(
            [
                width if isinstance(each, int) else len(each.encode("utf-8", "surrogateescape"))
                for each, width in zip(replacements, widths.tolist(), strict=True)
            ],
            np.int64,
        )
        within = expand_ranges(np.zeros(len(lengths), np.int64), lengths, 1)
        return np.append(np.repeat(starts, lengths) + within * np.repeat(same, lengths), len(text))


def _widths(characters: str) -> NDArray[Any]:
    """The number of bytes of each character; an ill-formed byte is a surrogate."""
    points = np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), "<u4")
    escaped = (points >= 0xDC80) & (points <= 0xDCFF)
    return np.where(escaped, 1, 1 + (points > 0x7F) + (points > 0x7FF) + (points > 0xFFFF)).astype(np.int64)


@host("FastBertNormalize")
def fast_bert_normalize(input_values, fast_bert_normalizer_model, *, get_offsets):
    return _normalize(BertNormalizer(fast_bert_normalizer_model), input_values, get_offsets=get_offsets)


def _normalize(model: BertNormalizer, texts: NDArray[Any], *, get_offsets: bool) -> tuple[Any, ...]:
    if texts.ndim != 1:
        raise RunFailed(f"input_values must be a vector, found shape {list(texts.shape)}")
    values = string_array([model.normalize(text) for text in texts.tolist()])
    if not get_offsets:
        return values, np.zeros(0, np.int64), np.zeros(len(texts) + 1, np.int64)
    rows = [
        np.arange(len(text) + 1) if text == value else model.offsets(text)
        for text, value in zip(texts.tolist(), values.tolist(), strict=True)
    ]
    offsets = np.concatenate([np.zeros(0, np.int64), *rows])
    return values, offsets, np.cumsum([0, *map(len, rows)])


quick(fast_bert_normalize)(prepared(1, BertNormalizer, _normalize))
