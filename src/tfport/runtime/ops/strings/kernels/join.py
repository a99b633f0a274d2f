"""Strings put together: element by element, along axes, by segment, and as n-grams."""

from __future__ import annotations

import itertools

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import attr_bytes, checked_splits, scalar_value, string_array


@host("StringJoin")
def string_join(inputs, *, separator, N):
    if not inputs:
        return string_array([b""], ())
    shapes = list(dict.fromkeys(array.shape for array in inputs if array.ndim))
    if len(shapes) > 1:
        raise RunFailed(f"the shapes {' and '.join(str(list(shape)) for shape in shapes[:2])} differ")
    shape = shapes[0] if shapes else ()
    columns = [np.broadcast_to(array, shape).reshape(-1).tolist() for array in inputs]
    return string_array(list(map(attr_bytes(separator).join, zip(*columns, strict=True))), shape)


@host("ReduceJoin")
def reduce_join(inputs, reduction_indices, *, keep_dims, separator):
    axes = [_axis(axis, inputs.ndim) for axis in reduction_indices.reshape(-1).tolist()]
    if len(set(axes)) < len(axes):
        raise RunFailed("an axis is to be reduced twice")
    kept = [axis for axis in range(inputs.ndim) if axis not in axes]
    # the axis that is named first runs fastest
    turned = inputs.transpose(*kept, *reversed(axes))
    rows = turned.reshape((*turned.shape[: len(kept)], -1)) if turned.size else None
    shape = [inputs.shape[axis] for axis in kept]
    if rows is None:
        made = string_array([b""] * int(np.prod(shape)), shape)
    else:
        made = string_array(
            [attr_bytes(separator).join(row) for row in rows.reshape(-1, rows.shape[-1]).tolist()], shape
        )
    return np.expand_dims(made, tuple(axes)) if keep_dims else made


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise RunFailed(f"there is no axis {axis} in an array of {rank}")
    return axis % rank


@host("UnsortedSegmentJoin")
def unsorted_segment_join(inputs, segment_ids, num_segments, *, separator):
    count = int(scalar_value(num_segments, "the number of segments"))
    if count < 0:
        raise RunFailed(f"there cannot be {count} segments")
    if not segment_ids.ndim:
        raise RunFailed("segment_ids is a scalar")
    if inputs.shape[: segment_ids.ndim] != segment_ids.shape:
        raise RunFailed(f"segments {list(segment_ids.shape)} do not fit inputs {list(inputs.shape)}")
    ids = segment_ids.reshape(-1)
    if ids.size and (ids.min() < 0 or ids.max() >= count):
        raise RunFailed(f"a segment is not among {count}")
    inner = inputs.shape[segment_ids.ndim :]
    rows = inputs.reshape(len(ids), int(np.prod(inner)))
    found: list[list[list[bytes]]] = [[[] for _ in range(rows.shape[1])] for _ in range(count)]
    for segment, row in zip(ids.tolist(), rows.tolist(), strict=True):
        for place, text in zip(found[segment], row, strict=True):
            place.append(text)
    joined = [attr_bytes(separator).join(place) for segment in found for place in segment]
    return string_array(joined, (count, *inner))


@host("StringNGrams")
def string_ngrams(
    data,
    data_splits,
    *,
    separator,
    ngram_widths,
    left_pad,
    right_pad,
    pad_width,
    preserve_short_sequences,
):
    if any(width <= 0 for width in ngram_widths):
        raise RunFailed("an n-gram needs a positive width")
    words = data.reshape(-1).tolist()
    if not data_splits.size:
        # TensorFlow answers as many empty strings as there are words
        return string_array([b""] * len(words)), data_splits
    splits = checked_splits(data_splits.tolist(), len(words))
    left, right, glue = attr_bytes(left_pad), attr_bytes(right_pad), attr_bytes(separator)
    found: list[bytes] = []
    ends = [0]
    for start, end in itertools.pairwise(splits):
        sentence = words[start:end]
        some = False
        for width in ngram_widths:
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            padded = [left] * pad + sentence + [right] * pad
            grams = [glue.join(padded[i : i + width]) for i in range(len(padded) - width + 1)]
            found += grams
            some = some or bool(grams)
        if preserve_short_sequences and not some and sentence:
            if pad_width < 0:
                raise RunFailed("short sequences cannot be kept without widths and without a padding")
            found.append(glue.join([left] * pad_width + sentence + [right] * pad_width))
        ends.append(len(found))
    return string_array(found), np.array(ends)
