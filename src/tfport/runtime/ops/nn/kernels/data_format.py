"""Axes and shapes of one data format in another."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


def _letters(text: str, what: str) -> str:
    if len(set(text)) != len(text) or len(text) not in (4, 5):
        raise RunFailed(f"{what} must be 4 or 5 different letters, found {text}")
    return text


@host("DataFormatDimMap")
def data_format_dim_map(x, *, src_format, dst_format):
    source, target = _letters(src_format, "src_format"), _letters(dst_format, "dst_format")
    if sorted(source) != sorted(target):
        raise RunFailed(f"{source} and {target} have different letters")
    table = np.array([target.index(letter) for letter in source], x.dtype)
    return table[x % len(source)]


@host("DataFormatVecPermute")
def data_format_vec_permute(x, *, src_format, dst_format):
    source, target = _letters(src_format, "src_format"), _letters(dst_format, "dst_format")
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[1] != 2):
        raise RunFailed(f"expected a vector, or pairs, found the shape {x.shape}")
    if len(x) == len(source) - 2:
        source, target = (
            "".join(letter for letter in text if letter not in "NC") for text in (source, target)
        )
    if len(x) != len(source):
        raise RunFailed(f"expected {len(source)} or {len(source) - 2} elements, found {len(x)}")
    if sorted(source) != sorted(target):
        raise RunFailed(f"{source} and {target} have different letters")
    return x[[source.index(letter) for letter in target]]
