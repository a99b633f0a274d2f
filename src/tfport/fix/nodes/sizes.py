"""Arithmetic on sizes: on plain numbers where sizes are known, else by nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import Dims, item
from tfport.fix.rule import refuse
from tfport.graph.graph import Node, Value

Size = int | Value | Node


class Sizes:
    """Computes known sizes at once, and adds nodes for the others."""

    def __init__(self, op: NodeBuilder) -> None:
        self.op = op

    def of(self, value: Value, rank: int | None = None) -> list[Size]:
        """The sizes of a value; refuses if its rank is unknown, unless the caller knows it."""
        dims: Dims | None = self.op.shape(value)
        if dims is None and rank is not None:
            dims = (None,) * rank
        if dims is None:
            raise refuse(f"the rank of `{value}` is unknown")
        if None not in dims:
            return [size for size in dims if size is not None]
        shape = self.op.Shape(value, out_type="int32")
        return [size if size is not None else item(self.op, shape, axis) for axis, size in enumerate(dims)]

    def add(self, a: Size, b: Size) -> Size:
        return self._compute("Add", a, b, lambda x, y: x + y)

    def sub(self, a: Size, b: Size) -> Size:
        return self._compute("Sub", a, b, lambda x, y: x - y)

    def mul(self, a: Size, b: Size) -> Size:
        return self._compute("Mul", a, b, lambda x, y: x * y)

    def floor_div(self, a: Size, b: int) -> Size:
        return self._compute("FloorDiv", a, b, lambda x, y: x // y)

    def ceil_div(self, a: Size, b: int) -> Size:
        return self.floor_div(self.add(a, b - 1), b)

    def mod(self, a: Size, b: int) -> Size:
        return self._compute("FloorMod", a, b, lambda x, y: x % y)

    def at_least(self, a: Size, b: int) -> Size:
        return self._compute("Maximum", a, b, max)

    def vector(self, sizes: Sequence[Size]) -> Any:
        """Sizes as one input of a node."""
        return list(sizes) if all(isinstance(size, int) for size in sizes) else self.op.Pack(list(sizes))

    def matrix(self, rows: Sequence[Sequence[Size]]) -> Any:
        """Rows of sizes as one input of a node."""
        if all(isinstance(size, int) for row in rows for size in row):
            return [list(row) for row in rows]
        return self.op.Pack([self.vector(row) for row in rows])

    def _compute(self, op: str, a: Size, b: Size, known: Callable[[int, int], int]) -> Size:
        if isinstance(a, int) and isinstance(b, int):
            return known(a, b)
        if op in ("Add", "Sub") and b == 0:
            return a
        return self.op.node(op, a, b)
