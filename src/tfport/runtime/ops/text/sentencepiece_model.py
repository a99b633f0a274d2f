"""A SentencePiece model: its pieces, and how texts become pieces and pieces become texts.

TensorFlow Text links SentencePiece 0.1.96. The package `sentencepiece` (extra `tfport[text]`) splits texts as
that version does, up to 0.2.1: later ones choose differently between splits that are equally good. How it
joins pieces changed earlier, so `decode` does it here.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError

from tfport.errors import RunFailed
from tfport.extras import optional_module
from tfport.runtime.ops.io.descriptors import messages

_MESSAGES = """
    Model: pieces=1 *Piece, trainer_spec=2 Trainer, normalizer_spec=3 Normalizer, denormalizer=5 Normalizer
    Piece: piece=1 bytes, score=2 float, type=3 int32
    Trainer: unk_surface=44 *bytes, bos_piece=46 bytes, eos_piece=47 bytes
    Normalizer: precompiled_charsmap=2 bytes, add_dummy_prefix=3 *bool, remove_extra_whitespaces=4 *bool
    SplitText: text=1 bytes, pieces=2 *TextPiece
    TextPiece: piece=1 bytes, id=2 uint32, begin=4 uint32, end=5 uint32
    SplitTexts: texts=1 *SplitText
"""
"""Fields with a default are repeated ones here, which are empty where it applies."""
UNKNOWN, CONTROL, BYTE = 2, 3, 6
"""Types of pieces."""
SPACE = "\N{LOWER ONE EIGHTH BLOCK}".encode()
UNKNOWN_SURFACE = " \N{DOUBLE QUESTION MARK} ".encode()


def _message(name: str) -> Any:
    return messages("tfport.sentencepiece", _MESSAGES)[name]


class SentencepieceModel:
    """The model of a SentencepieceOp."""

    def __init__(self, data: bytes) -> None:
        try:
            proto = _message("Model").FromString(data)
        except DecodeError:
            raise RunFailed(f"expected a SentencePiece model, found {len(data)} invalid bytes") from None
        self.data = data
        self.pieces: list[bytes] = [piece.piece for piece in proto.pieces]
        self.ids = {piece: at for at, piece in enumerate(self.pieces)}
        types = [piece.type for piece in proto.pieces]
        self.unknown = types.index(UNKNOWN) if UNKNOWN in types else -1
        if self.unknown < 0 or len(self.ids) < len(self.pieces):
            raise RunFailed("a SentencePiece model must have an unknown piece, and no piece twice")
        trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
        self.bos_piece: bytes = trainer.bos_piece or b"<s>"
        self.eos_piece: bytes = trainer.eos_piece or b"</s>"
        self._denormalizes = bool(proto.denormalizer.precompiled_charsmap)
        self._drops_first_space = any(
            [True, *flags][-1] for flags in (normalizer.add_dummy_prefix, normalizer.remove_extra_whitespaces)
        )
        unknown_surface = [UNKNOWN_SURFACE, *trainer.unk_surface][-1].split(b"\0")[0]
        self._surfaces = [
            unknown_surface if type_ == UNKNOWN else b"" if type_ == CONTROL else piece.replace(SPACE, b" ")
            for piece, type_ in zip(self.pieces, types, strict=True)
        ]
        """What each piece adds to a text."""
        self._bytes = {
            at: int(piece[3:5], 16)
            for at, (piece, type_) in enumerate(zip(self.pieces, types, strict=True))
            if type_ == BYTE
        }
        self._begin_with_space = {
            at
            for at, (piece, type_) in enumerate(zip(self.pieces, types, strict=True))
            if type_ not in (UNKNOWN, CONTROL, BYTE) and piece.startswith(SPACE)
        }

    # Texts to pieces

    @functools.cached_property
    def _processor(self) -> Any:
        # its import warns, and where warnings are errors it crashes later
        with warnings.catch_warnings(action="ignore"):
            sentencepiece = optional_module("sentencepiece", "splitting texts by SentencePiece")
        processor = sentencepiece.SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(self.data)
        except RuntimeError as error:
            raise RunFailed(f"invalid SentencePiece model: {error}") from None
        return processor

    def encode(self, texts: list[bytes]) -> list[list[int]]:
        """The ids of the pieces of each text."""
        rows: list[list[int]] = self._processor.Encode(texts, num_threads=1)
        return rows

    def split(self, texts: list[bytes]) -> list[Any]:
        """Each text as a message with its pieces: text, id, and where they begin and end."""
        parse = _message("SplitText").FromString
        return [
            parse(data) for data in self._processor.Encode(texts, out_type="serialized_proto", num_threads=1)
        ]

    def best_splits(self, text: bytes, count: int) -> list[Any]:
        """The best ways to split a text."""
        try:
            data = self._processor.NBestEncode(text, nbest_size=count, out_type="serialized_proto")
        except (RuntimeError, ValueError) as error:
            raise RunFailed(f"SentencePiece: {error}") from None
        return list(_message("SplitTexts").FromString(data).texts)

    def sampled_split(self, text: bytes, count: int, alpha: float) -> Any:
        """One of the ways to split a text, drawn at random."""
        try:
            data = self._processor.Encode(
                text, enable_sampling=True, nbest_size=count, alpha=alpha, out_type="serialized_proto"
            )
        except (RuntimeError, ValueError) as error:
            raise RunFailed(f"SentencePiece: {error}") from None
        return _message("SplitText").FromString(data)

    def added_id(self, piece: bytes) -> int:
        """The id of the piece at the beginning or the end of a text."""
        id_ = self.ids.get(piece, self.unknown)
        if id_ == self.unknown:
            raise RunFailed(f"the SentencePiece model has no piece `{piece.decode(errors='replace')}`")
        return id_

    # Pieces to texts

    def decode(self, ids: Sequence[int], pieces: Sequence[bytes] | None = None) -> bytes:
        """The text of pieces; `pieces` are the strings if these were given, as unknown ones are kept."""
        if self._denormalizes:
            raise RunFailed("unsupported: a SentencePiece model with a denormalizer")
        surfaces, byte_of, unknown = self._surfaces, self._bytes, self.unknown
        text = b""
        parts: list[bytes] = []
        run = bytearray()
        for at, id_ in enumerate(ids):
            if id_ in byte_of:
                run.append(byte_of[id_])
                continue
            if run:
                parts.append(_replaced(bytes(run)))
                run.clear()
            if id_ == unknown and pieces is not None and pieces[at] != self.pieces[unknown]:
                surface = pieces[at]
            else:
                surface = surfaces[id_]
            if not text and not any(parts) and self._drops_first_space and id_ in self._begin_with_space:
                surface = surface[1:]
            text = text or surface
            parts.append(surface)
        if run:
            parts.append(_replaced(bytes(run)))
        return b"".join(parts)


def _replaced(data: bytes) -> bytes:
    """UTF-8 with U+FFFD for each byte that is not part of a character."""
    try:
        data.decode()
    except UnicodeDecodeError:
        pass
    else:
        return data
    text: list[str] = []
    while data:
        try:
            text.append(data.decode())
            break
        except UnicodeDecodeError as error:
            text += [data[: error.start].decode(), "\N{REPLACEMENT CHARACTER}"]
            data = data[error.start + 1 :]
    return "".join(text).encode()
