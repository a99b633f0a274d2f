"""Shapes as tensors, and arithmetic on sizes: by plain numbers where sizes are known, else by nodes.

Unknown sizes are read with Shape at run time. Shape vectors are int32, which every release supports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, TypeAlias

from tfport.graph.building.node_builder import Dims, NodeBuilder, T
from tfport.graph.dtypes import INT32, DType
from tfport.graph.graph import Node, Value

NodeOrValue = Node | Value
Size: TypeAlias = Any
"""A size: a number, or a scalar that is computed; None in a shape for what follows from the others."""


def known_dims(b: NodeBuilder[T], x: T | NodeOrValue) -> Dims:
    """The dimensions of a tensor; refuses if its rank is unknown."""
    dims = b.shape(x)
    if dims is None:
        raise b.refuse(f"the rank of `{b.value(x)}` is unknown")
    return dims


def rank(b: NodeBuilder[T], x: T | NodeOrValue, what: str) -> int:
    """The rank of a tensor; refuses if it is unknown."""
    dims = b.shape(x)
    if dims is None:
        raise b.refuse(f"the rank of its {what} is unknown")
    return len(dims)


def shape_of(b: NodeBuilder[T], x: T | NodeOrValue) -> T:
    """The shape of a tensor as a vector."""
    known = b.shape(x)
    if known is not None and None not in known:
        return b.tensor(b.const([size for size in known if size is not None], INT32), (len(known),))
    return b.tensor(_shape_node(b, x), (None if known is None else len(known),))


def size_at(b: NodeBuilder[T], x: T | NodeOrValue, axis: int) -> T:
    """The size of one axis, a scalar; a negative axis counts from the end."""
    known = b.shape(x)
    if known is not None and -len(known) <= axis < len(known) and (size := known[axis]) is not None:
        return b.tensor(b.const(size, INT32), ())
    return item(b, _shape_node(b, x), axis)


def sizes(b: NodeBuilder[T], x: T | NodeOrValue, rank: int | None = None) -> list[Size]:
    """Each size of a tensor; refuses if its rank is unknown, unless the caller knows it."""
    dims = known_dims(b, x) if rank is None else b.shape(x) or (None,) * rank
    if None not in dims:
        return [size for size in dims if size is not None]
    shape = _shape_node(b, x)
    return [item(b, shape, axis) if size is None else size for axis, size in enumerate(dims)]


def _shape_node(b: NodeBuilder[T], x: T | NodeOrValue) -> Node:
    return b.node("Shape", x, out_type=INT32)


def shape_vector(b: NodeBuilder[T], dims: Sequence[Size]) -> Any:
    """Sizes as one input of a node: a list of numbers, or a computed vector; None is -1."""
    whole = [-1 if size is None else size for size in dims]
    return whole if all(isinstance(size, int) for size in whole) else b.node("Pack", whole)


def open_shape(b: NodeBuilder[T], dims: Sequence[Size]) -> Any:
    """The shape that a tensor gets: the only size that is not known is -1, unless another is 0."""
    unknown = [index for index, size in enumerate(dims) if not isinstance(size, int) or size < 0]
    if len(unknown) != 1 or 0 in dims:
        return shape_vector(b, dims)
    return [-1 if index in unknown else size for index, size in enumerate(dims)]


def item(b: NodeBuilder[T], vector: T | NodeOrValue, index: int) -> T:
    """One element of a vector, a scalar."""
    # there is no negative index for the end behind the last element
    after, open_end = ([0], 1) if index == -1 else ([index + 1], 0)
    masks = {"end_mask": open_end, "shrink_axis_mask": 1} if open_end else {"shrink_axis_mask": 1}
    return b.tensor(b.node("StridedSlice", vector, [index], after, [1], **masks), ())


def part(
    b: NodeBuilder[T], vector: T | NodeOrValue, start: int | None = None, stop: int | None = None
) -> Value:
    """`vector[start:stop]`."""
    masks = {"begin_mask": int(start is None), "end_mask": int(stop is None)}
    return b.node("StridedSlice", vector, [start or 0], [stop or 0], [1], **masks).output(0)


def joined(b: NodeBuilder[T], *parts: NodeOrValue | Sequence[int]) -> Value:
    """Concatenate vectors; plain numbers are constant vectors."""
    whole = [p if isinstance(p, Node | Value) else b.const(list(p), INT32) for p in parts]
    return b.node("ConcatV2", whole, 0).output(0) if len(whole) > 1 else b.value(whole[0])


def product(b: NodeBuilder[T], vector: NodeOrValue) -> Value:
    """The product of a vector's elements, as a vector of length 1."""
    return b.node("Prod", vector, [0], keep_dims=True).output(0)


def scalar(b: NodeBuilder[T], vector: NodeOrValue) -> Value:
    """The only element of a vector."""
    return b.node("Reshape", vector, b.const([], INT32)).output(0)


def count_to(b: NodeBuilder[T], size: Size, dtype: DType = INT32) -> T:
    """The vector 0, 1, … up to a scalar int32 size, in a dtype."""
    numbers = b.tensor(b.node("Range", 0, size, 1), (size if isinstance(size, int) else None,))
    return b.cast(numbers, dtype)


def numbers(b: NodeBuilder[T], value: Value, what: str) -> list[int]:
    """The elements of a constant; refuses if the value is not constant."""
    known = b.array(value)
    if known is None:
        raise b.refuse(f"its {what} is not constant")
    return [int(element) for element in known.reshape(-1)]


def number(b: NodeBuilder[T], value: Value, what: str) -> int:
    """The only element of a constant."""
    known = numbers(b, value, what)
    if len(known) != 1:
        raise b.refuse(f"its {what} must be one number, got {len(known)}")
    return known[0]


def covers(own: Dims | None, other: Dims | None) -> bool:
    """Whether broadcasting with another shape is known not to change a shape."""
    if other == () or (own is not None and own == other and None not in own):
        return True
    if own is None or other is None or len(other) > len(own):
        return False
    pairs = zip(own[len(own) - len(other) :], other, strict=True)
    return all(theirs == 1 or (theirs is not None and theirs == ours) for ours, theirs in pairs)


class Sizes:
    """Computes known sizes at once, and adds nodes for the others."""

    def __init__(self, b: NodeBuilder[Any]) -> None:
        self.b = b

    def of(self, x: Any, rank: int | None = None) -> list[Size]:
        return sizes(self.b, x, rank)

    def add(self, x: Size, y: Size) -> Size:
        return self._compute("Add", x, y, lambda a, b: a + b)

    def sub(self, x: Size, y: Size) -> Size:
        return self._compute("Sub", x, y, lambda a, b: a - b)

    def mul(self, x: Size, y: Size) -> Size:
        return self._compute("Mul", x, y, lambda a, b: a * b)

    def product(self, sizes: Iterable[Size]) -> Size:
        return reduce(self.mul, sizes, 1)

    def floor_div(self, x: Size, y: int) -> Size:
        return self._compute("FloorDiv", x, y, lambda a, b: a // b)

    def ceil_div(self, x: Size, y: int) -> Size:
        return self.floor_div(self.add(x, y - 1), y)

    def mod(self, x: Size, y: int) -> Size:
        return self._compute("FloorMod", x, y, lambda a, b: a % b)

    def at_least(self, x: Size, y: Size) -> Size:
        return self._compute("Maximum", x, y, max)

    def at_most(self, x: Size, y: Size) -> Size:
        return self._compute("Minimum", x, y, min)

    def vector(self, sizes: Sequence[Size]) -> Any:
        return shape_vector(self.b, sizes)

    def matrix(self, rows: Sequence[Sequence[Size]]) -> Any:
        """Rows of sizes as one input of a node."""
        vectors = [self.vector(row) for row in rows]
        return vectors if all(isinstance(row, list) for row in vectors) else self.b.node("Pack", vectors)

    def _compute(self, op: str, x: Size, y: Size, known: Callable[[int, int], int]) -> Size:
        if isinstance(x, int) and isinstance(y, int):
            return known(x, y)
        if op in ("Add", "Sub") and y == 0:
            return x
        if op == "Mul" and x == 1:
            return y
        return self.b.tensor(self.b.node(op, x, y), ())
