"""Operators on images and boxes: resizing, pooling, non-maximum suppression."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.frontends.lite.activations import activate
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.lite.windows import Pooling2D
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value

# Resizing, and blocks that move between axes


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
    return b.SpaceToDepth(x, block_size=block_size) if block_size > 1 else b.Identity(x)


@builtin("DEPTH_TO_SPACE", any_type=True)
def depth_to_space(b: OperatorBuilder, x: LiteValue, *, block_size: int) -> Node:
    return b.DepthToSpace(x, block_size=block_size) if block_size > 1 else b.Identity(x)


@builtin("AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D")
def pool_2d(
    b: OperatorBuilder,
    x: LiteValue,
    *,
    windows: Pooling2D = Pooling2D,  # type: ignore[assignment]
) -> Value:
    """Real numbers; an average of squares under a root is the L2 pool; padding counts in none."""
    op = b.operator.code.op
    y = b.node(
        "MaxPool" if op == "MAX_POOL_2D" else "AvgPool",
        b.Square(x) if op == "L2_POOL_2D" else x,
        ksize=windows.ksize,
        strides=windows.strides,
        padding=windows.padding,
    )
    return activate(b, b.Sqrt(y) if op == "L2_POOL_2D" else y, windows.fused_activation_function)


@builtin("NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5")
def non_max_suppression(
    b: OperatorBuilder,
    boxes: LiteValue,
    scores: LiteValue,
    most: LiteValue,
    overlap: LiteValue,
    lowest: LiteValue,
    sigma: LiteValue | None = None,
) -> list[Value]:
    """Boxes that overlap others of a higher score are left out.

    Returns indices, with scores if there is a `sigma`, padded with zeros, and how many are selected.
    """
    last = 0.0 if sigma is None else _number(b, sigma)
    node = b.LiteNonMaxSuppression(boxes, scores, *(_number(b, x) for x in (most, overlap, lowest)), last)
    return [node.output(i) for i in ((0, 2) if sigma is None else (0, 1, 2))]


def _number(b: OperatorBuilder, x: LiteValue) -> Any:
    """Scalars may be stored as vectors of one element."""
    return x if x.rank == 0 else b.Reshape(x, b.const([], b.dtype("INT32")))
