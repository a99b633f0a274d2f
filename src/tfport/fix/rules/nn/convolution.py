"""Convolutions: padding, dilation, strides and groups by other ops.

Channels first: `rules.nn.layout`; fused ops: `rules.nn.fused`.
"""

from __future__ import annotations

import math

from tfport.fix.nodes.builder import RuleBuilder, attrs_without
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.fix.rules.nn.pooling import every, explicit_pads, filter_sizes, in_space, ones, pads_of, unpadded
from tfport.graph.building.arrays import pad
from tfport.graph.building.sizes import Sizes
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node


@rule("Conv2D DepthwiseConv2dNative", keeps=EXACT)
def padded_outright(op: RuleBuilder, n: Node) -> Replacement:
    """Explicit padding becomes a Pad before a convolution without padding."""
    if n.attrs["padding"] != "EXPLICIT":
        return refuse(f"its padding is {n.attrs['padding']}")
    x, kernel = n.inputs
    pads = explicit_pads(n)
    return op.node(n.op, pad(op, x, pads), kernel, **unpadded(n))


@rule("Conv2DBackpropInput", keeps=EXACT)
def cut_after_padding(op: RuleBuilder, n: Node) -> Replacement:
    """The gradient is cut out of the gradient of the padded image."""
    if n.attrs["padding"] != "EXPLICIT":
        return refuse(f"its padding is {n.attrs['padding']}")
    shape, kernel, gradient = n.inputs
    pads = explicit_pads(n)
    known = op.array(shape)
    if (known is not None and known.size == 2) or op.shape(shape) == (2,):
        return refuse("its input_sizes have only two elements")
    whole = op.Add(shape, [before + after for before, after in pads])
    padded = op.Conv2DBackpropInput(whole, kernel, gradient, **unpadded(n))
    return op.Slice(padded, [before for before, _ in pads], shape)


@rule("Conv2D DepthwiseConv2dNative Conv3D", keeps=ROUNDING)
def through_space_to_batch(op: RuleBuilder, n: Node) -> Replacement:
    """SpaceToBatchND turns a dilated convolution into a plain one on a larger batch."""
    dilations, strides = in_space(n, "dilations"), in_space(n, "strides")
    if max(dilations) == 1:
        return refuse("it is not dilated")
    x, kernel = n.inputs
    sizes = Sizes(op)
    windows = [
        (size - 1) * rate + 1
        for size, rate in zip(filter_sizes(op, n)[: len(dilations)], dilations, strict=True)
    ]
    pads, crops = [], []
    for size, rate, (before, after) in zip(
        sizes.of(x)[1:-1], dilations, pads_of(op, n, windows), strict=True
    ):
        whole = sizes.add(sizes.add(size, before), after)
        extra = sizes.mod(sizes.sub(0, whole), rate) if rate > 1 else 0
        pads.append([before, sizes.add(after, extra)])
        crops.append([0, extra])
    dims = op.shape(x)
    known = dims and [*(None for _ in dims[:-1]), dims[-1]]  # the channels tell whether it is grouped
    phases = op.tensor(op.SpaceToBatchND(x, dilations, sizes.matrix(pads)), known)
    plain = op.node(
        n.op, phases, kernel, **unpadded(n, "strides", "dilations"), **ones(n, "strides", "dilations")
    )
    return every(op, op.BatchToSpaceND(plain, dilations, sizes.matrix(crops)), strides)


@rule("DepthwiseConv2dNative", keeps=EXACT)
def strided_outright(op: RuleBuilder, n: Node) -> Replacement:
    """Unequal strides become a convolution with stride 1, of which every n-th element is kept."""
    strides = in_space(n, "strides")
    if len(set(strides)) == 1:
        return refuse(f"its strides are {strides}")
    x, kernel = n.inputs
    sizes = Sizes(op)
    rates = in_space(n, "dilations")
    windows = [(size - 1) * rate + 1 for size, rate in zip(filter_sizes(op, n)[:2], rates, strict=True)]
    pads = [(0, 0), *pads_of(op, n, windows), (0, 0)]
    wide = op.Pad(x, sizes.matrix(pads)) if n.attrs["padding"] != "VALID" else x
    convolved = op.DepthwiseConv2dNative(wide, kernel, **unpadded(n, "strides"), **ones(n, "strides"))
    return every(op, convolved, strides)


def _groups(op: RuleBuilder, n: Node) -> int:
    """The number of groups of channels; refuses if it is unknown."""
    dims = op.shape(n.inputs[0])
    channels = dims[str(n.attrs["data_format"]).index("C")] if dims else None
    if channels is None:
        raise refuse("the number of channels of its image is unknown")
    return channels // max(filter_sizes(op, n)[-2], 1)


@rule("Conv2D", keeps=ROUNDING)
def group_by_group(op: RuleBuilder, n: Node) -> Replacement:
    """Groups of channels are convolved separately, and concatenated."""
    groups = _groups(op, n)
    if groups <= 1:
        return refuse("it has one group of channels")
    axis = str(n.attrs["data_format"]).index("C")
    x, kernel = n.inputs
    parts = zip(
        op.Split(axis, x, num_split=groups).outputs,
        op.Split(len(filter_sizes(op, n)) - 1, kernel, num_split=groups).outputs,
        strict=True,
    )
    return op.ConcatV2([op.Conv2D(a, b, **n.attrs) for a, b in parts], axis)


@rule("Conv2D", keeps=ROUNDING)
def channel_by_channel(op: RuleBuilder, n: Node) -> Replacement:
    """If each channel is a group, DepthwiseConv2dNative gives the same result."""
    groups = _groups(op, n)
    rows, columns, depth, channels = filter_sizes(op, n)
    if groups <= 1 or depth != 1:
        return refuse("its groups are not single channels")
    x, kernel = n.inputs
    deep = op.Reshape(kernel, [rows, columns, groups, channels // groups])
    return op.DepthwiseConv2dNative(x, deep, **attrs_without(n, "use_cudnn_on_gpu"))


@rule("Conv2D", keeps=ROUNDING)
def as_product_of_patches(op: RuleBuilder, n: Node) -> Replacement:
    """Patches of the image are extracted, and multiplied by the filter as a matrix."""
    if n.attrs["padding"] == "EXPLICIT":
        return refuse("its padding is EXPLICIT")
    strides, rates = in_space(n, "strides"), in_space(n, "dilations")
    x, kernel = n.inputs
    *window, depth, channels = filter_sizes(op, n)
    if _groups(op, n) != 1:
        return refuse("it has several groups of channels")
    patches = op.ExtractImagePatches(
        x, ksizes=[1, *window, 1], strides=[1, *strides, 1], rates=[1, *rates, 1], padding=n.attrs["padding"]
    )
    length = math.prod(window) * depth
    product = op.MatMul(op.Reshape(patches, [-1, length]), op.Reshape(kernel, [length, channels]))
    sizes = op.StridedSlice(op.Shape(patches, out_type=INT32), [0], [3], [1])
    return op.Reshape(product, op.ConcatV2([sizes, [channels]], 0))


@rule("Conv", keeps=EXACT)
def as_conv_of_its_rank(op: RuleBuilder, n: Node) -> Replacement:
    """Conv2D and Conv3D compute the same as Conv for images and volumes with one batch axis."""
    dims = op.shape(n.inputs[0])
    if dims is None or len(dims) not in (4, 5):
        return refuse(f"the shape of its image is {dims}")
    if n.attrs["batch_dims"] != 1 or n.attrs["groups"] != 1:
        return refuse(f"it has batch_dims={n.attrs['batch_dims']}, groups={n.attrs['groups']}")
    first = n.attrs["data_format"] == "CHANNELS_FIRST"
    attrs = attrs_without(n, "data_format", "batch_dims", "groups", "explicit_paddings")
    attrs["dilations"] = n.attrs["dilations"] or [1] * len(dims)
    if len(dims) == 4:
        pads = n.attrs["explicit_paddings"]
        layout = "NCHW" if first else "NHWC"
        return op.Conv2D(*n.inputs, **attrs, data_format=layout, explicit_paddings=pads)
    if n.attrs["padding"] == "EXPLICIT":
        return refuse("Conv3D does not support explicit padding")
    return op.Conv3D(*n.inputs, **attrs, data_format="NCDHW" if first else "NDHWC")


@rule("Conv2DBackpropInputV2", keeps=EXACT)
def gradient_for_its_sizes(op: RuleBuilder, n: Node) -> Replacement:
    """Conv2DBackpropInput takes the shape of the image instead of the image."""
    return op.Conv2DBackpropInput(op.Shape(n.inputs[0], out_type=INT32), *n.inputs[1:], **n.attrs)


@rule("Conv2DBackpropFilterV2", keeps=EXACT)
def gradient_for_sizes_of_filter(op: RuleBuilder, n: Node) -> Replacement:
    """Conv2DBackpropFilter takes the shape of the filter instead of the filter."""
    x, kernel, gradient = n.inputs
    return op.Conv2DBackpropFilter(x, op.Shape(kernel, out_type=INT32), gradient, **n.attrs)


@rule("Conv3DBackpropInput", keeps=EXACT)
def volume_gradient_for_its_sizes(op: RuleBuilder, n: Node) -> Replacement:
    """Conv3DBackpropInputV2 takes the shape of the volume instead of the volume."""
    return op.Conv3DBackpropInputV2(op.Shape(n.inputs[0], out_type=INT32), *n.inputs[1:], **n.attrs)


@rule("Conv3DBackpropInputV2", keeps=EXACT)
def sizes_as_int32(op: RuleBuilder, n: Node) -> Replacement:
    """The shape of the volume is cast to int32, which older releases require."""
    if n.attrs["Tshape"] == INT32:
        return refuse("its sizes are int32")
    sizes = op.Cast(n.inputs[0], DstT=INT32)
    return op.Conv3DBackpropInputV2(sizes, *n.inputs[1:], **attrs_without(n, "Tshape"), Tshape=INT32)
