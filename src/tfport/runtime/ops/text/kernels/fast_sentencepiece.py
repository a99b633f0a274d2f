"""FastSentencepieceTokenize and …Detokenize: SentencePiece by models that are flatbuffers."""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.lite.flatbuffer import Fields
from tfport.graph.dtypes import INT32
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import scalar_value
from tfport.runtime.ops.text.flat_models import prefix_matches, prepared, read_model
from tfport.runtime.ops.text.sentencepiece_model import SPACE
from tfport.runtime.ops.text.tokens import splits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GAPS, _GAP = re.compile(rb"[ \t\r\n]{2,}"), re.compile(rb"[ \t\r\n]")


class PieceEncoder:
    """An EncoderConfig. Scores are added in float32, as there."""

    def __init__(self, data: NDArray[Any]) -> None:
        fields = _config(data, "EncoderConfig")
        self.pieces = _nodes(fields, "pieces")
        self.scores = list(np.array(fields.get("pieces_scores", ()), np.float32))
        self.start: int = fields.get("start_code", 0)
        self.end: int = fields.get("end_code", 0)
        self.unknown: int = fields.get("unknown_code", -1)
        self.penalty = np.float32(fields.get("unknown_penalty", 0))
        self.offset: int = fields.get("encoding_offset", 0)
        self.prefix = b" " if fields.get("add_dummy_prefix") else b""
        self.removes: bool = fields.get("remove_extra_whitespaces", False)
        self.escapes: bool = fields.get("escape_whitespaces", False)
        self.prefixes = _nodes(fields, "normalized_prefixes")
        self.replacements = np.array(fields.get("normalized_replacements", ()), np.int8).tobytes()

    def normalized(self, text: bytes) -> bytes:
        if not text:
            return text
        text = self._replaced(self.prefix + text) if self.prefixes else self.prefix + text
        if self.removes:
            text = _GAPS.sub(b" ", text)
            text = text[:-1] if _GAP.match(text[-1:]) else text
        return _GAP.sub(SPACE, text) if self.escapes else text

    def _replaced(self, text: bytes) -> bytes:
        """The text with the longest prefixes that the model knows replaced, from left to right."""
        out = bytearray()
        at = 0
        while at < len(text):
            end, start = next(reversed(prefix_matches(self.prefixes, text, at)), (0, -1))
            if not 0 <= start < len(self.replacements):
                out.append(text[at])
                at += 1
                continue
            out += self.replacements[start : self.replacements.find(b"\0", start) % (1 << 63)]
            at = end
        return bytes(out)

    def encode(self, text: bytes) -> list[int]:
        """The codes of a text: the best path through a lattice of its bytes."""
        text = self.normalized(text)
        size = len(text)
        best: list[Any] = [np.float32(0)] + [None] * size
        """The scores of the reachable positions."""
        codes, before = [-1] * (size + 1), [-1] * (size + 1)
        for at in range(size):
            score = best[at]
            if score is None:
                continue
            if self.unknown >= 0:
                penalized = score + self.penalty
                if best[at + 1] is None or best[at + 1] < penalized:
                    best[at + 1] = penalized
                    # neighboring unknown bytes are one piece
                    before[at + 1] = before[at] if codes[at] == self.unknown else at
                    codes[at + 1] = self.unknown
            for end, id_ in prefix_matches(self.pieces, text, at):
                if id_ < len(self.scores):
                    total = score + self.scores[id_]
                    if best[end] is None or best[end] < total:
                        best[end], codes[end], before[end] = total, id_, at
        path = []
        at = size if before[size] >= 0 else 0
        while at > 0:
            path.append(codes[at] if codes[at] == self.unknown else codes[at] + self.offset)
            at = before[at]
        return path[::-1]


class PieceDecoder:
    """A DecoderConfig."""

    def __init__(self, data: NDArray[Any]) -> None:
        fields = _config(data, "DecoderConfig")
        self.offset: int = fields.get("encoding_offset", 0)
        self.pieces = [piece.encode().split(b"\0")[0] for piece in fields.get("decode_pieces", ())]
        self.drops_prefix: bool = fields.get("remove_dummy_prefix", False)

    def decode(self, codes: list[int]) -> bytes:
        numbers = [code - self.offset for code in codes]
        if numbers and not 0 <= min(numbers) <= max(numbers) < len(self.pieces):
            raise RunFailed(
                f"codes must be in [{self.offset}, {self.offset + len(self.pieces)}), "
                f"found {min(codes)} and {max(codes)}"
            )
        pieces = [self.pieces[number] for number in numbers]
        if pieces and self.drops_prefix:
            pieces[0] = pieces[0].removeprefix(b" ")
        return b"".join(pieces)


def _config(data: NDArray[Any], table: str) -> Fields:
    fields = read_model(data, table)
    if fields.get("version"):
        raise RunFailed(f"the {table} in the graph has an unknown version, {fields['version']}")
    return fields


def _nodes(fields: Fields, name: str) -> tuple[int, ...]:
    nodes: tuple[int, ...] = fields.get(name, {}).get("nodes", ())
    return nodes


@host("TFText>FastSentencepieceTokenize", out_type=(INT32,), Tsplits=(INT32,))
def fast_sentencepiece_tokenize(
    sp_model, input, nbest_size, alpha, add_bos, add_eos, reverse, *, out_type, Tsplits
):
    return _tokenize(PieceEncoder(sp_model), input, nbest_size, alpha, add_bos, add_eos, reverse)


def _tokenize(
    model: PieceEncoder, texts: Any, nbest_size: Any, alpha: Any, add_bos: Any, add_eos: Any, reverse: Any,
    *, out_type: Any = None, Tsplits: Any = None,
) -> tuple[NDArray[Any], ...]:  # fmt: skip
    first = [model.start] if scalar_value(add_bos, "add_bos") else []
    last = [model.end] if scalar_value(add_eos, "add_eos") else []
    rows = [[*first, *model.encode(text), *last] for text in texts.reshape(-1).tolist()]
    if scalar_value(reverse, "reverse"):
        rows = [row[::-1] for row in rows]
    return np.array(list(chain.from_iterable(rows)), np.int32), splits_of(rows, np.int32)


quick(fast_sentencepiece_tokenize)(prepared(0, PieceEncoder, _tokenize))


@host("TFText>FastSentencepieceDetokenize")
def fast_sentencepiece_detokenize(sp_model, input_values, input_splits):
    return _detokenize(PieceDecoder(sp_model), input_values, input_splits)


def _detokenize(model: PieceDecoder, values: NDArray[Any], splits: NDArray[Any]) -> NDArray[Any]:
    if not splits.size:
        raise RunFailed("input_splits must have at least 1 element")
    check_splits(splits.reshape(-1), values.size)
    codes = values.reshape(-1).tolist()
    return string_array([model.decode(codes[a:b]) for a, b in pairwise(splits.reshape(-1).tolist())])


quick(fast_sentencepiece_detokenize)(prepared(0, PieceDecoder, _detokenize))
