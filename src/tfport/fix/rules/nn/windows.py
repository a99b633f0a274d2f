"""Sliding windows over images: attributes, padding and strides of the spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.fix.nodes.attrs import attrs_without
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import with_dims
from tfport.fix.nodes.sizes import Size, Sizes
from tfport.fix.rule import refuse
from tfport.graph.graph import Node, Value

Pads = list[tuple[Size, Size]]
"""Padding before and after, for each spatial axis."""


def unpadded(n: Node, *names: str) -> dict[str, Any]:
    """The attributes of a node with padding VALID, except for these."""
    return {**attrs_without(n, "padding", "explicit_paddings", *names), "padding": "VALID"}


def ones(n: Node, *names: str) -> dict[str, list[int]]:
    """Attributes with the value 1 for every axis."""
    return {name: [1] * len(_numbers(n, name)) for name in names if name in n.attrs}


def in_space(n: Node, name: str) -> list[int]:
    """The values of an attribute for the spatial axes; refuses if channels are not last."""
    if not str(n.attrs["data_format"]).endswith("C"):
        raise refuse(f"its data_format is {n.attrs['data_format']}")
    return _numbers(n, name)[1:-1]


def explicit_pads(n: Node) -> list[tuple[int, int]]:
    """The padding of each axis, including batch and channels."""
    amounts = _numbers(n, "explicit_paddings")
    return list(zip(amounts[::2], amounts[1::2], strict=True))


def padded(op: NodeBuilder, x: Value, pads: Sequence[tuple[int, int]], *, like: Any = 0) -> Value | Node:
    """An image padded with zeros, or with another number."""
    if not any(map(any, pads)):
        return x
    around = [list(pair) for pair in pads]
    made = op.PadV2(x, around, like) if like else op.Pad(x, around)
    dims = op.shape(x)
    grown = dims and [size and size + sum(pair) for size, pair in zip(dims, pads, strict=True)]
    return with_dims(op, made, grown)


def filter_sizes(op: NodeBuilder, n: Node, place: int = 1) -> list[int]:
    """The sizes of a filter; refuses if they are unknown."""
    dims = op.shape(n.inputs[place])
    if dims is None or None in dims:
        raise refuse("the shape of its filter is unknown")
    return [size for size in dims if size is not None]


def pads_of(op: NodeBuilder, n: Node, windows: list[int]) -> Pads:
    """The padding of the spatial axes for windows of these sizes."""
    padding = n.attrs["padding"]
    if padding == "VALID":
        return [(0, 0) for _ in windows]
    if padding == "EXPLICIT":
        return [(before, after) for before, after in explicit_pads(n)[1:-1]]
    sizes = Sizes(op)
    strides = in_space(n, "strides")
    dims: list[Size] = sizes.of(n.inputs[0])[1:-1] if max(strides) > 1 else [0] * len(strides)
    return [
        _same(sizes, size, window, stride)
        for size, window, stride in zip(dims, windows, strides, strict=True)
    ]


def _same(sizes: Sizes, size: Size, window: int, stride: int) -> tuple[Size, Size]:
    """The padding of SAME; an odd element is added after."""
    if stride == 1:
        total: Size = window - 1
    else:
        covered = sizes.mul(sizes.sub(sizes.ceil_div(size, stride), 1), stride)
        total = sizes.at_least(sizes.sub(sizes.add(covered, window), size), 0)
    before = sizes.floor_div(total, 2)
    return before, sizes.sub(total, before)


def every(op: NodeBuilder, value: Node, strides: list[int]) -> Node:
    """Every n-th element along the spatial axes, by strides."""
    if max(strides) == 1:
        return value
    rank = len(strides) + 2
    steps, all_of_them = [1, *strides, 1], (1 << rank) - 1
    return op.StridedSlice(value, [0] * rank, [0] * rank, steps, begin_mask=all_of_them, end_mask=all_of_them)


def _numbers(n: Node, name: str) -> list[int]:
    attr = n.attrs[name]
    if not isinstance(attr, list):
        raise refuse(f"its {name} is {attr}")
    return [int(number) for number in attr if isinstance(number, int)]
