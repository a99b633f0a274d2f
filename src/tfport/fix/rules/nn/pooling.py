"""Pooling: padding and windows by other ops."""

from __future__ import annotations

import numpy as np

from tfport.fix.nodes.attrs import attrs_without
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.fix.rules.nn.windows import explicit_pads, padded, unpadded
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node

LEAST_BFLOAT16 = -float.fromhex("0x1.fep127")


@rule("MaxPool", keeps=EXACT)
def padded_with_the_least(op: NodeBuilder, n: Node) -> Replacement:
    """Explicit padding becomes PadV2 with the lowest number, which the maximum ignores."""
    if n.attrs["padding"] != "EXPLICIT":
        return refuse(f"its padding is {n.attrs['padding']}")
    kind = n.attrs["T"]
    if not isinstance(kind, DType) or kind.is_quantized:
        return refuse(f"its dtype is {kind}")
    wide = padded(op, n.inputs[0], explicit_pads(n), like=_least(kind))
    return op.MaxPool(wide, **unpadded(n))


def _least(kind: DType) -> float:
    if kind.is_integer:
        return int(np.iinfo(kind.numpy).min)
    return LEAST_BFLOAT16 if kind.name == "bfloat16" else float(np.finfo(kind.numpy).min)


@rule("MaxPoolV2 MaxPoolGradV2 MaxPoolGradGradV2", keeps=EXACT)
def with_constant_windows(op: NodeBuilder, n: Node) -> Replacement:
    """Constant windows and strides become attributes."""
    *rest, size, stride = n.inputs
    windows, strides = op.constant(size), op.constant(stride)
    if windows is None or strides is None:
        return refuse("its windows and strides are not constant")
    attrs = {"ksize": windows.tolist(), "strides": strides.tolist()}
    return op.node(n.op.removesuffix("V2"), *rest, **n.attrs, **attrs)


@rule("MaxPool", keeps=EXACT)
def with_windows_as_inputs(op: NodeBuilder, n: Node) -> Replacement:
    """MaxPoolV2 takes windows and strides as inputs."""
    if n.attrs["padding"] == "EXPLICIT":
        return refuse("MaxPoolV2 does not support explicit padding")
    if n.attrs["data_format"] != "NHWC":
        return refuse(f"MaxPoolV2 does not support data_format={n.attrs['data_format']} on a CPU")
    return op.MaxPoolV2(
        *n.inputs,
        n.attrs["ksize"],
        n.attrs["strides"],
        **attrs_without(n, "ksize", "strides", "explicit_paddings"),
    )


@rule("MaxPoolWithArgmax", keeps=EXACT)
def counted_in_each_image(op: NodeBuilder, n: Node) -> Replacement:
    """The index in each image, plus the offset of the image in the batch."""
    if not n.attrs["include_batch_in_index"]:
        return refuse("its indices do not include the batch")
    kind = n.attrs["Targmax"]
    made = op.MaxPoolWithArgmax(*n.inputs, **attrs_without(n, "include_batch_in_index"))
    shape = op.Shape(n.inputs[0], out_type=kind)
    length = op.Prod(op.StridedSlice(shape, [1], [0], [1], end_mask=1), [0])
    batch = op.StridedSlice(shape, [0], [1], [1], shrink_axis_mask=1)
    images = op.Range(0, batch, 1)
    before = op.Reshape(op.Mul(images, length), [-1, 1, 1, 1])
    return [made.output(0), op.Add(made.output(1), before)]
