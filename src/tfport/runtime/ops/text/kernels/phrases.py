"""PhraseTokenize and PhraseDetokenize: the longest known phrases of a text, from left to right."""

from __future__ import annotations

from itertools import pairwise
from random import random
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.text.flat_models import prefix_matches, prepared, read_model
from tfport.runtime.ops.text.kernels.splitting import whitespace_words
from tfport.runtime.ops.text.tokens import splits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ENDINGS = (b"'t", b"'s", b".", b",", b"!", b"?", b"'m", b"'re", b"'ll", b"'d", b"'ve")


class PhraseModel:
    """A PhraseTokenizerConfig."""

    def __init__(self, data: NDArray[Any]) -> None:
        fields = read_model(data, "PhraseTokenizerConfig")
        if "vocab_trie" not in fields or "whitespace_config" not in fields:
            raise RunFailed("a PhraseTokenizerConfig must have a trie and the characters of whitespace")
        self.trie: tuple[int, ...] = fields["vocab_trie"].get("nodes", ())
        self.probability: float = fields.get("prob", 0) / 100
        self.whitespace = bytes(fields["whitespace_config"])
        self.unknown = bytes(fields.get("unk_token", b""))
        self.unknown_id: int = fields.get("unk_token_id", 0)
        self.splits_endings: bool = fields.get("split_end_punctuation", False)
        self.detokenizes: bool = fields.get("support_detokenization", False)
        self.vocabulary = [word.encode() for word in fields.get("vocab_array", ())]

    def tokenize(self, text: bytes) -> list[tuple[bytes, int]]:
        """The phrases of a text, and their ids."""
        words = [word for word, _, _ in whitespace_words(text, self.whitespace) if word]
        joined = b" ".join(map(self._split, words) if self.splits_endings else words)
        phrases = []
        at = 0
        while at < len(joined):
            end, id_ = self._phrase(joined, at)
            if end < 0:
                end = joined.find(b" ", at)
                phrases.append((self.unknown, self.unknown_id))
                if end < 0:
                    break
            else:
                phrases.append((joined[at:end], id_))
            at = end + 1
        return phrases

    def _split(self, word: bytes) -> bytes:
        for ending in _ENDINGS:
            if word.endswith(ending):
                return word[: -len(ending)] + b" " + ending
        return word

    def _phrase(self, text: bytes, at: int) -> tuple[int, int]:
        """Where the phrase that begins here ends, and its id; the end is -1 if there is none."""
        best = -1, self.unknown_id
        for end, id_ in prefix_matches(self.trie, text, at):
            if end == len(text) or text[end] == 0x20:
                best = end, id_
                if self.probability > 0 and random() < self.probability:
                    break
        return best

    def detokenize(self, ids: list[int]) -> bytes:
        """The text of phrases."""
        if not self.detokenizes:
            raise RunFailed("the model was built without support_detokenization")
        if ids and not 0 <= min(ids) <= max(ids) < len(self.vocabulary):
            raise RunFailed(f"ids must be in [0, {len(self.vocabulary)}), found {min(ids)} and {max(ids)}")
        phrases = [self.vocabulary[id_] for id_ in ids]
        if not self.splits_endings:
            return b" ".join(phrases)
        text = b""
        for phrase in phrases:
            text += phrase if phrase in _ENDINGS or not text else b" " + phrase
        return text


@host("PhraseTokenize")
def phrase_tokenize(input_values, phrase_model):
    return _tokenize(PhraseModel(phrase_model), input_values)


def _tokenize(model: PhraseModel, texts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    if texts.ndim != 1:
        raise RunFailed(f"input_values must be a vector, found shape {list(texts.shape)}")
    rows = [model.tokenize(text) for text in texts.tolist()]
    phrases = [phrase for row in rows for phrase in row]
    return (
        string_array([phrase for phrase, _ in phrases]),
        np.array([id_ for _, id_ in phrases], np.int64),
        splits_of(rows),
    )


quick(phrase_tokenize)(prepared(1, PhraseModel, _tokenize))


@host("TFText>PhraseDetokenize")
def phrase_detokenize(input_values, input_row_splits, phrase_model):
    return _detokenize(PhraseModel(phrase_model), input_values, input_row_splits)


def _detokenize(model: PhraseModel, values: NDArray[Any], splits: NDArray[Any]) -> NDArray[Any]:
    check_splits(splits, len(values))
    ids = values.tolist()
    return string_array([model.detokenize(ids[a:b]) for a, b in pairwise(splits.tolist())])


quick(phrase_detokenize)(prepared(2, PhraseModel, _detokenize))
