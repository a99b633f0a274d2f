"""Convolutions over volumes."""

from __future__ import annotations

import numpy as np

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, channels_last
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.rules.convolution import same_pads

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
