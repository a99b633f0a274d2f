"""Nodes that compute along whole axes: means, sums, Softmax; and images of other sizes."""

from __future__ import annotations

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, channels_last
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.rules.elementwise import last_axis
from tfport.runtime.engines.litert.rules.moving import without_axes

REDUCTIONS = {"ReduceMax": "REDUCE_MAX", "ReduceMean": "MEAN", "ReduceMin": "REDUCE_MIN", "ReduceSum": "SUM"}
CENTERS = {"align_corners": "align_corners", "half_pixel": "half_pixel_centers", "asymmetric": ""}


def reduction(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    axes = node.list_of("axes", 1)
    if axes is None and node.attrs.get("noop_with_empty_axes"):
        return x
    gone = {axis % len(x.sizes) for axis in axes} if axes else set(range(len(x.sizes)))
    result = _reduced(out, x, REDUCTIONS[node.op], gone)
    return result if node.attrs.get("keepdims", 1) else without_axes(out, result, gone)


def global_mean(out: LiteScribe, node: IslandNode) -> IslandValue:
    return _reduced(out, node.first, "MEAN", set(range(2, len(node.first.sizes))))


def _reduced(out: LiteScribe, x: IslandValue, op: str, gone: set[int]) -> IslandValue:
    sizes = [1 if axis in gone else size for axis, size in enumerate(x.sizes)]
    positions = out.ints(*sorted(x.position(axis) for axis in gone))
    return out.add(op, [x.tensor, positions], sizes, x.order, keep_dims=True)


def softmax(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    axis = node.attrs.get("axis", -1) % len(x.sizes)
    order = last_axis(x, axis)
    return out.add("SOFTMAX", [out.in_order(x, order)], x.sizes, order, beta=1.0)


def resize(out: LiteScribe, node: IslandNode) -> IslandValue:
    """Linear interpolation in images."""
    x, scales, sizes = node.first, node.known(2), node.known(3)
    mode = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    if len(x.sizes) != 4 or node.attrs.get("mode") != "linear" or mode not in CENTERS:
        raise NotInLite("Resize in such a way")
    if node.attrs.get("antialias") or node.attrs.get("exclude_outside") or "axes" in node.attrs:
        raise NotInLite("Resize with such settings")
    if sizes is None or tuple(sizes[:2]) != x.sizes[:2] or (scales is not None and scales.size):
        raise NotInLite("Resize of other axes")
    height, width = int(sizes[2]), int(sizes[3])
    image = out.in_order(x, channels_last(x.sizes))
    options = {CENTERS[mode]: True} if CENTERS[mode] else {}
    return out.add(
        "RESIZE_BILINEAR",
        [image, out.ints(height, width)],
        (*x.sizes[:2], height, width),
        (0, 2, 3, 1),
        **options,
    )
