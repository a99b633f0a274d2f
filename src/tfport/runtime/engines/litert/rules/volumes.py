"""Convolutions and pooling over volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, channels_last
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.rules.convolution import pooling, same_pads

AXES = ("d", "h", "w")


def volume_convolution(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, weights, bias = node.first, node.value(1).constant(), node.known(2)
    if node.attrs.get("group", 1) != 1:
        raise NotInLite("Conv over volumes in groups")
    strides, dilations = (node.attrs.get(name) or [1, 1, 1] for name in ("strides", "dilations"))
    same = [same_pads(*axis) for axis in zip(x.sizes[2:], weights.shape[2:], strides, dilations, strict=True)]
    stated = node.attrs.get("pads") or [0] * 6
    pads = list(zip(stated[:3], stated[3:], strict=True))
    is_same = node.attrs.get("auto_pad") == "SAME_UPPER" or pads == same
    volume, sizes = out.in_order(x, channels_last(x.sizes)), list(x.sizes[2:])
    if is_same:
        results = [(size + step - 1) // step for size, step in zip(sizes, strides, strict=True)]
    else:
        if any(map(any, pads)):
            sizes = [size + sum(pad) for size, pad in zip(sizes, pads, strict=True)]
            around = out.pairs([(0, 0), *pads, (0, 0)])
            volume = out.add("PAD", [volume, around], (x.sizes[0], *sizes, x.sizes[1])).tensor
        windows = zip(sizes, weights.shape[2:], strides, dilations, strict=True)
        results = [(size - far * (length - 1) - 1) // step + 1 for size, length, step, far in windows]
    kernel = out.array(np.ascontiguousarray(weights.transpose(2, 3, 4, 1, 0)))
    offset = out.array(bias if bias is not None else np.zeros(len(weights), np.float32))
    options = {f"stride_{name}": step for name, step in zip(AXES, strides, strict=True)}
    options |= {f"dilation_{name}_factor": far for name, far in zip(AXES, dilations, strict=True)}
    return out.add(
        "CONV_3D", [volume, kernel, offset], (x.sizes[0], len(weights), *results), (0, 2, 3, 4, 1),
        padding="SAME" if is_same else "VALID", **options,
    )  # fmt: skip


def volume_pooling(out: LiteScribe, node: IslandNode) -> IslandValue:
    """Pooling over rows and columns, then over the planes: a mean of means, or the largest of all."""
    x, (planes, *window) = node.first, node.attrs["kernel_shape"]
    strides = node.attrs.get("strides") or [1, 1, 1]
    if node.outputs > 1 or node.attrs.get("ceil_mode") or set(node.attrs.get("dilations") or [1]) != {1}:
        raise NotInLite(f"{node.op} over volumes with such windows")
    batch, channels, *sizes = x.sizes
    if node.op == "AveragePool" and node.attrs.get("count_include_pad"):
        raise NotInLite("AveragePool over volumes that counts the padding")
    pads = node.attrs.get("pads") or [0] * 6
    is_same = node.attrs.get("auto_pad") == "SAME_UPPER"
    attrs: dict[str, Any] = {"auto_pad": "SAME_UPPER"} if is_same else {}

    def pool(value: IslandValue, kernel: Sequence[int], axes: Sequence[int]) -> IslandValue:
        own = [pads[axis] for axis in axes] + [pads[axis + 3] for axis in axes]
        if len(axes) == 1:
            own = [own[0], 0, own[1], 0]
        steps = [strides[axis] for axis in axes] + [1] * (2 - len(axes))
        windows = {"kernel_shape": list(kernel), "strides": steps, **(attrs or {"pads": own})}
        return pooling(out, IslandNode(node.op, (value,), windows, 1))

    volume = out.in_order(x, channels_last(x.sizes))
    merged = (batch * sizes[0], channels, *sizes[1:])
    images = pool(out.reshaped(volume, merged, (0, 2, 3, 1)), window, (1, 2))
    height, width = images.sizes[2:]
    columns = (batch, channels, sizes[0], height * width)
    pooled = pool(out.reshaped(out.in_order(images, (0, 2, 3, 1)), columns, (0, 2, 3, 1)), (planes, 1), (0,))
    whole = (batch, channels, pooled.sizes[2], height, width)
    return out.reshaped(out.in_order(pooled, (0, 2, 3, 1)), whole, (0, 2, 3, 4, 1))
