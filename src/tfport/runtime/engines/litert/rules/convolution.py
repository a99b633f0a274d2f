"""Convolutions, transposed ones and pooling over rows or images; convolutions have constant weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, channels_last
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.size_expression import Number
from tfport.startup.dataclass import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class LiteWindows:
    """Sizes, steps and paddings for the rows and the columns of an image."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[tuple[int, int], tuple[int, int]]
    is_same: bool
    """Whether the padding is what TensorFlow calls SAME."""
    results: tuple[Number, Number]
    """The sizes of the result."""

    @property
    def is_valid(self) -> bool:
        return not any(map(any, self.pads))

    @property
    def padding(self) -> str:
        return "SAME" if self.is_same and not self.is_valid else "VALID"

    @property
    def steps(self) -> dict[str, Any]:
        """The options of every operator with windows."""
        return {"padding": self.padding, "stride_h": self.strides[0], "stride_w": self.strides[1]}


def lite_windows(node: IslandNode, image: tuple[Number, Number], kernel: Sequence[Any]) -> LiteWindows:
    """The windows of a node over an image; one with a single axis is an image of one row."""
    count = len(kernel)
    if count not in (1, 2) or node.attrs.get("ceil_mode"):
        raise NotInLite(f"{node.op} over {count} axes or with windows that are not full")
    sizes = _pair(kernel, 1)
    strides = _pair(node.attrs.get("strides") or [1] * count, 1)
    dilations = _pair(node.attrs.get("dilations") or [1] * count, 1)
    axes = list(zip(image, sizes, strides, dilations, strict=True))
    same = [same_pads(*axis) for axis in axes]
    match node.attrs.get("auto_pad", "NOTSET"):
        case "SAME_UPPER" if None in same:  # whatever the sizes are
            results = [(size + stride - 1) // stride for size, _, stride, _ in axes]
            none = ((0, 0), (0, 1))  # not valid
            return LiteWindows(sizes, strides, dilations, none, True, (results[0], results[1]))
        case "SAME_UPPER":
            pads = [pad for pad in same if pad is not None]
        case "NOTSET" | "VALID":
            stated = node.attrs.get("pads") or [0] * 2 * count
            before, after = _pair(stated[:count], 0), _pair(stated[count:], 0)
            pads = list(zip(before, after, strict=True))
        case other:
            raise NotInLite(f"{node.op} with the padding {other}")
    results = [
        (size + sum(pad) - dilation * (length - 1) - 1) // stride + 1
        for size, length, stride, dilation, pad in zip(image, sizes, strides, dilations, pads, strict=True)
    ]
    if any(isinstance(size, int) and size < 1 for size in results) or min(map(min, pads)) < 0:
        raise NotInLite(f"{node.op} with windows that do not fit")
    is_same = pads == same
    return LiteWindows(sizes, strides, dilations, (pads[0], pads[1]), is_same, (results[0], results[1]))


def _pair(values: Sequence[int], filler: int) -> tuple[int, int]:
    return (int(values[0]), int(values[1])) if len(values) == 2 else (filler, int(values[0]))


def same_pads(size: Number, length: int, stride: int, dilation: int) -> tuple[int, int] | None:
    """None if it depends on an unknown size; with steps of 1 it never does."""
    if not isinstance(size, int) and stride != 1:
        return None
    missing = (-(-size // stride) - 1) * stride - size if isinstance(size, int) else -1
    total = max(missing + dilation * (length - 1) + 1, 0)
    return total // 2, total - total // 2


# Convolutions and poolings


def convolution(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, weights = node.first, _with_rows(node.value(1).constant())
    if not isinstance(x.sizes[1], int):  # the weights know it
        known = weights.shape[1] * node.attrs.get("group", 1)
        x = replace(x, sizes=(x.sizes[0], known, *x.sizes[2:]))
    height, width, channels = image_sizes(x)
    groups, results = node.attrs.get("group", 1), len(weights)
    windows = lite_windows(node, (height, width), node.value(1).sizes[2:])
    image = image_of(out, x)
    if windows.padding == "VALID" and not windows.is_valid:
        image = zeros_around(out, image, (x.sizes[0], height, width, channels), windows.pads)
    bias = _bias(out, node, results)
    dilation_h, dilation_w = windows.dilations
    options: dict[str, Any] = {
        **windows.steps, "dilation_h_factor": dilation_h, "dilation_w_factor": dilation_w
    }  # fmt: skip
    if groups == channels > 1:
        op, kernel = "DEPTHWISE_CONV_2D", out.array(weights.transpose(1, 2, 3, 0))
        options["depth_multiplier"] = results // channels
    else:
        op, kernel = "CONV_2D", out.array(weights.transpose(0, 2, 3, 1))
    return result_of(out, x, op, [image, kernel, bias], (*windows.results, results), **options)


def transposed_convolution(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, weights = node.first, _with_rows(node.value(1).constant())
    height, width, _ = image_sizes(x)
    count = len(x.sizes) - 2
    if node.attrs.get("group", 1) != 1 or any(d != 1 for d in node.attrs.get("dilations", ())):
        raise NotInLite("ConvTranspose with groups or dilations")
    if node.attrs.get("auto_pad", "NOTSET") != "NOTSET" or "output_shape" in node.attrs:
        raise NotInLite("ConvTranspose without explicit padding")
    strides, lengths = node.attrs.get("strides") or [1] * count, weights.shape[2:]
    pads, more = node.attrs.get("pads") or [0] * 2 * count, node.attrs.get("output_padding") or [0] * count
    before, after, more, strides = (
        [filler] * (2 - count) + list(values)
        for values, filler in ((pads[:count], 0), (pads[count:], 0), (more, 0), (strides, 1))
    )
    sizes = [
        (size - 1) * strides[axis] + lengths[axis] - before[axis] - after[axis] + more[axis]
        for axis, size in enumerate((height, width))
    ]
    padding = _padding((height, width), sizes, lengths, strides, before)
    kept = sizes
    if padding is None:  # all of it, and then a part
        sizes, padding = _whole((height, width), lengths, strides), "VALID"
        rest = [whole - first - size for whole, first, size in zip(sizes, before, kept, strict=True)]
        if any(not isinstance(size, int) or size < 0 for size in rest) or min(map(_least, kept)) < 1:
            raise NotInLite("ConvTranspose with windows that do not fit")
    inputs = [
        out.sizes([x.sizes[0], *sizes, weights.shape[1]]),
        out.array(weights.transpose(1, 2, 3, 0)),
        image_of(out, x),
        _bias(out, node, weights.shape[1]),
    ]
    results = (sizes[0], sizes[1], weights.shape[1])
    options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
    if kept == sizes:
        return result_of(out, x, "TRANSPOSE_CONV", inputs, results, **options)
    whole = (x.sizes[0], *results)
    image = out.add("TRANSPOSE_CONV", inputs, whole, **options)
    bounds = [out.ints(0, *before, 0), out.sizes([x.sizes[0], *kept, weights.shape[1]])]
    order = (0, 2, 3, 1)
    cut = out.add("SLICE", [image.tensor, *bounds], (x.sizes[0], weights.shape[1], *kept), order)
    return cut if count == 2 else out.reshaped(cut.tensor, (x.sizes[0], weights.shape[1], kept[1]), (0, 2, 1))


def _whole(image: Sequence[Number], lengths: Sequence[int], strides: Sequence[int]) -> list[Number]:
    """The sizes of a transposed convolution of which nothing is cut."""
    axes = zip(image, lengths, strides, strict=True)
    return [(size - 1) * step + max(length, step) for size, length, step in axes]


def _least(size: Number) -> int:
    return size if isinstance(size, int) else 1


def _padding(
    image: Sequence[Number],
    results: Sequence[Number],
    lengths: Sequence[int],
    strides: Sequence[int],
    before: Sequence[int],
) -> str | None:
    """The padding with which a convolution of the result has the size of the image; None if there is none."""
    if not all(isinstance(size, int) for size in (*image, *results)):  # it is the same for every size
        some = 64
        known = [
            (some, some * step + result - size * step)
            if not isinstance(size, int) else (size, result)
            for size, result, step in zip(image, results, strides, strict=True)
        ]  # fmt: skip
        image, results = [size for size, _ in known], [result for _, result in known]
    axes: list[Any] = list(zip(image, results, lengths, strides, before, strict=True))
    if all(size == -(-result // step) and max((size - 1) * step + length - result, 0) // 2 == first
           for size, result, length, step, first in axes):  # fmt: skip
        return "SAME"
    if all(
        size == -(-(result - length + 1) // step) and not first for size, result, length, step, first in axes
    ):
        return "VALID"
    return None


def _bias(out: LiteScribe, node: IslandNode, count: int) -> int:
    bias = node.known(2)
    return out.array(bias if bias is not None else np.zeros(count, np.float32))


def _with_rows(weights: NDArray[Any]) -> NDArray[Any]:
    """Weights over images: those over rows have windows of one row."""
    return weights[:, :, None] if weights.ndim == 3 else weights


def image_sizes(x: IslandValue) -> tuple[Number, Number, int]:
    """Height, width and channels of an ONNX image; rows are images of one row."""
    match x.sizes:
        case (_, int() as channels, width):
            return 1, width, channels
        case (_, int() as channels, height, width):
            return height, width, channels
    raise NotInLite(f"an image with {len(x.sizes)} axes")


def image_of(out: LiteScribe, x: IslandValue) -> int:
    tensor = out.in_order(x, channels_last(x.sizes))
    if len(x.sizes) == 4:
        return tensor
    return out.reshaped(tensor, (x.sizes[0], *image_sizes(x))).tensor


def result_of(
    out: LiteScribe,
    x: IslandValue,
    op: str,
    inputs: Sequence[int],
    sizes: tuple[Number, Number, int],
    **options: Any,
) -> IslandValue:
    """An operator on images, with the height, width and channels of its result; rows for rows."""
    height, width, channels = sizes
    image = out.add(op, inputs, (x.sizes[0], channels, height, width), (0, 2, 3, 1), **options)
    if len(x.sizes) == 4:
        return image
    return out.reshaped(image.tensor, (x.sizes[0], channels, width), (0, 2, 1))


def zeros_around(
    out: LiteScribe,
    image: int,
    sizes: Sequence[Number],
    pads: tuple[tuple[int, int], tuple[int, int]],
    number: float = 0.0,
) -> int:
    """An image with zeros, or another number, around it."""
    batch, height, width, channels = sizes
    padded = (batch, height + sum(pads[0]), width + sum(pads[1]), channels)
    tensors = [image, out.pairs([(0, 0), *pads, (0, 0)])]
    if number:
        return out.add("PADV2", [*tensors, out.array(np.array(number, np.float32))], padded).tensor
    return out.add("PAD", tensors, padded).tensor


# Pooling over windows, and over whole images

LEAST = float(np.finfo(np.float32).min)
OPS = {"AveragePool": "AVERAGE_POOL_2D", "MaxPool": "MAX_POOL_2D", "GlobalMaxPool": "MAX_POOL_2D"}


def pooling(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    height, width, channels = image_sizes(x)
    kernel = node.attrs.get("kernel_shape") or x.sizes[2:]
    if not all(isinstance(size, int) for size in kernel):  # the whole image
        gone = out.ints(*sorted(x.position(axis) for axis in range(2, len(x.sizes))))
        whole = (*x.sizes[:2], *[1] * (len(x.sizes) - 2))
        return out.add("REDUCE_MAX", [x.tensor, gone], whole, x.order, keep_dims=True)
    windows = lite_windows(node, (height, width), kernel)
    if windows.dilations != (1, 1) or node.outputs > 1:
        raise NotInLite(f"{node.op} with such windows")
    counts = node.op == "AveragePool" and node.attrs.get("count_include_pad")
    image = image_of(out, x)
    if not windows.is_valid and (counts or not windows.is_same):
        if node.op == "AveragePool" and not counts:
            raise NotInLite("AveragePool with padding that is not counted")
        around = 0.0 if counts else LEAST
        image = zeros_around(out, image, (x.sizes[0], height, width, channels), windows.pads, around)
        windows = replace(windows, pads=((0, 0), (0, 0)))
    filter_height, filter_width = windows.kernel
    return result_of(
        out, x, OPS[node.op], [image], (*windows.results, channels),
        **windows.steps, filter_height=filter_height, filter_width=filter_width,
    )  # fmt: skip
