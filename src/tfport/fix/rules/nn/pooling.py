"""Pooling: padding and windows by other ops; and what sliding windows over images have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.fix.nodes.builder import RuleBuilder, attrs_without
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.building.arrays import pad
from tfport.graph.building.sizes import Size, Sizes
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node

LEAST_BFLOAT16 = -float.fromhex("0x1.fep127")


@rule("MaxPool", keeps=EXACT)
def padded_with_the_least(op: RuleBuilder, n: Node) -> Replacement:
    """Explicit padding becomes PadV2 with the lowest number, which the maximum ignores."""
    if n.attrs["padding"] != "EXPLICIT":
        return refuse(f"its padding is {n.attrs['padding']}")
    dtype = n.attrs["T"]
    if not isinstance(dtype, DType) or dtype.is_quantized:
        return refuse(f"its dtype is {dtype}")
    wide = pad(op, n.inputs[0], explicit_pads(n), _least(dtype))
    return op.MaxPool(wide, **unpadded(n))


def _least(dtype: DType) -> float:
    if dtype.is_integer:
        return int(np.iinfo(dtype.numpy).min)
    return LEAST_BFLOAT16 if dtype.name == "bfloat16" else float(np.finfo(dtype.numpy).min)


@rule("MaxPoolV2 MaxPoolGradV2 MaxPoolGradGradV2", keeps=EXACT)
def with_constant_windows(op: RuleBuilder, n: Node) -> Replacement:
    """Constant windows and strides become attributes."""
    *rest, size, stride = n.inputs
    windows, strides = op.array(size), op.array(stride)
    if windows is None or strides is None:
        return refuse("its windows and strides are not constant")
    attrs = {"ksize": windows.tolist(), "strides": strides.tolist()}
    return op.node(n.op.removesuffix("V2"), *rest, **n.attrs, **attrs)


@rule("MaxPool", keeps=EXACT)
def with_windows_as_inputs(op: RuleBuilder, n: Node) -> Replacement:
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
def counted_in_each_image(op: RuleBuilder, n: Node) -> Replacement:
    """The index in each image, plus the offset of the image in the batch."""
    if not n.attrs["include_batch_in_index"]:
        return refuse("its indices do not include the batch")
    dtype = n.attrs["Targmax"]
    pooled = op.MaxPoolWithArgmax(*n.inputs, **attrs_without(n, "include_batch_in_index"))
    shape = op.Shape(n.inputs[0], out_type=dtype)
    length = op.Prod(op.StridedSlice(shape, [1], [0], [1], end_mask=1), [0])
    batch = op.StridedSlice(shape, [0], [1], [1], shrink_axis_mask=1)
    images = op.Range(0, batch, 1)
    before = op.Reshape(op.Mul(images, length), [-1, 1, 1, 1])
    return [pooled.output(0), op.Add(pooled.output(1), before)]


# Sliding windows: attributes, padding and strides of the spatial axes.

Pads = list[tuple[Size, Size]]
"""Padding before and after, for each spatial axis."""


def unpadded(n: Node, *names: str) -> dict[str, Any]:
    """The attributes of a node with padding VALID, except for these."""
    return {**attrs_without(n, "padding", "explicit_paddings", *names), "padding": "VALID"}


def ones(n: Node, *names: str) -> dict[str, list[int]]:
    """Attributes with the value 1 for every axis."""
    return {name: [1] * len(_numbers(n, name)) for name in names if name in n.attrs}


def in_space(n: Node, name: str) -> list[int]:
    """The values of an attribute for the spatial axes; refuses if channels are not last."""
    if not str(n.attrs["data_format"]).endswith("C"):
        raise refuse(f"its data_format is {n.attrs['data_format']}")
    return _numbers(n, name)[1:-1]


def explicit_pads(n: Node) -> list[tuple[int, int]]:
    """The padding of each axis, including batch and channels."""
    amounts = _numbers(n, "explicit_paddings")
    return list(zip(amounts[::2], amounts[1::2], strict=True))


def filter_sizes(op: RuleBuilder, n: Node, index: int = 1) -> list[int]:
    """The sizes of a filter; refuses if they are unknown."""
    dims = op.shape(n.inputs[index])
    if dims is None or None in dims:
        raise refuse("the shape of its filter is unknown")
    return [size for size in dims if size is not None]


def pads_of(op: RuleBuilder, n: Node, windows: list[int]) -> Pads:
    """The padding of the spatial axes for windows of these sizes."""
    padding = n.attrs["padding"]
    if padding == "VALID":
        return [(0, 0) for _ in windows]
    if padding == "EXPLICIT":
        return [(before, after) for before, after in explicit_pads(n)[1:-1]]
    sizes = Sizes(op)
    strides = in_space(n, "strides")
    dims: list[Size] = sizes.of(n.inputs[0])[1:-1] if max(strides) > 1 else [0] * len(strides)
    return [
        _same(sizes, size, window, stride)
        for size, window, stride in zip(dims, windows, strides, strict=True)
    ]


def _same(sizes: Sizes, size: Size, window: int, stride: int) -> tuple[Size, Size]:
    """The padding of SAME; an odd element is added after."""
    if stride == 1:
        total: Size = window - 1
    else:
        covered = sizes.mul(sizes.sub(sizes.ceil_div(size, stride), 1), stride)
        total = sizes.at_least(sizes.sub(sizes.add(covered, window), size), 0)
    before = sizes.floor_div(total, 2)
    return before, sizes.sub(total, before)


def every(op: RuleBuilder, value: Node, strides: list[int]) -> Node:
    """Every n-th element along the spatial axes, by strides."""
    if max(strides) == 1:
        return value
    rank = len(strides) + 2
    steps, all_of_them = [1, *strides, 1], (1 << rank) - 1
    return op.StridedSlice(value, [0] * rank, [0] * rank, steps, begin_mask=all_of_them, end_mask=all_of_them)


def _numbers(n: Node, name: str) -> list[int]:
    attr = n.attrs[name]
    if not isinstance(attr, list):
        raise refuse(f"its {name} is {attr}")
    return [int(number) for number in attr if isinstance(number, int)]
