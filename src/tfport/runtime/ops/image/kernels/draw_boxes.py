"""Drawing of bounding boxes on images."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host

_COLORS = np.array(
    [
        [1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1],
    ],
    np.float32,
)  # fmt: skip


@host("DrawBoundingBoxes")
def draw_bounding_boxes(images, boxes):
    return _draw_all(images, boxes, np.zeros((0, 4), np.float32))


@host("DrawBoundingBoxesV2")
def draw_bounding_boxes_v2(images, boxes, colors):
    return _draw_all(images, boxes, colors)


def _draw_all(images: Any, boxes: Any, colors: Any) -> Any:
    if images.ndim != 4 or boxes.ndim != 3 or images.shape[0] != boxes.shape[0] or boxes.shape[2] != 4:
        raise RunFailed(
            "images must have shape [n, height, width, depth] and boxes [n, count, 4], "
            f"found {list(images.shape)} and {list(boxes.shape)}"
        )
    depth = images.shape[3]
    if depth not in (1, 3, 4) or colors.ndim != 2 or colors.shape[1] < depth:
        raise RunFailed(
            "images must have 1, 3 or 4 channels, and colors at least as many, "
            f"found shapes {list(images.shape)} and {list(colors.shape)}"
        )
    if not colors.size:
        colors = _COLORS.copy()
        if depth == 1:
            colors[:, 0] = 1
    out = images.copy()
    sides = np.array([images.shape[1] - 1, images.shape[2] - 1] * 2).astype(np.float32)
    corners = (boxes * sides).astype(np.int64)
    for canvas, image_boxes in zip(out, corners, strict=True):
        for i, (top, left, bottom, right) in enumerate(image_boxes.tolist()):
            _draw(canvas, top, left, bottom, right, colors[i % len(colors), :depth].astype(images.dtype))
    return out


def _draw(canvas: Any, top: int, left: int, bottom: int, right: int, color: Any) -> None:
    height, width, _ = canvas.shape
    if top > bottom or left > right or top >= height or left >= width or bottom < 0 or right < 0:
        return
    rows, columns = slice(max(top, 0), bottom + 1), slice(max(left, 0), right + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            canvas[row, columns] = color
    for column in (left, right):
        if 0 <= column < width:
            canvas[rows, column] = color
