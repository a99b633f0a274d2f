"""NgramsStringJoin: neighboring strings of a row, joined."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import attr_bytes


@host("TFText>NgramsStringJoin")
def ngrams_string_join(input_values, input_row_splits, *, width, axis, string_separator):
    if width < 1 or axis != -1:
        raise RunFailed(f"width must be positive and axis -1, found {width} and {axis}")
    separator = attr_bytes(string_separator)
    if not input_row_splits:
        if not input_values.ndim or not input_values.shape[-1]:
            raise RunFailed(f"input_values must have rows, found shape {list(input_values.shape)}")
        rows = input_values.reshape(-1, input_values.shape[-1]).tolist()
        joined = [_joined(row, width, separator) for row in rows]
        shape = (*input_values.shape[:-1], max(0, input_values.shape[-1] - width + 1))
        return string_array([each for row in joined for each in row], shape), []
    check_splits(input_row_splits[-1], len(input_values))
    values = input_values.tolist()
    joined = [_joined(values[a:b], width, separator) for a, b in pairwise(input_row_splits[-1].tolist())]
    inner = np.cumsum([0, *map(len, joined)]).astype(input_row_splits[-1].dtype)
    return string_array([each for row in joined for each in row]), [*input_row_splits[:-1], inner]


def _joined(row: list[bytes], width: int, separator: bytes) -> list[bytes]:
    return [separator.join(row[at : at + width]) for at in range(len(row) - width + 1)]
