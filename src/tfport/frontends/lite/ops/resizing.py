"""Images of another size, and blocks that move between axes."""

from __future__ import annotations

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node


@builtin("RESIZE_BILINEAR")
def resize_bilinear(
    b: OperatorBuilder, x: LiteValue, size: LiteValue, *, align_corners: bool, half_pixel_centers: bool
) -> Node:
    return b.ResizeBilinear(x, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


@builtin("RESIZE_NEAREST_NEIGHBOR", any_type=True)
def resize_nearest_neighbor(
    b: OperatorBuilder, x: LiteValue, size: LiteValue, *, align_corners: bool, half_pixel_centers: bool
) -> Node:
    return b.ResizeNearestNeighbor(
        x, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@builtin("SPACE_TO_BATCH_ND", any_type=True)
def space_to_batch(b: OperatorBuilder, x: LiteValue, block: LiteValue, paddings: LiteValue) -> Node:
    """New elements stand for zero."""
    if not x.is_quantized:
        return b.SpaceToBatchND(x, block, paddings)
    axes = block.record.shape[0]
    none = np.zeros((x.rank, 2), np.int32)
    sides = b.ConcatV2([none[:1], b.cast(paddings, INT32), none[axes + 1 :]], 0)
    return b.SpaceToBatchND(b.PadV2(x, sides, x.zero_point), block, none[:axes])


@builtin("BATCH_TO_SPACE_ND", any_type=True)
def batch_to_space(b: OperatorBuilder, x: LiteValue, block: LiteValue, crops: LiteValue) -> Node:
    return b.BatchToSpaceND(x, block, crops)


@builtin("SPACE_TO_DEPTH", any_type=True)
def space_to_depth(b: OperatorBuilder, x: LiteValue, *, block_size: int) -> Node:
    return b.SpaceToDepth(x, block_size=block_size)


@builtin("DEPTH_TO_SPACE", any_type=True)
def depth_to_space(b: OperatorBuilder, x: LiteValue, *, block_size: int) -> Node:
    return b.DepthToSpace(x, block_size=block_size)
