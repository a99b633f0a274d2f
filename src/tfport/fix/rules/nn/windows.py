"""Windows that move over images: what their attributes say of each dimension of space, for rules to use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import with_dims
from tfport.fix.nodes.sizes import Size, Sizes
from tfport.fix.rule import refuse
from tfport.graph.graph import Node, Value

Pads = list[tuple[Size, Size]]
"""Before and after, in each dimension of space."""


def without(n: Node, *names: str) -> dict[str, Any]:
    """The attributes of a node but some."""
    return {name: value for name, value in n.attrs.items() if name not in names}


def unpadded(n: Node, *names: str) -> dict[str, Any]:
    """The attributes of a node that adds no padding, but some."""
    return {**without(n, "padding", "explicit_paddings", *names), "padding": "VALID"}


def ones(n: Node, *names: str) -> dict[str, list[int]]:
    """Attributes that say 1 for every dimension."""
    return {name: [1] * len(_numbers(n, name)) for name in names if name in n.attrs}


def in_space(n: Node, name: str) -> list[int]:
    """What an attribute says of each dimension of space; refused where channels do not come last."""
    if not str(n.attrs["data_format"]).endswith("C"):
        raise refuse(f"the layout is {n.attrs['data_format']}")
    return _numbers(n, name)[1:-1]


def explicit_pads(n: Node) -> list[tuple[int, int]]:
    """What is added in each dimension, that of the batch and the channels too."""
    amounts = _numbers(n, "explicit_paddings")
    return list(zip(amounts[::2], amounts[1::2], strict=True))


def padded(op: NodeBuilder, x: Value, pads: Sequence[tuple[int, int]], *, like: Any = 0) -> Value | Node:
    """An image with zeros around it, or others like those."""
    if not any(map(any, pads)):
        return x
    around = [list(pair) for pair in pads]
    made = op.PadV2(x, around, like) if like else op.Pad(x, around)
    dims = op.shape(x)
    grown = dims and [size and size + sum(pair) for size, pair in zip(dims, pads, strict=True)]
    return with_dims(op, made, grown)


def filter_sizes(op: NodeBuilder, n: Node, place: int = 1) -> list[int]:
    """The sizes of a filter, which must be known."""
    dims = op.shape(n.inputs[place])
    if dims is None or None in dims:
        raise refuse("the shape of the filter is not known")
    return [size for size in dims if size is not None]


def pads_of(op: NodeBuilder, n: Node, windows: list[int]) -> Pads:
    """What is added in each dimension of space for windows of these sizes."""
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
    """For as many windows as there are strides; the odd one comes after."""
    if stride == 1:
        total: Size = window - 1
    else:
        covered = sizes.mul(sizes.sub(sizes.ceil_div(size, stride), 1), stride)
        total = sizes.at_least(sizes.sub(sizes.add(covered, window), size), 0)
    before = sizes.floor_div(total, 2)
    return before, sizes.sub(total, before)


def every(op: NodeBuilder, value: Node, strides: list[int]) -> Node:
    """Each so-manieth element along the dimensions of space."""
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
