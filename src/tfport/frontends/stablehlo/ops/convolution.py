"""Convolutions with any order of axes, strides, padding, dilation and groups."""

from __future__ import annotations

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.constants import integers
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.ops import xla
from tfport.frontends.stablehlo.ops.slices import padded
from tfport.frontends.stablehlo.tensor import HloTensor, element_type
from tfport.graph.building.arrays import expand_dims, reshape, transpose
from tfport.graph.dtypes import INT32, DType
from tfport.graph.graph import Value

MOST_AXES = 3
MOST_GROUPS = 4096
FLOAT64 = DType.parse("float64")


@translates("convolution")
def convolution(op: HloNodes, hlo: HloOp, x: HloTensor, kernel: HloTensor) -> HloTensor:
    """Axes are brought to the order of Conv2D or Conv3D, and back; padding is explicit, or SAME."""
    attrs = hlo.attrs
    rank, groups = len(integers(attrs["input_spatial_dimensions"])), int(attrs["feature_group_count"])
    is_rare = attrs["batch_group_count"] != 1 or rank > MOST_AXES or groups > MOST_GROUPS
    if op.program.own_runtime and is_rare:
        return xla.convolved(op, hlo, x, kernel)
    if attrs["batch_group_count"] != 1:
        raise CannotRun("stablehlo.convolution with groups of batches has no translation")
    if rank > MOST_AXES:
        raise CannotRun(f"a stablehlo.convolution over {rank} axes has no translation")
    if groups > MOST_GROUPS:
        raise CannotRun(f"a stablehlo.convolution in more than {MOST_GROUPS:,} groups has no translation")
    out = element_type(hlo.types[0].element)
    if 0 in hlo.types[0].shape and None not in hlo.types[0].shape:
        return op.filled(np.zeros((), hlo.types[0].element), hlo.types[0].shape)
    dtype = out if out.is_floating else FLOAT64
    window = _Window(hlo, rank)
    image = _ordered(op, x, [attrs["input_batch_dimension"], *integers(attrs["input_spatial_dimensions"]),
                             attrs["input_feature_dimension"]], dtype)  # fmt: skip
    filters = _ordered(op, kernel, [*integers(attrs["kernel_spatial_dimensions"]),
                                    attrs["kernel_input_feature_dimension"],
                                    attrs["kernel_output_feature_dimension"]], dtype)  # fmt: skip
    if any(window.reversal):
        transposed = [axis for axis, is_reversed in enumerate(window.reversal) if is_reversed]
        filters = op.tensor(op.ReverseV2(filters.value, op.const(transposed, INT32)), filters.dims)
    if rank < 2:
        image, filters = _with_unit_axes(op, image, filters, 2 - rank)
        window.add_axes(2 - rank)
    result = _convolved(op, window, image, filters, groups)
    axes = [attrs["output_batch_dimension"], *integers(attrs["output_spatial_dimensions"]),
            attrs["output_feature_dimension"]]  # fmt: skip
    dims = hlo.types[0].shape
    ordered = tuple(dims[axis] for axis in axes)
    if rank < 2:
        result = op.Squeeze(result, squeeze_dims=list(range(1, 3 - rank))).output(0)
    indices = [axes.index(axis) for axis in range(len(axes))]
    y = op.cast(op.tensor(result if out.is_floating else op.Rint(result), ordered), out)
    return op.tensor(transpose(op, y, indices).value, dims)


class _Window:
    """The attributes of a convolution for each spatial axis."""

    def __init__(self, hlo: HloOp, rank: int) -> None:
        self.strides, self.dilation, self.spread = (
            integers(hlo.attrs[name]) for name in ("window_strides", "rhs_dilation", "lhs_dilation")
        )
        pads = integers(hlo.attrs["padding"])
        self.pads = [(pads[2 * axis], pads[2 * axis + 1]) for axis in range(rank)]
        self.reversal = [bool(flag) for flag in integers(hlo.attrs["window_reversal"])]

    def add_axes(self, count: int) -> None:
        """Put axes of size 1 first."""
        self.strides = [1] * count + self.strides
        self.dilation = [1] * count + self.dilation
        self.spread = [1] * count + self.spread
        self.pads = [(0, 0)] * count + self.pads

    def is_same(self, sizes: tuple[int | None, ...], filters: tuple[int | None, ...]) -> bool:
        """Whether the padding is that of SAME for known sizes."""
        for size, length, stride, rate, pads in zip(
            sizes, filters, self.strides, self.dilation, self.pads, strict=True
        ):
            if size is None or length is None:
                return False
            reach = (length - 1) * rate + 1
            whole = max(0, (-(-size // stride) - 1) * stride + reach - size)
            if pads != (whole // 2, whole - whole // 2):
                return False
        return all(spread == 1 for spread in self.spread)


def _ordered(op: HloNodes, x: HloTensor, axes: list[int], dtype: DType) -> HloTensor:
    return transpose(op, op.cast(x, dtype), axes)


def _with_unit_axes(
    op: HloNodes, image: HloTensor, filters: HloTensor, count: int
) -> tuple[HloTensor, HloTensor]:
    """Axes of size 1 before the spatial ones, since TensorFlow convolves over at least two."""
    for _ in range(count):
        image, filters = expand_dims(op, image, 1), expand_dims(op, filters, 0)
    return image, filters


def _convolved(op: HloNodes, window: _Window, image: HloTensor, filters: HloTensor, groups: int) -> Value:
    rank = len(window.strides)
    same = window.is_same(image.dims[1:-1], filters.dims[:rank]) and any(map(any, window.pads))
    if not same and (any(map(any, window.pads)) or any(n != 1 for n in window.spread)):
        low, high = ([0, *(pads[end] for pads in window.pads), 0] for end in (0, 1))
        interior = [0, *(n - 1 for n in window.spread), 0]
        zero = op.const(0, image.dtype)
        dims = (image.dims[0], *[None] * rank, image.dims[-1])
        image = op.tensor(padded(op, image, zero, low, high, interior), dims)
    attrs = {
        "strides": [1, *window.strides, 1],
        "padding": "SAME" if same else "VALID",
        "dilations": [1, *window.dilation, 1],
    }
    if groups == 1:
        return op.node("Conv2D" if rank == 2 else "Conv3D", image.value, filters.value, **attrs).output(0)
    depth, channels = filters.dims[-2:]
    if depth == 1 and rank == 2 and channels is not None and None not in filters.dims:
        each = reshape(op, filters, [*filters.dims[:2], groups, channels // groups])
        return op.DepthwiseConv2dNative(image, each, **attrs).output(0)
    parts = zip(
        op.Split(rank + 1, image.value, num_split=groups).outputs,
        op.Split(rank + 1, filters.value, num_split=groups).outputs,
        strict=True,
    )
    name = "Conv2D" if rank == 2 else "Conv3D"
    return op.ConcatV2([op.node(name, a, b, **attrs) for a, b in parts], rank + 1).output(0)
