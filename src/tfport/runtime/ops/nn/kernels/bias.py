"""BiasAdd and its gradient."""

from __future__ import annotations

from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen


def _channel_axis(rank: int, data_format: str) -> int:
    return 1 if data_format.startswith("NC") else rank - 1


@host("BiasAdd")
def bias_add(value, bias, *, data_format):
    return _add_bias(value, bias, data_format)


@host("BiasAddV1")
def bias_add_v1(value, bias):
    return _add_bias(value, bias, "NHWC")


def _add_bias(value: Any, bias: Any, data_format: str) -> Any:
    if value.ndim < 2:
        raise RunFailed(f"the value must have at least 2 axes, found {value.ndim}")
    if bias.ndim != 1:
        raise RunFailed(f"the bias must be a vector, found {bias.ndim} axes")
    axis = _channel_axis(value.ndim, data_format)
    if axis == 1 and value.ndim < 3 and data_format != "NHWC":
        raise RunFailed(f"the value must have at least 3 axes for {data_format}, found 2")
    if value.shape[axis] != len(bias):
        raise RunFailed(f"the bias must have {value.shape[axis]} elements, found {len(bias)}")
    return value + bias.reshape(-1, *[1] * (value.ndim - axis - 1))


@host("BiasAddGrad")
def bias_add_grad(out_backprop, *, data_format):
    if out_backprop.ndim < 2:
        raise RunFailed(f"the gradient must have at least 2 axes, found {out_backprop.ndim}")
    axis = _channel_axis(out_backprop.ndim, data_format)
    others = tuple(i for i in range(out_backprop.ndim) if i != axis)
    return widen(out_backprop).sum(others, dtype=widen(out_backprop).dtype)
