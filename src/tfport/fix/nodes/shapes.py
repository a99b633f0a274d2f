"""Sizes while a model runs, for rules: what is known becomes a constant, the rest is asked of the tensor.

Vectors of sizes are int32, which every release takes. What is done with them is the rules' business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import refuse
from tfport.graph.dtypes import INT32, DType
from tfport.graph.graph import Node, Value
from tfport.graph.shapes import Shape
from tfport.graph.signature import Arg

Given = Node | Value
Dims = tuple[int | None, ...]


def first(given: Given) -> Value:
    """A value, or the first output of a node."""
    return given.output(0) if isinstance(given, Node) else given


def sizes(op: NodeBuilder, given: Given) -> Value:
    """The shape of a value as a vector."""
    known = op.shape(first(given))
    if known is not None and None not in known:
        return op.const([size for size in known if size is not None], INT32)
    return op.Shape(given, out_type="int32").output(0)


def size_at(op: NodeBuilder, given: Given, axis: int) -> Value:
    """One size of a value, a scalar; the axis may count from the end."""
    known = op.shape(first(given))
    if known is not None and -len(known) <= axis < len(known) and (size := known[axis]) is not None:
        return op.const(size, INT32)
    return item(op, op.Shape(given, out_type="int32"), axis)


def item(op: NodeBuilder, vector: Given, place: int) -> Value:
    """One element of a vector, a scalar."""
    # the element after the last has no number of its own to count from the end
    after, open_end = ([0], 1) if place == -1 else ([place + 1], 0)
    return op.StridedSlice(vector, [place], after, [1], end_mask=open_end, shrink_axis_mask=1).output(0)


def part(op: NodeBuilder, vector: Given, start: int | None = None, stop: int | None = None) -> Value:
    """`vector[start:stop]`."""
    return op.StridedSlice(
        vector, [start or 0], [stop or 0], [1], begin_mask=int(start is None), end_mask=int(stop is None)
    ).output(0)


def joined(op: NodeBuilder, *parts: Given | Sequence[int]) -> Value:
    """Vectors one after another; plain numbers are vectors of constants."""
    whole = [p if isinstance(p, Node | Value) else op.const(list(p), INT32) for p in parts]
    return op.ConcatV2(whole, 0).output(0) if len(whole) > 1 else first(whole[0])


def product(op: NodeBuilder, vector: Given) -> Value:
    """The product of a vector's elements, as a vector of one."""
    return op.Prod(vector, [0], keep_dims=True).output(0)


def scalar(op: NodeBuilder, vector: Given) -> Value:
    """The only element of a vector."""
    return op.Reshape(vector, op.const([], INT32)).output(0)


def count_to(op: NodeBuilder, size: Given, dtype: DType = INT32) -> Value:
    """The numbers from 0 up to a scalar int32 size, as a vector of a type."""
    numbers = op.Range(0, size, 1)
    return cast(op, numbers, dtype)


def cast(op: NodeBuilder, given: Given, dtype: DType) -> Value:
    """A value in another type; itself where that is its type."""
    value = first(given)
    return value if value.dtype.base == dtype else op.Cast(value, DstT=dtype).output(0)


def like(op: NodeBuilder, made: Given, known: Value) -> Value:
    """What was made, of which it is known that it has the shape of another value."""
    value = first(made)
    op.facts.tell(value, op.facts.shape(known))
    return value


def told(op: NodeBuilder, made: Given, dims: Sequence[int | None] | None) -> Value:
    """What was made, of which these sizes are known."""
    value = first(made)
    if dims is not None:
        op.facts.tell(value, Shape(tuple(dims)))
    return value


def rank(op: NodeBuilder, value: Value, what: str) -> int:
    """The known rank of a value; refused where it is not."""
    known = op.shape(value)
    if known is None:
        raise refuse(f"the rank of its {what} is not known")
    return len(known)


def numbers(op: NodeBuilder, value: Value, what: str) -> list[int]:
    """The elements of a constant; refused where the value is none."""
    known = op.constant(value)
    if known is None:
        raise refuse(f"its {what} is no constant")
    return [int(one) for one in known.reshape(-1)]


def number(op: NodeBuilder, value: Value, what: str) -> int:
    """The only element of a constant."""
    known = numbers(op, value, what)
    if len(known) != 1:
        raise refuse(f"its {what} is {len(known)} numbers rather than one")
    return known[0]


def covers(own: Dims | None, other: Dims | None) -> bool:
    """Whether a shape is known to stay as it is when another is broadcast with it."""
    if other == () or (own is not None and own == other and None not in own):
        return True
    if own is None or other is None or len(other) > len(own):
        return False
    pairs = zip(own[len(own) - len(other) :], other, strict=True)
    return all(theirs == 1 or (theirs is not None and theirs == ours) for ours, theirs in pairs)


def arguments(n: Node) -> Iterator[tuple[int, Arg]]:
    """The place of each input of a node, and the argument that it is."""
    place = 0
    for arg in n.signature.inputs if n.signature is not None else ():
        for _ in range(arg.count(n.attrs)):
            yield place, arg
            place += 1
