"""Pooling over windows, and over whole images."""

from __future__ import annotations

from tfport.runtime.engines.litert.island_node import IslandNode
from tfport.runtime.engines.litert.island_value import IslandValue, NotInLite
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.rules.images import image_of, image_sizes, result_of
from tfport.runtime.engines.litert.windows import lite_windows

OPS = {"AveragePool": "AVERAGE_POOL_2D", "MaxPool": "MAX_POOL_2D", "GlobalMaxPool": "MAX_POOL_2D"}


def pooling(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    height, width, channels = image_sizes(x)
    windows = lite_windows(node, (height, width), node.attrs.get("kernel_shape") or x.sizes[2:])
    if windows.dilations != (1, 1) or not (windows.is_valid or windows.is_same) or node.outputs > 1:
        raise NotInLite(f"{node.op} with such windows")
    if node.attrs.get("count_include_pad") and not windows.is_valid:
        raise NotInLite("AveragePool that counts its padding")
    filter_height, filter_width = windows.kernel
    return result_of(
        out, x, OPS[node.op], [image_of(out, x)], (*windows.results, channels),
        **windows.steps, filter_height=filter_height, filter_width=filter_width,
    )  # fmt: skip
