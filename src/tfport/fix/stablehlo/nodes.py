"""Build the nodes of a StableHLO program: `op`, the first argument of every translation.

`op.AddV2(x, y)` adds a node, as in rewrite rules. Results are tensors (`HloTensor`) of known rank;
sizes that a program does not state are read at run time (`op.sizes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import NodeOrValue, cast, first
from tfport.fix.nodes.sizes import Size, Sizes
from tfport.fix.rule import refuse
from tfport.fix.stablehlo.tensor import Dims, HloTensor, constant_tensor, stated
from tfport.graph.dtypes import INT32, DType
from tfport.graph.graph import Function, Node, Value

if TYPE_CHECKING:
    from tfport.fix.stablehlo.program import ProgramBuilder

MOST_NODES = 500_000


class HloNodes(NodeBuilder):
    """Adds the nodes of one function."""

    def __init__(self, program: ProgramBuilder, function: Function, checker: NodeChecker) -> None:
        super().__init__(Node(function, "xla", "NoOp"), Facts(), checker)
        self.program = program
        self.sizes = Sizes(self)

    def tensor(self, made: NodeOrValue, dims: Dims, dtype: DType | None = None) -> HloTensor:
        """A new value with its dimensions."""
        value = first(made)
        return HloTensor(self, dims, dtype or value.dtype.base, value)

    def known(self, array: Any) -> HloTensor:
        """A constant."""
        return constant_tensor(self, array)

    def filled(self, element: Any, dims: Dims) -> HloTensor:
        """A constant with equal elements."""
        return constant_tensor(self, np.broadcast_to(np.asarray(element), stated(dims)))

    def spread(self, made: NodeOrValue, like: HloTensor) -> HloTensor:
        """A new value that broadcasts to the shape of another."""
        value = first(made)
        return HloTensor(self, like.dims, value.dtype.base, compact=value, shape=like.shape)

    def each(self, name: str, *operands: HloTensor, dtype: DType | None = None) -> HloTensor:
        """Apply an op that broadcasts its operands."""
        whole = next((x for x in operands if x.rank and not x.is_compact), None)
        made = self.node(name, *(x.compact for x in operands))
        like = whole or next((x for x in operands if x.rank), operands[0])
        if whole is None and like.rank:
            return self.spread(made, like)
        return self.tensor(made, like.dims, dtype)

    def dims_of(self, x: HloTensor) -> list[Size]:
        """The size of each axis: a number, or a value for one that the program does not state."""
        return self.sizes.of(x.value)

    def vector(self, sizes: Sequence[Size]) -> Any:
        """Sizes as an input of a node; one unknown size among others that are not 0 is -1."""
        unknown = [place for place, size in enumerate(sizes) if not isinstance(size, int)]
        if len(unknown) == 1 and 0 not in sizes:
            return self.const([size if isinstance(size, int) else -1 for size in sizes], INT32)
        if not unknown:
            return self.const([size for size in sizes if isinstance(size, int)], INT32)
        return self.sizes.vector(sizes)

    def count(self, sizes: Sequence[Size]) -> Size:
        """The product of sizes."""
        start: Size = 1
        return reduce(self.sizes.mul, sizes, start)

    def reshaped(self, x: NodeOrValue, sizes: Sequence[Size]) -> Value:
        """A value with other sizes and the same number of elements."""
        return self.Reshape(x, self.vector(sizes)).output(0)

    def transposed(self, x: NodeOrValue, order: Sequence[int]) -> Value:
        """A value with its axes in another order; itself if the order is the same."""
        if list(order) == list(range(len(order))):
            return first(x)
        return self.Transpose(x, self.const(list(order), INT32)).output(0)

    def whole_number(self, x: HloTensor) -> Value:
        """An integer tensor as int32, as shapes and indices are passed on."""
        return self.const(x.array, INT32) if x.array is not None else cast(self, x.value, INT32)

    def _add(self, op: str, values: Sequence[Value], attrs: dict[str, Any]) -> Node:
        if len(self.made) >= MOST_NODES:
            raise refuse(f"it needs more than {MOST_NODES:,} nodes")
        return super()._add(op, values, attrs)
