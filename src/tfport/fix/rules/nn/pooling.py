"""Pooling: padding and windows said in other ops."""

from __future__ import annotations

import numpy as np

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.fix.rules.nn.windows import explicit_pads, padded, unpadded, without
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node

LEAST_BFLOAT16 = -float.fromhex("0x1.fep127")


@rule("MaxPool", keeps=EXACT)
def padded_with_the_least(op: NodeBuilder, n: Node) -> Replacement:
    """Explicit padding is PadV2 with the least number, which is where looking for the largest begins."""
    if n.attrs["padding"] != "EXPLICIT":
        return refuse(f"its padding is {n.attrs['padding']}")
    kind = n.attrs["T"]
    if not isinstance(kind, DType) or kind.is_quantized:
        return refuse(f"it pools {kind}")
    wide = padded(op, n.inputs[0], explicit_pads(n), like=_least(kind))
    return op.MaxPool(wide, **unpadded(n))


def _least(kind: DType) -> float:
    if kind.is_integer:
        return int(np.iinfo(kind.numpy).min)
    return LEAST_BFLOAT16 if kind.name == "bfloat16" else float(np.finfo(kind.numpy).min)


@rule("MaxPoolV2 MaxPoolGradV2 MaxPoolGradGradV2", keeps=EXACT)
def with_constant_windows(op: NodeBuilder, n: Node) -> Replacement:
    """Windows and strides that are constant can be attributes."""
    *rest, size, stride = n.inputs
    windows, strides = op.constant(size), op.constant(stride)
    if windows is None or strides is None:
        return refuse("its windows and strides are computed")
    attrs = {"ksize": windows.tolist(), "strides": strides.tolist()}
    return op.node(n.op.removesuffix("V2"), *rest, **n.attrs, **attrs)


@rule("MaxPool", keeps=EXACT)
def with_windows_as_inputs(op: NodeBuilder, n: Node) -> Replacement:
    """MaxPoolV2 is given windows and strides as inputs."""
    if n.attrs["padding"] == "EXPLICIT":
        return refuse("MaxPoolV2 has no explicit padding")
    if n.attrs["data_format"] != "NHWC":
        return refuse(f"MaxPoolV2 refuses {n.attrs['data_format']} on a CPU")
    return op.MaxPoolV2(
        *n.inputs, n.attrs["ksize"], n.attrs["strides"], **without(n, "ksize", "strides", "explicit_paddings")
    )


@rule("MaxPoolWithArgmax", keeps=EXACT)
def counted_in_each_image(op: NodeBuilder, n: Node) -> Replacement:
    """Counting over the whole batch is counting in each image, and the images before."""
    if not n.attrs["include_batch_in_index"]:
        return refuse("it counts in each image")
    kind = n.attrs["Targmax"]
    made = op.MaxPoolWithArgmax(*n.inputs, **without(n, "include_batch_in_index"))
    shape = op.Shape(n.inputs[0], out_type=kind)
    length = op.Prod(op.StridedSlice(shape, [1], [0], [1], end_mask=1), [0])
    batch = op.StridedSlice(shape, [0], [1], [1], shrink_axis_mask=1)
    images = op.Range(0, batch, 1)
    before = op.Reshape(op.Mul(images, length), [-1, 1, 1, 1])
    return [made.output(0), op.Add(made.output(1), before)]
