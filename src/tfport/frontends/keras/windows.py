"""Convolutions and pooling over one, two or three spatial axes, with the channels last.

One spatial axis becomes two by an axis of the size 1, as TensorFlow does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerSize, LayerTensor
from tfport.graph.building.arrays import expand_dims, pad, reshape, reverse, squeeze, transpose
from tfport.graph.building.sizes import Size, Sizes, shape_vector, sizes

Numbers = Sequence[int]


def convolve(
    b: LayerBuilder,
    x: LayerTensor,
    kernel: LayerTensor,
    strides: Numbers,
    padding: str,
    dilations: Numbers,
) -> LayerTensor:
    """Convolve with a kernel `(*window, channels, filters)`; `causal` pads before the first axis alone."""
    x, padding = _causal(b, x, kernel, padding, dilations)
    return _windowed(b, {2: "Conv2D", 3: "Conv3D"}, x, kernel, strides, padding, dilations)


def convolve_depthwise(
    b: LayerBuilder,
    x: LayerTensor,
    kernel: LayerTensor,
    strides: Numbers,
    padding: str,
    dilations: Numbers,
) -> LayerTensor:
    """Convolve each channel alone with kernels `(*window, channels, multiplier)`."""
    x, padding = _causal(b, x, kernel, padding, dilations)
    if len(strides) == 1:  # the op wants equal strides
        strides = (strides[0], strides[0])
    return _windowed(b, {2: "DepthwiseConv2dNative"}, x, kernel, strides, padding, dilations)


def _causal(
    b: LayerBuilder, x: LayerTensor, kernel: LayerTensor, padding: str, dilations: Numbers
) -> tuple[LayerTensor, str]:
    if padding != "causal":
        return x, padding
    before = dilations[0] * ((kernel.shape[0] or 1) - 1)
    return pad(b, x, [(0, 0), (before, 0), (0, 0)]), "valid"


def _windowed(
    b: LayerBuilder,
    ops: dict[int, str],
    x: LayerTensor,
    kernel: LayerTensor,
    strides: Numbers,
    padding: str,
    dilations: Numbers,
) -> LayerTensor:
    if x.rank == 3:
        wide = expand_dims(b, x, 1), expand_dims(b, kernel, 0)
        stride = strides if len(strides) == 2 else (1, *strides)
        return squeeze(b, _windowed(b, ops, *wide, stride, padding, (1, *dilations)), 1)
    attrs: dict[str, object] = {"strides": [1, *strides, 1], "padding": padding.upper()}
    if any(dilation != 1 for dilation in dilations):
        attrs["dilations"] = [1, *dilations, 1]
    return b.result(ops[x.rank - 2], x, kernel, **attrs)


def window_counts(
    sizes: Sequence[int | None], window: Numbers, strides: Numbers, padding: str, dilations: Numbers
) -> list[int | None]:
    """How many windows fit along each axis."""
    return [
        None if size is None else _window_count(size, extent, stride, dilation, padding)
        for size, extent, stride, dilation in zip(sizes, window, strides, dilations, strict=True)
    ]


def _window_count(size: int, window: int, stride: int, dilation: int, padding: str) -> int:
    extent = 1 if padding == "same" else (window - 1) * dilation + 1
    return max(0, (size - extent) // stride + 1)


def convolve_transposed(
    b: LayerBuilder,
    x: LayerTensor,
    kernel: LayerTensor,
    strides: Numbers,
    padding: str,
    dilations: Numbers,
    output_padding: Sequence[int | None],
    lengths: Sequence[LayerSize] | None = None,
) -> LayerTensor:
    """Spread each element through a kernel `(*window, filters, channels)`: the gradient of a convolution.

    `lengths` are the sizes of the result, where they do not follow from the options.
    """
    if x.rank == 3:
        wide = expand_dims(b, x, 1), expand_dims(b, kernel, 0)
        y = convolve_transposed(b, *wide, (1, *strides), padding, (1, *dilations), (None, *output_padding))
        return squeeze(b, y, 1)
    window = [size or 1 for size in kernel.shape[: x.rank - 2]]
    if any(dilation != 1 for dilation in dilations):
        return _convolve_flipped(b, x, kernel, window, padding, dilations)
    batch, *spatial, _ = sizes(b, x)
    lengths = lengths or [
        transposed_length(b, size, extent, stride, extra, padding)
        for size, extent, stride, extra in zip(spatial, window, strides, output_padding, strict=True)
    ]
    target = shape_vector(b, [batch, *lengths, kernel.shape[-2]])
    op = "Conv2DBackpropInput" if x.rank == 4 else "Conv3DBackpropInputV2"
    node = b.node(op, target, kernel, x, strides=[1, *strides, 1], padding=padding.upper())
    known = [length if isinstance(length, int) else None for length in lengths]
    return b.tensor(node, (x.shape[0], *known, kernel.shape[-2]))


def transposed_length(
    b: LayerBuilder,
    size: Size,
    window: int,
    stride: int,
    output_padding: int | None,
    padding: str,
) -> Size:
    """The size of an axis after a transposed convolution."""
    if output_padding is None:
        more = 0 if padding == "same" else max(window - stride, 0)
    else:
        more = window - stride + output_padding - (2 * (window // 2) if padding == "same" else 0)
    length = Sizes(b)
    return length.add(length.mul(size, stride), more)


def _convolve_flipped(
    b: LayerBuilder, x: LayerTensor, kernel: LayerTensor, window: Numbers, padding: str, dilations: Numbers
) -> LayerTensor:
    """A dilated transposed convolution, which has no strides: a convolution with the flipped kernel.

    TensorFlow has no kernel for the CPU that takes dilations in the transposed op.
    """
    spatial = len(window)
    transposed = transpose(b, reverse(b, kernel, *range(spatial)), (*range(spatial), spatial + 1, spatial))
    extents = [(size - 1) * dilation for size, dilation in zip(window, dilations, strict=True)]
    before = [extent // 2 if padding == "same" else 0 for extent in extents]
    after = [extent - extent // 2 if padding == "same" else 0 for extent in extents]
    pads = [(e - b_, e - a) for e, b_, a in zip(extents, before, after, strict=True)]
    x = pad(b, x, [(0, 0), *pads, (0, 0)])
    return convolve(b, x, transposed, [1] * spatial, "valid", dilations)


def pool(
    b: LayerBuilder, op: str, x: LayerTensor, window: Numbers, strides: Numbers, padding: str
) -> LayerTensor:
    """The maximum (`MaxPool`) or mean (`AvgPool`) of each window."""
    if x.rank == 3:
        y = pool(b, op, expand_dims(b, x, 1), (1, *window), (1, *strides), padding)
        return squeeze(b, y, 1)
    return b.result(
        op if x.rank == 4 else f"{op}3D", x,
        ksize=[1, *window, 1], strides=[1, *strides, 1], padding=padding.upper(),
    )  # fmt: skip


def with_one_batch_axis(
    b: LayerBuilder, x: LayerTensor, spatial: int, function: Callable[[LayerTensor], LayerTensor]
) -> LayerTensor:
    """Apply a function of images to a tensor with any number of axes before its images."""
    outer = x.rank - spatial - 1
    if outer == 1:
        return function(x)
    dims = sizes(b, x)
    y = function(b.tensor(reshape(b, x, (None, *dims[outer:])).value, (None, *x.shape[outer:])))
    restored = reshape(b, y, (*dims[:outer], *sizes(b, y)[1:]))
    return b.tensor(restored.value, (*x.shape[:outer], *y.shape[1:]))
