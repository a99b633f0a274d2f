"""BiasAdd, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.onnx_layouts import with_channels


@lower("BiasAdd")
def bias_add(b, value, bias, *, data_format):
    return add_bias(b, value, bias, data_format)


@lower("BiasAddV1")
def bias_add_v1(b, value, bias):
    return add_bias(b, value, bias, "NHWC")


def add_bias(b: Builder, value: Operand, bias: Operand, data_format: str) -> Operand:
    """Add `bias` along the channels, with a check of its size, since ONNX would broadcast other sizes."""
    rank = rank_of(value)
    if rank < 2 or bias.rank != 1 or (rank < 3 and data_format != "NHWC"):
        raise CannotLower(f"the ranks are invalid for BiasAdd: {rank} and {bias.rank}")
    axis = 1 if data_format.startswith("NC") else rank - 1
    assert value.shape is not None
    assert bias.shape is not None
    if bias.shape[0] is None:
        raise CannotLower("the size of the bias is unknown")
    value = with_channels(b, value, axis, bias.shape[0])
    return b.Add(value, b.reshape(bias, -1, *[1] * (rank - axis - 1)) if axis < rank - 1 else bias)
