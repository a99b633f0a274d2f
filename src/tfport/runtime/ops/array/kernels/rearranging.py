"""Concat, split, transpose, tile, pad, reverse and roll, for elements of any type."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.shared.axes import axis_in, full, zero_of
from tfport.runtime.ops.shared.precision import wide_type


@host("Pack")
def pack(values, *, axis):
    return np.stack(values, axis_in(axis, values[0].ndim + 1))


@quick(pack)
def pack_scalars(groups, attrs):
    """Most packed values are the sizes of a shape, or one tensor that becomes a batch."""
    (values,) = groups
    if len(values) == 1 and attrs["axis"] == 0 and values[0].dtype.name != "variant":
        return lambda value: value[np.newaxis]
    if not values or not values[0].dtype.is_integer:
        return None
    dtype = values[0].dtype.numpy

    def packed(*arrays):
        numbers = [array.item() for array in arrays if not array.ndim]
        return np.array(numbers, dtype) if len(numbers) == len(arrays) else None

    return packed if all(value.rank in (0, None) for value in values) else None


@host("Unpack")
def unpack(value, *, num, axis):
    at = axis_in(axis, value.ndim)
    if value.shape[at] != num:
        raise RunFailed(f"axis {at} must have size {num}, found {value.shape[at]}")
    front = np.moveaxis(value, at, 0)
    return [np.asarray(front[i, ...], order="C") for i in range(num)]


@host("ConcatV2")
def concat_v2(values, axis):
    if not values[0].ndim:
        raise RunFailed("scalars cannot be concatenated")
    at = axis_in(axis, values[0].ndim)
    if len(values) == 2 and values[0].ndim == values[1].ndim == 1:
        first, second = values  # often one of them is empty padding
        if not len(first) or not len(second):
            return second if len(second) else first
    return np.concatenate(values, at)


@host("Concat")
def concat(concat_dim, values):
    return concat_v2(values, concat_dim)


@host("ParallelConcat")
def parallel_concat(values, *, shape):
    """Concatenate values of one row each."""
    if any(value.shape[:1] != (1,) for value in values):
        raise RunFailed(
            f"each value must have one row, found shapes {[list(value.shape) for value in values]}"
        )
    return np.concatenate(values)


@host("Split")
def split(split_dim, value, *, num_split):
    return np.split(value, num_split, axis_in(split_dim, value.ndim, "split_dim"))


@host("SplitV")
def split_v(value, size_splits, split_dim, *, num_split):
    at = axis_in(split_dim, value.ndim, "split_dim")
    sizes = [int(n) for n in size_splits.reshape(-1)]
    whole = value.shape[at]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = whole - sum(n for n in sizes if n != -1)
    if any(n < 0 for n in sizes) or sum(sizes) != whole or len(sizes) != num_split:
        raise RunFailed(f"axis {at} of size {whole} cannot be split into {size_splits.tolist()}")
    return np.split(value, np.cumsum(sizes)[:-1], at)


@host("Transpose ConjugateTranspose")
def transpose(x, perm, *, context):
    if perm.shape != (x.ndim,):
        raise RunFailed(f"perm must have {x.ndim} elements, found shape {list(perm.shape)}")
    order = [axis_in(axis, x.ndim, "perm") for axis in perm]
    if len(set(order)) != x.ndim:
        raise RunFailed(f"perm {perm.tolist()} is not a permutation")
    transposed = np.transpose(x, order)
    conjugate = context.op == "ConjugateTranspose" and x.dtype.kind == "c"
    return np.conj(transposed) if conjugate else np.asarray(transposed, order="C")


@host("Tile")
def tile(input, multiples):
    _check_length(multiples, input, "multiples")
    times = multiples.tolist()
    if min(times, default=0) < 0:
        raise RunFailed(f"multiples must not be negative, found {times}")
    return input if times.count(1) == len(times) else np.tile(input, times)


@host("Pad")
def pad(input, paddings):
    return _padded(input, paddings, zero_of(input.dtype))


@host("PadV2")
def pad_v2(input, paddings, constant_values):
    return _padded(input, paddings, constant_values[()])


def _padded(x, paddings, value):
    around = _paddings(x, paddings)
    padded = full(
        (before + n + after for n, (before, after) in zip(x.shape, around, strict=True)), value, x.dtype
    )
    padded[tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, around, strict=True))] = x
    return padded


def _paddings(x, paddings):
    if paddings.shape != (x.ndim, 2):
        raise RunFailed(f"paddings must have shape [{x.ndim}, 2], found {list(paddings.shape)}")
    around = paddings.tolist()
    if any(before < 0 or after < 0 for before, after in around):
        raise RunFailed(f"paddings must not be negative, found {around}")
    return around


@host("MirrorPad")
def mirror_pad(input, paddings, *, mode):
    around = _mirrored(_paddings(input, paddings), input.shape, mode)
    return np.pad(input, around, mode=mode.lower()) if around else input


@host("MirrorPadGrad")
def mirror_pad_grad(input, paddings, *, mode):
    """Add the gradients of mirrored elements to their sources, axis by axis."""
    around = _paddings(input, paddings)
    inner = [n - before - after for n, (before, after) in zip(input.shape, around, strict=True)]
    _mirrored(around, inner, mode)
    skip = int(mode == "REFLECT")
    wide = wide_type(input.dtype)
    grad = input.astype(wide)
    for axis, ((before, after), n) in enumerate(zip(around, inner, strict=True)):
        moved = np.moveaxis(grad, axis, 0)
        kept = moved[before : before + n].copy()
        kept[skip : skip + before] += moved[:before][::-1]
        kept[n - skip - after : n - skip] += moved[before + n :][::-1]
        grad = np.moveaxis(kept, 0, axis)
    return grad.astype(input.dtype)


def _mirrored(around, sizes, mode):
    for (before, after), n in zip(around, sizes, strict=True):
        paddings = f"{before}, {after}"
        if mode == "REFLECT" and max(before, after) >= n:
            raise RunFailed(f"paddings must be less than the dimension size: {paddings} not less than {n}")
        if max(before, after) > n:
            raise RunFailed(
                f"paddings must be no greater than the dimension size: {paddings} greater than {n}"
            )
    return around


@host("Reverse")
def reverse(tensor, dims):
    if dims.shape != (tensor.ndim,):
        raise RunFailed(f"dims must have {tensor.ndim} elements, found {dims.size}")
    return np.flip(tensor, tuple(np.flatnonzero(dims)))


@host("ReverseV2")
def reverse_v2(tensor, axis):
    axes = [axis_in(number, tensor.ndim) for number in axis.reshape(-1)]
    if len(set(axes)) != len(axes):
        raise RunFailed(f"axis {axis.tolist()} has a duplicate")
    return np.flip(tensor, tuple(axes))


@host("ReverseSequence")
def reverse_sequence(input, seq_lengths, *, seq_dim, batch_dim):
    along, batch = axis_in(seq_dim, input.ndim, "seq_dim"), axis_in(batch_dim, input.ndim, "batch_dim")
    size = input.shape[along]
    if along == batch or seq_lengths.shape != (input.shape[batch],):
        raise RunFailed(
            f"seq_lengths must have shape [{input.shape[batch]}], found {list(seq_lengths.shape)}"
        )
    for at, length in enumerate(seq_lengths.tolist()):
        if not 0 <= length <= size:
            raise RunFailed(f"seq_lens({at}) {'< 0' if length < 0 else f'> input.dims({along})'}")
    indices, lengths = np.arange(size), seq_lengths.astype(np.int64)[:, None]
    source = np.where(indices < lengths, lengths - 1 - indices, indices)
    shape = [1] * input.ndim
    shape[batch], shape[along] = input.shape[batch], size
    return np.take_along_axis(input, (source if batch < along else source.T).reshape(shape), along)


@host("Roll")
def roll(input, shift, axis):
    if shift.shape != axis.shape or shift.ndim > 1:
        raise RunFailed(
            "shift and axis must be scalars or vectors of the same length, "
            f"found shapes {list(shift.shape)} and {list(axis.shape)}"
        )
    axes = [axis_in(number, input.ndim) for number in axis.reshape(-1)]
    return np.roll(input, tuple(int(n) for n in shift.reshape(-1)), tuple(axes))


@host("TileGrad")
def tile_grad(input, multiples):
    """Sum over all copies."""
    _check_length(multiples, input, "multiples")
    shape = [
        n for size, m in zip(input.shape, multiples.tolist(), strict=True) for n in (m, size // max(m, 1))
    ]
    return input.reshape(shape).sum(tuple(range(0, 2 * input.ndim, 2)), dtype=input.dtype)


def _check_length(numbers, x, what):
    if numbers.shape != (x.ndim,):
        raise RunFailed(f"{what} must have {x.ndim} elements, found shape {list(numbers.shape)}")
