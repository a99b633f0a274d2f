"""Nodes that compute along whole axes: means, sums, Softmax, largest elements; and images of other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, constant_value
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.rules.elementwise import broadcast, last_axis
from tfport.runtime.size_expression import SizeExpression

REDUCTIONS = {
    "ReduceL2": "SUM", "ReduceMax": "REDUCE_MAX", "ReduceMean": "MEAN", "ReduceMin": "REDUCE_MIN",
    "ReduceProd": "REDUCE_PROD", "ReduceSum": "SUM", "ReduceSumSquare": "SUM",
}  # fmt: skip
OF_BOOLS = {"REDUCE_MAX": "REDUCE_ANY", "REDUCE_MIN": "REDUCE_ALL"}
EXTREMES = {"ArgMax": "ARG_MAX", "ArgMin": "ARG_MIN"}
CENTERS = {"align_corners": "align_corners", "half_pixel": "half_pixel_centers", "asymmetric": ""}
NEAREST = {"align_corners": "round_prefer_ceil", "half_pixel": "round_prefer_ceil", "asymmetric": "floor"}
"""How each way of counting rounds to the nearest element, as TensorFlow Lite does."""


def reduction(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    axes = node.list_of("axes", 1)
    if axes is None and node.attrs.get("noop_with_empty_axes"):
        return x
    gone = {axis % len(x.sizes) for axis in axes} if axes else set(range(len(x.sizes)))
    if node.op in ("ReduceL2", "ReduceSumSquare"):
        x = out.add("MUL", [x.tensor, x.tensor], x.sizes, x.order, x.dtype)
    op = REDUCTIONS[node.op]
    keep = bool(node.attrs.get("keepdims", 1))
    result = reduced(out, x, OF_BOOLS.get(op, op) if x.dtype == "bool" else op, gone, keep=keep)
    if node.op == "ReduceL2":
        result = out.add("SQRT", [result.tensor], result.sizes, result.order, result.dtype)
    return result


def global_mean(out: LiteScribe, node: IslandNode) -> IslandValue:
    return reduced(out, node.first, "MEAN", set(range(2, len(node.first.sizes))))


def reduced(out: LiteScribe, x: IslandValue, op: str, gone: set[int], *, keep: bool = True) -> IslandValue:
    sizes, order = [1 if axis in gone else size for axis, size in enumerate(x.sizes)], x.order
    positions = out.ints(*sorted(x.position(axis) for axis in gone))
    if not keep:
        kept = [axis for axis in range(len(x.sizes)) if axis not in gone]
        sizes, order = [x.sizes[axis] for axis in kept], tuple(kept.index(a) for a in x.order if a in kept)
    return out.add(op, [x.tensor, positions], sizes, order, x.dtype, keep_dims=keep)


def extreme(out: LiteScribe, node: IslandNode) -> IslandValue:
    """The places of the largest or smallest elements of an axis."""
    x, axis = node.first, node.attrs.get("axis", 0) % len(node.first.sizes)
    if node.attrs.get("select_last_index"):
        raise NotInLite(f"{node.op} of the last of several")
    order = [other - (other > axis) for other in x.order if other != axis]
    sizes = [size for other, size in enumerate(x.sizes) if other != axis]
    tensors = [x.tensor, out.array(np.array(x.position(axis), np.int32))]
    result = out.add(EXTREMES[node.op], tensors, sizes, order, "int64", output_type="INT64")
    if not node.attrs.get("keepdims", 1):
        return result
    kept = [1 if other == axis else size for other, size in enumerate(x.sizes)]
    return out.reshaped(out.plain(result), kept, None, "int64")


def largest(out: LiteScribe, node: IslandNode) -> Sequence[IslandValue]:
    """TopK; the smallest elements are the largest negative ones."""
    x, count = node.first, node.value(1)
    order = last_axis(x, node.attrs.get("axis", -1) % len(x.sizes))
    is_largest = node.attrs.get("largest", 1)
    if not is_largest:
        x = out.add("NEG", [x.tensor], x.sizes, x.order, x.dtype)
    known = int(count.array.reshape(-1)[0]) if count.array is not None and not count.is_of_sizes else None
    if known is None:
        k = out.reshaped(out.cast(out.as_tensor(count), "int32").tensor, (), None, "int32").tensor
    else:
        k = out.array(np.array(known, np.int32))
    sizes = [known if axis == order[-1] else size for axis, size in enumerate(x.sizes)]
    results = [(sizes, x.dtype), (sizes, "int32")]
    values, places = out.add_all("TOPK_V2", [out.in_order(x, order), k], results, order)
    if not is_largest:
        values = out.add("NEG", [values.tensor], values.sizes, values.order, values.dtype)
    return [values, out.cast(places, "int64")]


def running_sum(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, axis = node.first, int(node.value(1).constant().reshape(()))
    tensors = [x.tensor, out.array(np.array(x.position(axis), np.int32))]
    options = {name: bool(node.attrs.get(name)) for name in ("exclusive", "reverse")}
    return out.add("CUMSUM", tensors, x.sizes, x.order, x.dtype, **options)


def normalization(out: LiteScribe, node: IslandNode) -> IslandValue:
    """LayerNormalization of the last axes, or InstanceNormalization of each channel."""
    x, rank = node.first, len(node.first.sizes)
    is_instance = node.op == "InstanceNormalization"
    first = 2 if is_instance else node.attrs.get("axis", -1) % rank
    gone = set(range(first, rank))
    centered = broadcast(out, "SUB", [x, reduced(out, x, "MEAN", gone)])
    variance = reduced(out, broadcast(out, "MUL", [centered, centered]), "MEAN", gone)
    epsilon = constant_value(np.array(node.attrs.get("epsilon", 1e-5), np.float32))
    shifted = broadcast(out, "ADD", [variance, epsilon])
    deviation = out.add("SQRT", [shifted.tensor], shifted.sizes, shifted.order)
    result = broadcast(out, "DIV", [centered, deviation])
    for op, number in (("MUL", 1), ("ADD", 2)):
        factor = node.optional(number)
        if factor is not None and is_instance:
            factor = constant_value(factor.constant().reshape(-1, *[1] * (rank - 2)))
        result = result if factor is None else broadcast(out, op, [result, factor])
    return result


def softmax(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    axis = node.attrs.get("axis", -1) % len(x.sizes)
    order = last_axis(x, axis)
    if node.op == "LogSoftmax":
        return out.add("LOG_SOFTMAX", [out.in_order(x, order)], x.sizes, order)
    return out.add("SOFTMAX", [out.in_order(x, order)], x.sizes, order, beta=1.0)


def resize(out: LiteScribe, node: IslandNode) -> IslandValue:
    """Images of other sizes, by linear interpolation or the nearest element."""
    x, mode = node.first, node.attrs.get("mode", "nearest")
    centers = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    if len(x.sizes) != 4 or mode not in ("linear", "nearest") or centers not in CENTERS:
        raise NotInLite(f"Resize in the mode {mode} by {centers}")
    if node.attrs.get("antialias") or node.attrs.get("exclude_outside"):
        raise NotInLite("Resize with such settings")
    if mode == "nearest" and node.attrs.get("nearest_mode", "round_prefer_floor") != NEAREST[centers]:
        raise NotInLite(f"Resize to the nearest element by {node.attrs.get('nearest_mode')}")
    new_sizes, numbers = _new_sizes(node)
    moved = _resized_axes(node, new_sizes)
    order = (0, *moved, *({1, 2, 3} - set(moved)))
    height, width = (new_sizes[axis] for axis in moved)
    vector = (
        out.sizes([height, width])
        if numbers is None
        else out.plain(out.cast(out.as_tensor(numbers), "int32"))
    )
    options = {CENTERS[centers]: True} if CENTERS[centers] else {}
    op = "RESIZE_BILINEAR" if mode == "linear" else "RESIZE_NEAREST_NEIGHBOR"
    return out.add(op, [out.in_order(x, order), vector], new_sizes, order, x.dtype, **options)


def _new_sizes(node: IslandNode) -> tuple[list[Any], IslandValue | None]:
    """The sizes of the result, and the vector that a run computes for those that are None."""
    x, scales, sizes = node.first, node.optional(2), node.optional(3)
    axes = node.attrs.get("axes") or range(4)
    result: list[Any] = list(x.sizes)
    if sizes is not None and sizes.array is not None and sizes.array.size:
        for axis, size in zip(axes, sizes.array, strict=True):
            result[axis] = size if isinstance(size, SizeExpression) else int(size)
        return result, None
    if sizes is not None and sizes.array is None:
        if list(axes) == [2, 3]:
            return [*result[:2], None, None], sizes
        raise NotInLite("Resize to sizes that are computed")
    if scales is None or scales.array is None or not scales.array.size:
        raise NotInLite("Resize to sizes that are computed")
    for axis, scale in zip(axes, scales.array.tolist(), strict=True):
        size = result[axis]
        if not isinstance(size, int) and scale != int(scale):
            raise NotInLite("Resize of unknown sizes by a fraction")
        result[axis] = size * int(scale) if scale == int(scale) else int(size * scale)
    return result, None


def _resized_axes(node: IslandNode, sizes: Sequence[Any]) -> tuple[int, int]:
    """The two axes of the image: those that change, or those of ONNX's order."""
    changed = [axis for axis in range(4) if sizes[axis] != node.first.sizes[axis]]
    if set(changed) <= {2, 3}:
        return 2, 3
    if set(changed) <= {1, 2}:
        return 1, 2
    raise NotInLite("Resize of other axes")
