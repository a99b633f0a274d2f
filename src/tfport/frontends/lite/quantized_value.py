"""Quantized tensors while a graph is built.

Engines multiply unsigned activations by signed weights fastest, so the activations of int8 models are
computed as uint8: 128 is added to each value and zero point. `LiteUnsigned` and `LiteSigned` convert; they
are left out where one follows the other, also through ops that only move values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.lite.records import LiteTensor
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.fixed_point import round_away
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.tensors import Tensor
from tfport.startup.dataclass import dataclass

UINT8, INT8, INT16 = (DType.parse(name) for name in ("uint8", "int8", "int16"))
SHIFT = 128
"""What is added to int8 values."""
OFFSETS = {"INT8": SHIFT, "UINT8": 0, "INT16": 0}
LIMITS = {"INT8": (0, 255), "UINT8": (0, 255), "INT16": (-32768, 32767)}
"""The values that a type has in the graph."""
RANGES = {
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}
MOVERS = (
    "BatchToSpaceND", "BroadcastTo", "DepthToSpace", "ExpandDims", "GatherV2", "Identity", "Max", "Min",
    "MirrorPad", "PadV2", "Reshape", "ResizeNearestNeighbor", "ReverseV2", "Slice", "SpaceToBatchND",
    "SpaceToDepth", "Split", "SplitV", "Squeeze", "StridedSlice", "Tile", "Transpose", "Unpack",
)  # fmt: skip
"""Ops whose outputs have values of one input, and nothing else but what PadV2 adds."""


@dataclass(frozen=True, slots=True)
class QuantizedValue:
    """An input of a quantized operator, as uint8 or int16."""

    value: Value
    scale: np.float32
    zero_point: int


@dataclass(frozen=True, slots=True)
class QuantizedOutput:
    """What the file says about an output, for uint8 or int16."""

    type: str
    scale: np.float32
    zero_point: int
    low: int
    """The smallest value after the activation."""
    high: int
    signed: bool
    """Whether the file has int8."""

    @property
    def dtype(self) -> DType:
        return INT16 if self.type == "INT16" else UINT8

    @property
    def limits(self) -> dict[str, int]:
        """Attributes of most quantized ops."""
        return {"y_zero": self.zero_point, "low": self.low, "high": self.high}

    @property
    def is_clipped(self) -> bool:
        return (self.low, self.high) != LIMITS[self.type]


def quantized_input(b: OperatorBuilder, x: LiteValue) -> QuantizedValue:
    """An input as uint8 or int16; CannotRun if it is neither quantized as a whole nor of these types."""
    check_quantized(b, x.record)
    if x.type != "INT8":
        return QuantizedValue(x.value, np.float32(x.scale), x.zero_point)
    return QuantizedValue(unsigned(b, x), np.float32(x.scale), x.zero_point + SHIFT)


def check_quantized(b: OperatorBuilder, tensor: LiteTensor) -> None:
    """CannotRun unless a tensor has a type for activations, and one scale."""
    quantization = tensor.quantization
    if quantization is None or not quantization.scale:
        raise b.refuse(f"the tensor `{tensor.name}` has no scale")
    if tensor.type not in OFFSETS:
        raise b.refuse(f"activations of type {tensor.type.lower()} are not supported")
    if quantization.is_per_channel:
        raise b.refuse(f"the tensor `{tensor.name}` has a scale for each channel")


def quantized_output(b: OperatorBuilder, activation: str | int = "NONE", index: int = 0) -> QuantizedOutput:
    """An output, with the range of its activation."""
    record = b.outputs[index]
    check_quantized(b, record)
    assert record.quantization is not None
    scale, points = np.float32(record.quantization.scale[0]), record.quantization.zero_point
    zero_point = (points[0] if points else 0) + OFFSETS[record.type]
    low, high = LIMITS[record.type]
    if activation != "NONE":
        if activation not in RANGES:
            raise b.refuse(f"the activation {activation} is not supported")
        least, most = RANGES[str(activation)]
        low = max(low, zero_point + _steps(least, scale))
        high = high if most is None else min(high, zero_point + _steps(most, scale))
    return QuantizedOutput(record.type, scale, zero_point, low, high, record.type == "INT8")


def _steps(real: float, scale: np.float32) -> int:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = round_away(np.float32(real) / scale)
    if not np.isfinite(steps):
        raise CannotRun(f"the scale {scale} of an output is not a positive number")
    return int(steps)


def as_stored(b: OperatorBuilder, value: Any, index: int = 0) -> Value:
    """A computed output in the type of the file."""
    plain = b.value(value)
    return b.LiteSigned(plain).output(0) if b.outputs[index].type == "INT8" else plain


def unsigned(b: OperatorBuilder, x: LiteValue) -> Value:
    """An int8 value as uint8."""
    if x.load is not None:
        return b.lazy_constant(_shifted(x.load), UINT8, x.record.shape)
    return _unsigned(b, x.value)


def _unsigned(b: OperatorBuilder, value: Value) -> Value:
    node = value.node
    if node.op == "LiteSigned":
        return node.inputs[0]
    if node.op in MOVERS and _ends_signed(_moved(node)):
        attrs = {name: attr for name, attr in node.attrs.items() if name != "T"}
        shapes = attrs.pop("_output_shapes", None)
        inputs = [_unsigned(b, value) if value is _moved(node) else value for value in node.inputs]
        if node.op == "PadV2":
            inputs[2] = _unsigned_constant(b, inputs[2])
        moved = b.node(node.op, *inputs, **attrs)
        if shapes is not None:
            moved.attrs["_output_shapes"] = shapes
        return moved.output(value.index)
    return b.LiteUnsigned(value).output(0)


def _unsigned_constant(b: OperatorBuilder, value: Value) -> Value:
    tensor = value.node.attrs.get("value")
    if isinstance(tensor, Tensor):
        return b.const(_shifted(tensor.numpy)(), UINT8)
    return b.LiteUnsigned(value).output(0)


def _ends_signed(value: Value) -> bool:
    while value.node.op in MOVERS:
        value = _moved(value.node)
    return value.node.op == "LiteSigned"


def _moved(node: Node) -> Value:
    """The input whose values an op moves."""
    return node.inputs[1 if node.op == "Split" else 0]


def _shifted(load: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: np.asarray(load().astype(np.int16) + SHIFT, np.uint8)
