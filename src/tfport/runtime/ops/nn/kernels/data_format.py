"""Conversion of axes and shapes from one data format to another."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


def _axes(data_format: str, attr: str) -> str:
    if len(set(data_format)) != len(data_format) or len(data_format) not in (4, 5):
        raise RunFailed(f"{attr} must have 4 or 5 different letters, found {data_format}")
    return data_format


@host("DataFormatDimMap")
def data_format_dim_map(x, *, src_format, dst_format):
    source, target = _axes(src_format, "src_format"), _axes(dst_format, "dst_format")
    if sorted(source) != sorted(target):
        raise RunFailed(f"src_format and dst_format must have the same letters, found {source} and {target}")
    table = np.array([target.index(letter) for letter in source], x.dtype)
    return table[x % len(source)]


@host("DataFormatVecPermute")
def data_format_vec_permute(x, *, src_format, dst_format):
    source, target = _axes(src_format, "src_format"), _axes(dst_format, "dst_format")
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[1] != 2):
        raise RunFailed(f"x must have shape (n,) or (n, 2), found {x.shape}")
    if len(x) == len(source) - 2:
        source, target = ("".join(axis for axis in axes if axis not in "NC") for axes in (source, target))
    if len(x) != len(source):
        raise RunFailed(f"x must have {len(source)} or {len(source) - 2} rows, found {len(x)}")
    if sorted(source) != sorted(target):
        raise RunFailed(f"src_format and dst_format must have the same letters, found {source} and {target}")
    return x[[source.index(letter) for letter in target]]
