"""The linear-time WordPiece tokenizer: its model, a trie with failure links, and how it splits words.

What lies between whitespace is split independently of the rest of a text, so the tokens of what lies between
spaces are remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.text.characters import (
    NOT_A_CHARACTER,
    between_spaces,
    between_whitespace,
    code_points,
    splits_words,
)
from tfport.runtime.ops.text.flat_models import read_model, trie_offset
from tfport.runtime.ops.text.tokens import TokenCache

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NULL = 0xFFFFFFFF
_ROOT = 0


class TokenColumns(NamedTuple):
    """The tokens of a text: strings, ids, and where they begin and end."""

    pieces: list[bytes]
    ids: list[int]
    starts: list[int]
    ends: list[int]


class FastWordpiece:
    """A FastWordpieceTokenizerConfig."""

    def __init__(self, data: NDArray[Any]) -> None:
        fields = read_model(data, "FastWordpieceTokenizerConfig")
        self.trie: tuple[int, ...] = fields.get("trie_array", ())
        if not self.trie:
            raise RunFailed("a FastWordpieceTokenizerConfig must have a trie")
        self.failures: tuple[int, ...] = fields.get("failure_struct_array", ())
        self.pops: tuple[int, ...] = fields.get("failure_pops_pool", ())
        self.suffix_root: int = fields.get("trie_suffix_root", 0)
        self.most_bytes: int = fields.get("max_bytes_per_token", 0)
        self.suffix = bytes(fields.get("suffix_indicator", b""))
        self.unknown = bytes(fields.get("unk_token", b""))
        self.unknown_id: int = fields.get("unk_token_id", 0)
        self.of_suffix: tuple[int, ...] = fields.get("precomputed_result_for_suffix_indicator", ())
        self.punctuation_link: int = fields.get("trie_punct_failure_link_node", 0)
        self.end_to_end: bool = fields.get("end_to_end", False)
        self.detokenizes: bool = fields.get("support_detokenization", False)
        self.vocabulary = [word.encode() for word in fields.get("vocab_array", ())]
        self.is_suffix: tuple[bool, ...] = fields.get("vocab_is_suffix_array", ())
        self._known = TokenCache(self._between_spaces if self.end_to_end else self._word)

    def words(self, texts: list[bytes]) -> tuple[list[bytes], NDArray[Any], NDArray[Any]]:
        """What the texts are split into first, where each part begins, and how many end with each text."""
        if not self.end_to_end:
            return texts, np.zeros(len(texts), np.int64), np.arange(1, len(texts) + 1)
        return between_spaces(texts)

    def tokens(self, word: bytes) -> TokenColumns:
        return self._known[word]

    def _between_spaces(self, text: bytes) -> TokenColumns:
        """The tokens of a text, which may have other whitespace."""
        out = TokenColumns([], [], [], [])
        words, begins, _ = between_whitespace([text])
        for word, begin in zip(words, begins.tolist(), strict=True):
            tokens = self._text(word)
            out.pieces.extend(tokens.pieces)
            out.ids.extend(tokens.ids)
            out.starts.extend(begin + start for start in tokens.starts)
            out.ends.extend(begin + end for end in tokens.ends)
        return out

    def _text(self, text: bytes) -> TokenColumns:
        """The tokens of a text without whitespace; the names of the steps are those of TensorFlow Text."""
        points, offsets = code_points(text)
        out = _Output(self)
        count = len(points)
        previous = current = NOT_A_CHARACTER
        at = 0
        while at < count:
            first = offsets[at]
            out.begin_word(first)
            node = _ROOT
            while at < count:
                previous, current = current, points[at]
                if offsets[at + 1] - first > self.most_bytes:
                    break
                step = text[offsets[at] : offsets[at + 1]]
                while (child := self._child(node, step)) is None:
                    link = out.follow(text[first:], node)
                    if link is None:
                        break
                    node = link
                if child is None:
                    break
                node = child
                at += 1
            if at >= count:
                out.end_word(text[first:], node)
                break
            if splits_words(current) or (at and splits_words(previous)):
                word = text[first : offsets[at]]
                out.end_word(word, node)
                if not word:
                    at += 1
                    out.add_unknown(offsets[at] - first)
                continue
            at += 1
            while at < count and not splits_words(points[at]):
                at += 1
            out.add_unknown(offsets[at] - first)
        return out.tokens

    def _word(self, word: bytes) -> TokenColumns:
        out = _Output(self)
        if not word:
            return out.tokens
        out.begin_word(0)
        if len(word) > self.most_bytes:
            out.add_unknown(len(word))
            return out.tokens
        node = _ROOT
        for at in range(len(word)):
            while (child := self._child(node, word[at : at + 1])) is None:
                link = out.follow(word, node)
                if link is None:
                    out.add_unknown(len(word))
                    return out.tokens
                node = link
            node = child
        out.end_word(word, node)
        return out.tokens

    def _child(self, node: int, step: bytes) -> int | None:
        """The node that some bytes lead to."""
        trie = self.trie
        unit = trie[node]
        for byte in step:
            node ^= trie_offset(unit) ^ byte
            if node >= len(trie):
                return None
            unit = trie[node]
            if unit & 0x800000FF != byte:
                return None
        return node

    def value(self, node: int) -> int | None:
        """The token that ends at a node."""
        unit = self.trie[node]
        return self.trie[node ^ trie_offset(unit)] & 0x7FFFFFFF if unit & 0x100 else None

    def detokenize(self, ids: list[int]) -> bytes:
        """The words of ids."""
        if not self.detokenizes:
            raise RunFailed("the model was built without support_detokenization")
        words: list[bytes] = []
        for id_ in ids:
            if not 0 <= id_ < min(len(self.vocabulary), len(self.is_suffix)):
                raise RunFailed(f"token ids must be in [0, {len(self.vocabulary)}), found {id_}")
            if words and self.is_suffix[id_]:
                words[-1] += self.vocabulary[id_]
            else:
                words.append((self.suffix if self.is_suffix[id_] else b"") + self.vocabulary[id_])
        return b" ".join(words)


class _Output:
    """The tokens so far. A word that turns out to be unknown replaces the tokens that it began with."""

    def __init__(self, model: FastWordpiece) -> None:
        self.model = model
        self.tokens = TokenColumns([], [], [], [])
        self.kept = 0
        """The number of tokens before the current word."""

    def begin_word(self, offset: int) -> None:
        self.offset, self.within = offset, 0

    def follow(self, word: bytes, node: int) -> int | None:
        """Add the tokens that end before the rest of a path in the trie, and return the node of that rest."""
        model = self.model
        link = model.failures[node] & _NULL if node < len(model.failures) else _NULL
        value = model.value(node)
        if value is not None:
            self._add(word, value)
            return link
        if link == _NULL:
            return None
        pops = model.failures[node] >> 32
        for at in range(pops >> 8, (pops >> 8) + (pops & 0xFF) + 1):
            self._add(word, model.pops[at])
        return link

    def _add(self, word: bytes, token: int) -> None:
        id_, length, within = token >> 8 & 0x3FFFFF, (token & 0xFF) + 1, self.within
        model, tokens = self.model, self.tokens
        if not within and token >> 30:
            length += len(model.suffix)
        piece = model.unknown if id_ == model.unknown_id else word[within : within + length]
        tokens.pieces.append(model.suffix + piece if within else piece)
        tokens.ids.append(id_)
        tokens.starts.append(self.offset + within)
        tokens.ends.append(self.offset + within + length)
        self.within = within + length

    def end_word(self, word: bytes, node: int) -> None:
        model = self.model
        if node == _ROOT:
            return
        if node == model.suffix_root and len(self.tokens.ids) == self.kept:
            self._add_suffix(word)
            return
        while node not in (model.suffix_root, model.punctuation_link):
            link = self.follow(word, node)
            if link is None:
                self.add_unknown(len(word))
                return
            node = link
        self.kept = len(self.tokens.ids)

    def _add_suffix(self, word: bytes) -> None:
        """The word is the suffix indicator itself."""
        of_suffix = self.model.of_suffix
        if len(of_suffix) == 1 and of_suffix[0] >> 8 & 0x3FFFFF == self.model.unknown_id:
            self.add_unknown(len(word))
            return
        for token in of_suffix:
            self._add(word, token)
        self.kept = len(self.tokens.ids)

    def add_unknown(self, length: int) -> None:
        tokens = self.tokens
        for column in tokens:
            del column[self.kept :]
        tokens.pieces.append(self.model.unknown)
        tokens.ids.append(self.model.unknown_id)
        tokens.starts.append(self.offset)
        tokens.ends.append(self.offset + length)
        self.kept += 1
