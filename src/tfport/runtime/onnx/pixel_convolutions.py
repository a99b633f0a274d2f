"""Convolutions of single pixels with what follows them, as one node `FusedConv` of ONNX Runtime.

    relu(conv(x) + bias + shortcut)        windows of one pixel; the shortcut is optional

On a GPU one kernel computes it, so that the results of the convolution and of the sum never reach the memory.
ONNX Runtime has that kernel only for images with their channels first, and GPUs compute with channels last.
Of an image of one pixel both are the same: each pixel becomes an image of its own, [pixels, channels, 1, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.island_passes import live_nodes
from tfport.runtime.onnx.model import CONTRIB
from tfport.runtime.onnx.patterns.producers import Producers
from tfport.runtime.onnx.same_batch import BatchSources
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

CHANNELS_LAST, CHANNELS_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]
LEAST_WITH_SHORTCUT = 128
"""Channels of the input from which a shortcut pays: with 64, cuDNN 9.19 adds it in a slow kernel of its own
(H200, 200,704 pixels: 518 µs in place of 321; with 128 channels and 50,176 pixels: 68 in place of 166)."""

LEAST_PIXELS = 3000
"""Pixels of all images from which it pays. cuDNN computes some convolutions of fewer without tensor cores
(H200, ResNet-50 from 1,024 pixels on: 1.26 ms in place of 1.08 with 8 images, but 1.53 in place of 1.63 with
16, 2.5 in place of 3.0 with 32, and 4.2 in place of 5.4 with 64)."""


class _PixelConvolution(NamedTuple):
    node: OnnxNode
    shortcut: Operand | None


def with_pixel_convolutions(
    nodes: Sequence[OnnxNode], outputs: Sequence[Operand], batch: int
) -> list[OnnxNode]:
    """The nodes with one node for each convolution of single pixels that ends in a Relu, where that pays.

    `batch`: how many images there are, where that is not known.
    """
    producers, batches = Producers(nodes, outputs), BatchSources(nodes)
    made: list[OnnxNode] = []
    for node in nodes:
        pixel_conv = _before(node.inputs[0], producers, batches) if node.op == "Relu" else None
        pays = pixel_conv is not None and _pixels_of(pixel_conv.node, batch) >= LEAST_PIXELS
        made += _fused(pixel_conv, node.outputs[0]) if pixel_conv is not None and pays else [node]
    return live_nodes(made, outputs)


def _before(operand: Operand | None, producers: Producers, batches: BatchSources) -> _PixelConvolution | None:
    """The convolution that an operand is computed by, and what is added to it, if nothing else reads them."""
    if operand is None or producers.uses(operand) != 1:
        return None
    conv = producers.of(operand, "Conv")
    if conv is not None:
        return _PixelConvolution(conv, None) if _is_of_pixels(conv) else None
    for inner, shortcut in producers.pairs(operand, "Add"):
        conv = producers.of(inner, "Conv")
        if conv is None or inner is None or shortcut is None or not _is_of_pixels(conv):
            continue
        fits = producers.uses(inner) == 1 and _is_alike(inner, shortcut) and batches.same(inner, shortcut)
        if fits and _weights(conv).shape[1] >= LEAST_WITH_SHORTCUT:
            return _PixelConvolution(conv, shortcut)
    return None


def _is_of_pixels(conv: OnnxNode) -> bool:
    weights, shape = conv.inputs[1], conv.outputs[0].shape
    if weights is None or weights.array is None or weights.dtype != FLOAT32 or shape is None:
        return False
    bias = conv.inputs[2] if len(conv.inputs) > 2 else None
    return (
        weights.array.shape[2:] == (1, 1)
        and None not in shape[1:]
        and conv.attrs.get("group", 1) == 1
        and set(conv.attrs.get("strides", [1])) == {1}
        and set(conv.attrs.get("pads", [0])) == {0}
        and conv.attrs.get("auto_pad", "NOTSET") in ("NOTSET", "VALID")
        and (bias is None or bias.array is not None)
    )


def _pixels_of(conv: OnnxNode, batch: int) -> int:
    count, _, *sizes = conv.outputs[0].shape or ()
    return (count or batch) * prod(size or 0 for size in sizes)


def _is_alike(image: Operand, other: Operand) -> bool:
    return image.shape is not None and image.shape == other.shape and not other.is_constant


def _weights(conv: OnnxNode) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    assert conv.inputs[1] is not None
    assert conv.inputs[1].array is not None
    return conv.inputs[1].array


def _fused(pixel_conv: _PixelConvolution, output: Operand) -> list[OnnxNode]:
    conv, shortcut = pixel_conv
    b = Builder("pixels")
    x, weights = conv.inputs[:2]
    bias = conv.inputs[2] if len(conv.inputs) > 2 else None
    shape = conv.outputs[0].shape
    assert shape is not None
    channels, *sizes = shape[1:]
    inputs = [_pixels(b, x), weights, bias or b.const(np.zeros(channels or 0), FLOAT32)]
    if shortcut is not None:
        inputs.append(_pixels(b, shortcut))
    of_pixels = (None, channels, 1, 1)
    attrs: dict[str, Any] = {"activation": "Relu", "kernel_shape": [1, 1]}
    (pixels,) = b.nodes("FusedConv", *inputs, dtype=FLOAT32, shape=of_pixels, domain=CONTRIB, **attrs)
    image = b.Reshape(pixels, b.ints(-1, *(size or 0 for size in sizes), channels or 0))
    return [*b.made, OnnxNode("Transpose", (image,), (output,), {"perm": CHANNELS_FIRST})]


def _pixels(b: Builder, image: Operand | None) -> Operand:
    assert image is not None
    assert image.shape is not None
    last = b.Transpose(image, perm=CHANNELS_LAST)
    return b.Reshape(last, b.ints(-1, image.shape[1] or 0, 1, 1))
