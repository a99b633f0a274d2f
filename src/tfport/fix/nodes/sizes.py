"""Sizes that are known beforehand or when the model runs: one arithmetic for both, for rules to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import refuse
from tfport.graph.graph import Node, Value

Size = int | Value | Node


class Sizes:
    """Arithmetic on sizes; what is known is computed at once, of the rest nodes are made."""

    def __init__(self, op: NodeBuilder) -> None:
        self.op = op

    def of(self, value: Value, rank: int | None = None) -> list[Size]:
        """The sizes of a value; refused where not even the rank is known, unless it can only be one."""
        dims = self.op.shape(value) or (rank and (None,) * rank)
        if not dims:
            raise refuse(f"the rank of `{value}` is not known")
        if None not in dims:
            return [int(size) for size in dims if size is not None]
        shape = self.op.Shape(value, out_type="int32")
        return [
            size
            if size is not None
            else self.op.StridedSlice(shape, [place], [place + 1], [1], shrink_axis_mask=1)
            for place, size in enumerate(dims)
        ]

    def add(self, a: Size, b: Size) -> Size:
        return self._of("Add", a, b, lambda x, y: x + y)

    def sub(self, a: Size, b: Size) -> Size:
        return self._of("Sub", a, b, lambda x, y: x - y)

    def mul(self, a: Size, b: Size) -> Size:
        return self._of("Mul", a, b, lambda x, y: x * y)

    def floor_div(self, a: Size, b: int) -> Size:
        return self._of("FloorDiv", a, b, lambda x, y: x // y)

    def ceil_div(self, a: Size, b: int) -> Size:
        return self.floor_div(self.add(a, b - 1), b)

    def mod(self, a: Size, b: int) -> Size:
        return self._of("FloorMod", a, b, lambda x, y: x % y)

    def at_least(self, a: Size, b: int) -> Size:
        return self._of("Maximum", a, b, max)

    def vector(self, sizes: Sequence[Size]) -> Any:
        """Sizes as one input of a node."""
        return list(sizes) if all(isinstance(one, int) for one in sizes) else self.op.Pack(list(sizes))

    def matrix(self, rows: Sequence[Sequence[Size]]) -> Any:
        """Rows of sizes as one input of a node."""
        if all(isinstance(one, int) for row in rows for one in row):
            return [list(row) for row in rows]
        return self.op.Pack([self.vector(row) for row in rows])

    def _of(self, op: str, a: Size, b: Size, known: Callable[[int, int], int]) -> Size:
        if isinstance(a, int) and isinstance(b, int):
            return known(a, b)
        if op in ("Add", "Sub") and b == 0:
            return a
        return self.op.node(op, a, b)
