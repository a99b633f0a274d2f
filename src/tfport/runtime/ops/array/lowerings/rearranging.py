"""Concat, split, transpose, tile, pad, reverse and roll, lowered to ONNX."""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import INT32, STRING, DType
from tfport.runtime.lower import CannotLower, constant_of, lower, rank_of
from tfport.runtime.ops.shared.lowered_sizes import (
    FIRST,
    LAST,
    axis_in,
    axis_of,
    checked,
    cut,
    numbers_of,
    over,
    settled,
    size_of,
    vector,
    whole,
)

INT16 = DType.parse("int16")


@lower("Pack")
def pack(b, values, *, axis):
    rank = next((value.rank for value in values if value.rank is not None), None)
    if rank is None:
        raise CannotLower("the rank of the inputs is unknown")
    at = axis_in(axis, rank + 1)
    parts = [_unsqueezed(b, value, at) for value in values]
    return settled(b, b.Concat(*parts, axis=at) if len(parts) > 1 else parts[0])


def _unsqueezed(b, x, axis):
    if x.array is not None:
        return b.const(np.expand_dims(x.array, axis), x.dtype)
    return b.unsqueeze(x, axis)


@lower("Unpack")
def unpack(b, value, *, num, axis):
    at = axis_in(axis, rank_of(value))
    if num == 0:
        raise CannotLower("there are no outputs")
    if num == 1:
        return [b.squeeze(value, at)]
    if value.rank == 1 and value.known is not None and len(value.known) == num:
        return [_number(b, value, i) for i in range(num)]
    parts = b.nodes("Split", value, b.ints(*[1] * num), outputs=num, axis=at)
    return [b.squeeze(part, at) for part in parts]


def _number(b, x, i):
    """One element of a vector."""
    if x.known[i] is not None:
        return b.const(x.known[i], x.dtype)
    return b.squeeze(cut(b, x, {0: (i, i + 1, 1)}), 0)


@lower("ConcatV2")
def concat_v2(b, values, axis):
    """Concatenate.

    ONNX Runtime accepts an empty tensor whose other sizes differ, TensorFlow does not; checking each
    input would cost more than the concatenation.
    """
    rank = next((value.rank for value in values if value.rank is not None), None)
    if not rank or any(value.rank not in (rank, None) for value in values):
        raise CannotLower("the ranks of the inputs are unknown or differ")
    at = axis_of(axis, rank)
    for i in range(rank):
        if i != at and len({value.shape[i] for value in values if value.shape} - {None}) > 1:
            raise CannotLower("sizes differ")
    return settled(b, b.Concat(*values, axis=at)) if len(values) > 1 else values[0]


@lower("Concat")
def concat(b, concat_dim, values):
    return concat_v2(b, values, concat_dim)


@lower("Split")
def split(b, split_dim, value, *, num_split):
    """With explicit sizes, since ONNX would make the last part smaller."""
    at = axis_of(split_dim, rank_of(value))
    if num_split == 1:
        return [value]
    size = over(b, size_of(b, value, at), num_split)
    if isinstance(size, int):
        return b.nodes("Split", value, b.ints(*[size] * num_split), outputs=num_split, axis=at)
    sizes = b.Expand(size, b.ints(num_split))
    return b.nodes("Split", value, sizes, outputs=num_split, axis=at)


@lower("SplitV")
def split_v(b, value, size_splits, split_dim, *, num_split):
    at = axis_of(split_dim, rank_of(value))
    sizes = whole(size_splits)
    if sizes is None:
        raise CannotLower("size_splits is not constant")
    if len(sizes) != num_split or any(n < -1 for n in sizes) or sizes.count(-1) > 1:
        raise CannotLower("size_splits is invalid")
    known = sum(n for n in sizes if n != -1)
    size = size_of(b, value, at)
    if -1 not in sizes:
        wanted = b.ints(*sizes)
    elif isinstance(size, int):
        wanted = b.ints(*(size - known if n == -1 else n for n in sizes))
    else:
        wanted = vector(b, [b.Sub(size, b.ints(known)) if n == -1 else n for n in sizes])
    if num_split == 1:
        return [value] if -1 in sizes or size == sizes[0] else [checked(b, value, at, sizes[0])]
    return b.nodes("Split", value, wanted, outputs=num_split, axis=at)


@lower("Transpose ConjugateTranspose")
def transpose(b, x, perm):
    if x.dtype != STRING and x.dtype.numpy.kind not in "biufV":
        raise CannotLower("ONNX has no such type")
    axes = numbers_of(perm, "perm")
    order = [axis_in(axis, len(axes)) for axis in axes]
    if x.rank not in (None, len(axes)) or len(set(order)) < len(order):
        raise CannotLower("perm is not a permutation of the axes")
    return b.Transpose(x, perm=order) if x.dtype == STRING else b.transpose(x, order)


@lower("Tile")
def tile(b, input, multiples):
    rank = rank_of(input)
    times = whole(multiples)
    if times is None:
        return b.Tile(input, b.vector(multiples))
    if len(times) != rank or any(n < 0 for n in times):
        raise CannotLower("multiples is invalid")
    return b.Tile(input, b.ints(*times)) if set(times) - {1} else input


@lower("Pad")
def pad(b, input, paddings):
    return _padded(b, input, paddings, None)


@lower("PadV2")
def pad_v2(b, input, paddings, constant_values):
    return _padded(b, input, paddings, constant_values)


def _padded(b, x, paddings, value):
    rank = rank_of(x)
    if not rank:
        raise CannotLower("ONNX Runtime does not pad scalars")
    if x.dtype == INT16:  # ONNX Runtime has no Pad for it
        wide = value if value is None else b.cast(value, INT32)
        return b.cast(_padded(b, b.cast(x, INT32), paddings, wide), INT16)
    if paddings.array is not None:
        around = _around(paddings.array, rank)
        if not around.any():
            return x
        return b.Pad(x, b.ints(*around.T.reshape(-1).tolist()), value)
    # a negative padding crops in ONNX; the reshape to a shape with its absolute value then fails
    pads = b.int64(paddings)
    padded = b.Pad(x, b.reshape(b.transpose(pads, [1, 0]), -1), value)
    sizes = b.Add(b.Shape(x), b.ReduceSum(b.Abs(pads), b.ints(1), keepdims=0))
    return b.Reshape(padded, sizes, allowzero=1)


def _around(paddings, rank):
    if paddings.shape != (rank, 2) or np.any(paddings < 0):
        raise CannotLower("paddings is invalid")
    return paddings


@lower("MirrorPad")
def mirror_pad(b, input, paddings, *, mode):
    rank = rank_of(input)
    around = _around(constant_of(paddings, "paddings"), rank)
    if mode == "REFLECT":
        if input.shape is not None and 0 in input.shape:
            raise CannotLower("the input is empty")
        return b.Pad(input, b.ints(*around.T.reshape(-1).tolist()), mode="reflect")
    padded = input
    for axis, (before, after) in enumerate(around.tolist()):
        padded = _symmetric(b, padded, axis, before, after)
    return padded


def _symmetric(b, x, axis, before, after):
    """Mirror both ends of an axis; check that it is long enough."""
    parts = [x]
    if before:
        front = cut(b, x, {axis: (before - 1, FIRST, -1)})
        parts.insert(0, checked(b, front, axis, before))
    if after:
        back = cut(b, x, {axis: (LAST, -after - 1, -1)})
        parts.append(checked(b, back, axis, after))
    return b.Concat(*parts, axis=axis) if len(parts) > 1 else x


@lower("Reverse")
def reverse(b, tensor, dims):
    transposed = np.flatnonzero(constant_of(dims, "dims")).tolist()
    return cut(b, tensor, dict.fromkeys(transposed, (LAST, FIRST, -1)))


@lower("ReverseV2")
def reverse_v2(b, tensor, axis):
    axes = [axis_in(number, rank_of(tensor)) for number in numbers_of(axis, "the axis")]
    if len(set(axes)) < len(axes):
        raise CannotLower("an axis is repeated")
    return cut(b, tensor, dict.fromkeys(axes, (LAST, FIRST, -1)))


@lower("ReverseSequence")
def reverse_sequence(b, input, seq_lengths, *, seq_dim, batch_dim):
    rank = rank_of(input)
    along, batch = axis_in(seq_dim, rank), axis_in(batch_dim, rank)
    if along == batch:
        raise CannotLower("seq_dim and batch_dim are the same")
    lengths = b.int64(seq_lengths)
    if {along, batch} == {0, 1}:
        return b.ReverseSequence(input, lengths, batch_axis=batch, time_axis=along)
    order = [batch, along, *(i for i in range(rank) if i not in (batch, along))]
    transposed = b.ReverseSequence(b.transpose(input, order), lengths, batch_axis=0, time_axis=1)
    return b.transpose(transposed, np.argsort(order).tolist())


@lower("Roll")
def roll(b, input, shift, axis):
    rank = rank_of(input)
    shifts, axes = numbers_of(shift, "shift"), numbers_of(axis, "the axis")
    if len(shifts) != len(axes):
        raise CannotLower("shift and axis differ in length")
    rolled = input
    for by, number in zip(shifts, axes, strict=True):
        rolled = _rolled(b, rolled, by, axis_in(number, rank))
    return rolled


def _rolled(b, x, by, axis):
    """Swap the two parts of an axis."""
    size = size_of(b, x, axis)
    if isinstance(size, int):
        at = -by % size if size else 0
        if not at:
            return x
        ahead, behind = cut(b, x, {axis: (0, at, 1)}), cut(b, x, {axis: (at, LAST, 1)})
        rolled = b.Concat(behind, ahead, axis=axis)
    else:
        at = b.Mod(b.ints(-by), b.Max(size, b.ints(1)))
        ahead = b.Slice(x, b.ints(0), at, b.ints(axis))
        rolled = b.Concat(b.Slice(x, at, b.ints(LAST), b.ints(axis)), ahead, axis=axis)
    rolled.shape = x.shape
    return rolled
