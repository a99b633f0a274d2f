"""Shapes as tensors: known sizes become constants, other sizes are read with Shape at run time.

Shape vectors are int32, which every release supports. Arithmetic on single sizes: `nodes.sizes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import refuse
from tfport.graph.dtypes import INT32, DType
from tfport.graph.graph import Node, Value
from tfport.graph.op_signature import Arg
from tfport.graph.shapes import Shape

NodeOrValue = Node | Value
Dims = tuple[int | None, ...]


def first(tensor: NodeOrValue) -> Value:
    """A value, or the first output of a node."""
    return tensor.output(0) if isinstance(tensor, Node) else tensor


def sizes(op: NodeBuilder, tensor: NodeOrValue) -> Value:
    """The shape of a value as a vector."""
    known = op.shape(first(tensor))
    if known is not None and None not in known:
        return op.const([size for size in known if size is not None], INT32)
    return op.Shape(tensor, out_type="int32").output(0)


def size_at(op: NodeBuilder, tensor: NodeOrValue, axis: int) -> Value:
    """The size of one axis, a scalar; a negative axis counts from the end."""
    known = op.shape(first(tensor))
    if known is not None and -len(known) <= axis < len(known) and (size := known[axis]) is not None:
        return op.const(size, INT32)
    return item(op, op.Shape(tensor, out_type="int32"), axis)


def item(op: NodeBuilder, vector: NodeOrValue, index: int) -> Value:
    """One element of a vector, a scalar."""
    # there is no negative index for the end behind the last element
    after, open_end = ([0], 1) if index == -1 else ([index + 1], 0)
    return op.StridedSlice(vector, [index], after, [1], end_mask=open_end, shrink_axis_mask=1).output(0)


def part(op: NodeBuilder, vector: NodeOrValue, start: int | None = None, stop: int | None = None) -> Value:
    """`vector[start:stop]`."""
    return op.StridedSlice(
        vector, [start or 0], [stop or 0], [1], begin_mask=int(start is None), end_mask=int(stop is None)
    ).output(0)


def joined(op: NodeBuilder, *parts: NodeOrValue | Sequence[int]) -> Value:
    """Concatenate vectors; plain numbers are constant vectors."""
    whole = [p if isinstance(p, Node | Value) else op.const(list(p), INT32) for p in parts]
    return op.ConcatV2(whole, 0).output(0) if len(whole) > 1 else first(whole[0])


def product(op: NodeBuilder, vector: NodeOrValue) -> Value:
    """The product of a vector's elements, as a vector of length 1."""
    return op.Prod(vector, [0], keep_dims=True).output(0)


def scalar(op: NodeBuilder, vector: NodeOrValue) -> Value:
    """The only element of a vector."""
    return op.Reshape(vector, op.const([], INT32)).output(0)


def count_to(op: NodeBuilder, size: NodeOrValue, dtype: DType = INT32) -> Value:
    """The vector 0, 1, … up to a scalar int32 size, in a dtype."""
    numbers = op.Range(0, size, 1)
    return cast(op, numbers, dtype)


def cast(op: NodeBuilder, tensor: NodeOrValue, dtype: DType) -> Value:
    """A value in another dtype; the value itself if it has that dtype."""
    value = first(tensor)
    return value if value.dtype.base == dtype else op.Cast(value, DstT=dtype).output(0)


def with_shape_of(op: NodeBuilder, made: NodeOrValue, known: Value) -> Value:
    """Record that a new value has the shape of another value."""
    value = first(made)
    op.facts.set_shape(value, op.facts.shape(known))
    return value


def with_dims(op: NodeBuilder, made: NodeOrValue, dims: Sequence[int | None] | None) -> Value:
    """Record the known dimensions of a new value."""
    value = first(made)
    if dims is not None:
        op.facts.set_shape(value, Shape(tuple(dims)))
    return value


def rank(op: NodeBuilder, value: Value, what: str) -> int:
    """The rank of a value; refuses if it is unknown."""
    known = op.shape(value)
    if known is None:
        raise refuse(f"the rank of its {what} is unknown")
    return len(known)


def numbers(op: NodeBuilder, value: Value, what: str) -> list[int]:
    """The elements of a constant; refuses if the value is not constant."""
    known = op.constant(value)
    if known is None:
        raise refuse(f"its {what} is not constant")
    return [int(element) for element in known.reshape(-1)]


def number(op: NodeBuilder, value: Value, what: str) -> int:
    """The only element of a constant."""
    known = numbers(op, value, what)
    if len(known) != 1:
        raise refuse(f"its {what} must be one number, got {len(known)}")
    return known[0]


def covers(own: Dims | None, other: Dims | None) -> bool:
    """Whether broadcasting with another shape is known not to change a shape."""
    if other == () or (own is not None and own == other and None not in own):
        return True
    if own is None or other is None or len(other) > len(own):
        return False
    pairs = zip(own[len(own) - len(other) :], other, strict=True)
    return all(theirs == 1 or (theirs is not None and theirs == ours) for ours, theirs in pairs)


def arguments(n: Node) -> Iterator[tuple[int, Arg]]:
    """The index of each input of a node, and its argument in the signature."""
    index = 0
    for arg in n.signature.inputs if n.signature is not None else ():
        for _ in range(arg.count(n.attrs)):
            yield index, arg
            index += 1
