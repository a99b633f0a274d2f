"""Biases of channels, what a data format does to axes, and whether an answer is among the first k."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.windows import wide


def _channel(rank: int, data_format: str) -> int:
    return 1 if data_format.startswith("NC") else rank - 1


@host("BiasAdd")
def bias_add(value, bias, *, data_format):
    return _with_bias(value, bias, data_format)


@host("BiasAddV1")
def bias_add_v1(value, bias):
    return _with_bias(value, bias, "NHWC")


def _with_bias(value: Any, bias: Any, data_format: str) -> Any:
    if value.ndim < 2:
        raise RunFailed(f"the value must have at least 2 axes, found {value.ndim}")
    if bias.ndim != 1:
        raise RunFailed(f"the bias must be a vector, found {bias.ndim} axes")
    axis = _channel(value.ndim, data_format)
    if axis == 1 and value.ndim < 3 and data_format != "NHWC":
        raise RunFailed("the value must have at least 3 axes in this layout, found 2")
    if value.shape[axis] != len(bias):
        raise RunFailed(f"{len(bias)} biases do not fit {value.shape[axis]} channels")
    return value + bias.reshape(-1, *[1] * (value.ndim - axis - 1))


@host("BiasAddGrad")
def bias_add_grad(out_backprop, *, data_format):
    if out_backprop.ndim < 2:
        raise RunFailed(f"the gradient must have at least 2 axes, found {out_backprop.ndim}")
    axis = _channel(out_backprop.ndim, data_format)
    others = tuple(i for i in range(out_backprop.ndim) if i != axis)
    return wide(out_backprop).sum(others, dtype=wide(out_backprop).dtype)


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


@host("InTopK")
def in_top_k(predictions, targets, *, k):
    return _among_first(predictions, targets, k)


@host("InTopKV2")
def in_top_k_v2(predictions, targets, k):
    return _among_first(predictions, targets, int(k))


def _among_first(predictions: Any, targets: Any, k: int) -> Any:
    """Fewer than k are larger; nothing is among the first where a prediction that counts is not finite."""
    if predictions.ndim != 2 or targets.ndim != 1 or len(targets) != len(predictions):
        raise RunFailed(f"{targets.shape} targets do not fit {predictions.shape} predictions")
    classes = predictions.shape[1]
    inside = (targets >= 0) & (targets < classes)
    if not classes:
        return np.zeros(len(targets), bool)
    own = np.take_along_axis(predictions, np.where(inside, targets, 0)[:, None], 1)
    finite = np.isfinite(predictions).all(1)
    return inside & finite & ((predictions > own).sum(1) < k)
