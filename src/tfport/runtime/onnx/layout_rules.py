"""Nodes that can work on axes in another order, and how each is written for them.

A rule is given the node and all that has moved. It writes the node and answers True, or
writes nothing and answers False, and the node then gets its axes as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.layout_state import LayoutState, Perm, like
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

Carry = Callable[[LayoutState, OnnxNode], bool]
LAYOUT_RULES: dict[str, Carry] = {}


def _carries(ops: str) -> Callable[[Carry], Carry]:
    def declare(function: Carry) -> Carry:
        for op in ops.split():
            LAYOUT_RULES[op] = function
        return function

    return declare


@_carries(
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast Ceil Celu Clip Cos Cosh Elu Erf Exp Floor Gelu "
    "HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink "
    "Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu"
)
def _unary(moves: LayoutState, node: OnnxNode) -> bool:
    x, *rest = node.inputs
    moved = moves.moved.get(x) if x is not None else None
    if moved is None or any(o in moves.moved for o in rest if o is not None):
        return False
    return moves.carried(node, [moved.inner, *rest], moved.perm)


@_carries(
    "Add Sub Mul Div Mod Pow Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor Where Max Min Sum Mean "
    "BitShift BitwiseAnd BitwiseOr BitwiseXor PRelu"
)
def _together(moves: LayoutState, node: OnnxNode) -> bool:
    """Operands that broadcast: all in one order of axes, constants and single elements laid out alike."""
    perm = _shared_perm(moves, node.inputs)
    if perm is None:
        return False
    laid = [_laid_out(moves, o, perm) for o in node.inputs]
    return None not in laid and moves.carried(node, laid, perm)


def _shared_perm(moves: LayoutState, inputs: Iterable[Operand | None]) -> Perm | None:
    perms = {moves.moved[o].perm for o in inputs if o is not None and o in moves.moved}
    return perms.pop() if len(perms) == 1 else None


def _laid_out(moves: LayoutState, operand: Operand | None, perm: Perm) -> Operand | None:
    """An operand of a broadcast with the axes that `perm` was made of; None where that costs a transpose."""
    if operand is None or operand in moves.moved:
        return None if operand is None else moves.moved[operand].inner
    if operand.shape is None or len(operand.shape) > len(perm):
        return None
    if all(n == 1 for n in operand.shape):
        return operand
    if operand.array is None:
        return None
    whole = operand.array.reshape((1,) * (len(perm) - operand.array.ndim) + operand.array.shape)
    return Operand(operand.dtype, value=np.ascontiguousarray(whole.transpose(_inverse(perm))), name="laid")


def _inverse(perm: Perm) -> Perm:
    return tuple(perm.index(i) for i in range(len(perm)))


@_carries("Concat")
def _concat(moves: LayoutState, node: OnnxNode) -> bool:
    perm = _shared_perm(moves, node.inputs)
    if perm is None:
        return False
    whole = [o for o in node.inputs if o is not None and (o in moves.moved or o.rank == len(perm))]
    laid = [_laid_out(moves, o, perm) for o in whole]
    if len(whole) < len(node.inputs) or None in laid:
        return False
    if any(o not in moves.moved and o is not None and o.array is None for o in node.inputs):
        return False
    return moves.carried(node, laid, perm, axis=perm[node.attrs["axis"]])


@_carries("Split")
def _split(moves: LayoutState, node: OnnxNode) -> bool:
    x = moves.moved.get(_first(node))
    if x is None:
        return False
    return moves.carried(node, [x.inner, *node.inputs[1:]], x.perm, axis=x.perm[node.attrs.get("axis", 0)])


def _first(node: OnnxNode) -> Operand:
    assert node.inputs[0] is not None
    return node.inputs[0]


@_carries("Pad")
def _pad(moves: LayoutState, node: OnnxNode) -> bool:
    x = moves.moved.get(_first(node))
    pads = node.inputs[1]
    if x is None or pads is None or pads.array is None or len(node.inputs) > 3:
        return False
    pairs = pads.array.reshape(2, -1)[:, list(_inverse(x.perm))]
    return moves.carried(node, [x.inner, moves.ints(*pairs.reshape(-1)), *node.inputs[2:]], x.perm)


@_carries(
    "ReduceMax ReduceMin ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceLogSumExp ReduceSumSquare"
)
def _reduce(moves: LayoutState, node: OnnxNode) -> bool:
    x = moves.moved.get(_first(node))
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    if x is None or axes is None or axes.array is None or not axes.array.size:
        return False
    gone = {int(axis) % len(x.perm) for axis in axes.array.reshape(-1)}
    inputs = [x.inner, moves.ints(*sorted(x.perm[i] for i in gone))]
    if node.attrs.get("keepdims", 1):
        return moves.carried(node, inputs, x.perm)
    return moves.carried(node, inputs, _without(x.perm, gone))


def _without(perm: Perm, gone: set[int]) -> Perm:
    """The order of the axes that are left, numbered anew."""
    left = [axis for i, axis in enumerate(perm) if i not in gone]
    return tuple(sorted(left).index(axis) for axis in left)


@_carries("Squeeze")
def _squeeze(moves: LayoutState, node: OnnxNode) -> bool:
    x = moves.moved.get(_first(node))
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    if x is None or axes is None or axes.array is None:
        return False
    gone = {int(axis) % len(x.perm) for axis in axes.array.reshape(-1)}
    inputs = [x.inner, moves.ints(*sorted(x.perm[i] for i in gone))]
    return moves.carried(node, inputs, _without(x.perm, gone))


@_carries("Unsqueeze")
def _unsqueeze(moves: LayoutState, node: OnnxNode) -> bool:
    """New axes go before the axis that they precede, so that a convolution's own order comes out."""
    x, axes = moves.moved.get(_first(node)), node.inputs[1]
    if x is None or axes is None or axes.array is None:
        return False
    rank = len(x.perm) + axes.array.size
    fresh = {int(axis) % rank for axis in axes.array.reshape(-1)}
    old = iter(x.perm)
    outer: list[int | None] = [None if i in fresh else next(old) for i in range(rank)]
    inner: list[int] = []  # places of the outer axes, in the order of the inner ones
    for axis in sorted(x.perm):
        at = outer.index(axis)
        before = at
        while before and outer[before - 1] is None:
            before -= 1
        inner.extend(range(before, at + 1))
    inner.extend(i for i in range(rank) if i not in inner)
    places = sorted(inner.index(i) for i in fresh)
    return moves.carried(node, [x.inner, moves.ints(*places)], tuple(inner.index(i) for i in range(rank)))


@_carries("Slice")
def _slice(moves: LayoutState, node: OnnxNode) -> bool:
    x = moves.moved.get(_first(node))
    starts = node.inputs[1]
    axes = node.inputs[3] if len(node.inputs) > 3 else None
    if x is None or starts is None or starts.shape is None or starts.shape[0] is None:
        return False
    if axes is None:
        places = list(range(starts.shape[0]))
    elif axes.array is not None:
        places = [int(axis) for axis in axes.array]
    else:
        return False
    inner = moves.ints(*(x.perm[i] for i in places))
    return moves.carried(node, [x.inner, *node.inputs[1:3], inner, *node.inputs[4:]], x.perm)


@_carries("Tile")
def _tile(moves: LayoutState, node: OnnxNode) -> bool:
    x, repeats = moves.moved.get(_first(node)), node.inputs[1]
    if x is None or repeats is None or repeats.array is None:
        return False
    inner = moves.ints(*repeats.array[list(_inverse(x.perm))])
    return moves.carried(node, [x.inner, inner], x.perm)


@_carries("Resize")
def _resize(moves: LayoutState, node: OnnxNode) -> bool:
    """Its scales or sizes, one for each axis, where they are constant."""
    x = moves.moved.get(_first(node))
    rest = node.inputs[1:]
    if (
        x is None
        or "axes" in node.attrs
        or any(o is not None and (o.array is None or o.array.size not in (0, len(x.perm))) for o in rest)
    ):
        return False
    order = list(_inverse(x.perm))
    laid = [
        o if o is None or o.array is None or not o.array.size else Operand(o.dtype, value=o.array[order])
        for o in rest
    ]
    return moves.carried(node, [x.inner, *laid], x.perm)


@_carries("Shape")
def _shape(moves: LayoutState, node: OnnxNode) -> bool:
    """The sizes in the order that was, without the transpose."""
    x = moves.moved[_first(node)]
    places = x.perm[node.attrs.get("start", 0) : node.attrs.get("end", len(x.perm))]
    sizes = Operand(INT64, (len(x.perm),), name="sizes")
    moves.made.append(OnnxNode("Shape", (x.inner,), (sizes,), {}))
    moves.made.append(OnnxNode("Gather", (sizes, moves.ints(*places)), node.outputs, {"axis": 0}))
    return True


@_carries("Reshape")
def _reshape(moves: LayoutState, node: OnnxNode) -> bool:
    """Where only axes of one element changed places, the elements are in the same order."""
    x, shape = moves.moved.get(_first(node)), node.inputs[1]
    if x is None or shape is None or shape in moves.moved or x.inner.shape is None:
        return False
    order = [axis for axis in x.perm if x.inner.shape[axis] != 1]
    known = shape.known or (None,)
    copies = not node.attrs.get("allowzero") and (0 in known or None in known)  # a 0 says: as it was
    if order != sorted(order) or copies:
        return False
    moves.made.append(like(node, (x.inner, shape), node.outputs))
    return True
