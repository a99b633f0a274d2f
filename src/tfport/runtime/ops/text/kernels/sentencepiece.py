"""SentencePiece, by a model in an attribute of the graph."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import attr_bytes, scalar_value
from tfport.runtime.ops.text.sentencepiece_model import SentencepieceModel
from tfport.runtime.ops.text.tokens import splits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


@host("SentencepieceOp", once=True)
def sentencepiece_op(*, model, container, shared_name, use_node_name_sharing, context):
    data = attr_bytes(model)
    if not data:
        raise RunFailed("the attribute `model` must be a SentencePiece model")
    return context.state.resource(
        SentencepieceModel, shared_name or context.name, lambda: SentencepieceModel(data)
    )


@host("SentencepieceTokenizeOp")
def sentencepiece_tokenize(
    sp_handle, input, nbest_size, alpha, add_bos, add_eos, reverse, *, out_type, Tsplits, return_nbest
):
    texts = input.reshape(-1).tolist()
    options = _options(sp_handle, add_bos, add_eos, reverse)
    if out_type.name != "string" and not return_nbest and _is_plain(nbest_size):
        rows = [_with_added(ids, options) for ids in sp_handle.encode(texts)]
        return _ids(rows), splits_of(rows, Tsplits.numpy)
    split = _split(sp_handle, texts, nbest_size, alpha, return_nbest)
    if out_type.name != "string":
        rows = [_with_added([piece.id for piece in text.pieces], options) for text in split]
        return _ids(rows), splits_of(rows, Tsplits.numpy)
    rows = [
        _with_added([piece.piece for piece in text.pieces], _pieces(sp_handle, options)) for text in split
    ]
    return string_array(list(chain.from_iterable(rows))), splits_of(rows, Tsplits.numpy)


@host("SentencepieceTokenizeWithOffsetsOp")
def sentencepiece_tokenize_with_offsets(
    sp_handle, input, nbest_size, alpha, add_bos, add_eos, reverse, *, out_type, Tsplits, return_nbest
):
    options = _options(sp_handle, add_bos, add_eos, reverse)
    split = _split(sp_handle, input.reshape(-1).tolist(), nbest_size, alpha, return_nbest)
    # as in TensorFlow Text, pieces that are added begin and end at 0
    zeros = (0 if options[0] is not None else None, 0 if options[1] is not None else None, options[2])
    if out_type.name == "string":
        names = _pieces(sp_handle, options)
        rows = [_with_added([piece.piece for piece in text.pieces], names) for text in split]
        values = string_array(list(chain.from_iterable(rows)))
    else:
        rows = [_with_added([piece.id for piece in text.pieces], options) for text in split]
        values = _ids(rows)
    begins = [_with_added([piece.begin for piece in text.pieces], zeros) for text in split]
    ends = [_with_added([piece.end for piece in text.pieces], zeros) for text in split]
    return (
        values,
        splits_of(rows, Tsplits.numpy),
        np.array(list(chain.from_iterable(begins)), np.int64),
        np.array(list(chain.from_iterable(ends)), np.int64),
    )


def _options(model: SentencepieceModel, add_bos: Any, add_eos: Any, reverse: Any) -> tuple[Any, Any, bool]:
    """The ids to add at the beginning and at the end, and whether the order is reversed after that."""
    bos = model.added_id(model.bos_piece) if scalar_value(add_bos, "add_bos") else None
    eos = model.added_id(model.eos_piece) if scalar_value(add_eos, "add_eos") else None
    return bos, eos, bool(scalar_value(reverse, "reverse"))


def _pieces(model: SentencepieceModel, options: tuple[Any, Any, bool]) -> tuple[Any, Any, bool]:
    bos, eos, reverse = options
    return (
        None if bos is None else model.pieces[bos],
        None if eos is None else model.pieces[eos],
        reverse,
    )


def _with_added(row: list[Any], options: tuple[Any, Any, bool]) -> list[Any]:
    first, last, reverse = options
    if first is not None:
        row.insert(0, first)
    if last is not None:
        row.append(last)
    if reverse:
        row.reverse()
    return row


def _is_plain(nbest_size: NDArray[Any]) -> bool:
    """Whether all texts are split in the best way."""
    return bool(((nbest_size == 0) | (nbest_size == 1)).all())


def _split(
    model: SentencepieceModel, texts: list[bytes], nbest_size: Any, alpha: Any, return_nbest: bool
) -> list[Any]:
    if return_nbest:
        count = int(scalar_value(nbest_size, "nbest_size"))
        if count < 1:
            raise RunFailed(f"nbest_size must be positive with return_nbest, found {count}")
        return [split for text in texts for split in model.best_splits(text, count)]
    if _is_plain(nbest_size):
        return model.split(texts)
    if any(each.ndim == 1 and len(each) < len(texts) for each in (nbest_size, alpha)):
        raise RunFailed("nbest_size and alpha must be scalars, or have an element for each text")
    counts, alphas = np.broadcast_to(nbest_size, len(texts)), np.broadcast_to(alpha, len(texts))
    return [
        model.split([text])[0] if count in (0, 1) else model.sampled_split(text, count, weight)
        for text, count, weight in zip(texts, counts.tolist(), alphas.tolist(), strict=True)
    ]


def _ids(rows: list[list[int]]) -> NDArray[Any]:
    return np.array(list(chain.from_iterable(rows)), np.int32)


@host("SentencepieceDetokenizeOp")
def sentencepiece_detokenize(sp_handle, input_values, input_splits, add_bos, add_eos, reverse):
    if not input_splits.size:
        raise RunFailed("input_splits must have at least 1 element")
    check_splits(input_splits, input_values.size)
    options = _options(sp_handle, add_bos, add_eos, reverse)
    values, splits = input_values.reshape(-1).tolist(), input_splits.tolist()
    if not values:
        return string_array([b""] * (len(splits) - 1))
    if input_values.dtype == object:
        rows = [_with_added(values[a:b], _pieces(sp_handle, options)) for a, b in pairwise(splits)]
        find, unknown = sp_handle.ids.get, sp_handle.unknown
        return string_array([sp_handle.decode([find(piece, unknown) for piece in row], row) for row in rows])
    if not 0 <= min(values) <= max(values) < len(sp_handle.pieces):
        raise RunFailed(
            f"input_values must be in [0, {len(sp_handle.pieces)}), found {min(values)} and {max(values)}"
        )
    return string_array([sp_handle.decode(_with_added(values[a:b], options)) for a, b in pairwise(splits)])


@host("SentencepieceVocabSizeOp")
def sentencepiece_vocab_size(sp_handle):
    return np.array(len(sp_handle.pieces), np.int32)


@host("SentencepieceIdToStringOp")
def sentencepiece_id_to_string(sp_handle, input):
    if input.size and not 0 <= input.min() <= input.max() < len(sp_handle.pieces):
        raise RunFailed(f"ids must be in [0, {len(sp_handle.pieces)}), found {input.min()} and {input.max()}")
    return string_array([sp_handle.pieces[id_] for id_ in input.reshape(-1).tolist()], input.shape)


@host("SentencepieceStringToIdOp")
def sentencepiece_string_to_id(sp_handle, input):
    find, unknown = sp_handle.ids.get, sp_handle.unknown
    ids = [find(piece, unknown) for piece in input.reshape(-1).tolist()]
    return np.array(ids, np.int32).reshape(input.shape)
