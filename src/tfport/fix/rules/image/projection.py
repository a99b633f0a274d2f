"""Projective transforms of images, which releases before 2.2 lack, by gathers and weights.

Positions, fill modes and weights are computed as in the kernel, in float32.
"""

from __future__ import annotations

from collections.abc import Callable

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.building.sizes import count_to, item, joined, shape_of
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node, Value


@rule("ImageProjectiveTransformV2 ImageProjectiveTransformV3", keeps=EXACT)
def projected_by_gather(op: RuleBuilder, n: Node) -> Replacement:
    """Each pixel is gathered from the position that the transform gives, or mixed from the four around it."""
    images, transforms, shape, *rest = n.inputs
    fill = _FILLS.get(str(n.attrs["fill_mode"]))
    if n.attrs["interpolation"] not in ("NEAREST", "BILINEAR") or fill is None:
        return refuse(
            f"its interpolation is {n.attrs['interpolation']}, its fill_mode {n.attrs['fill_mode']}"
        )
    batch, height, width, channels = _sizes(op, images)
    which = op.Reshape(count_to(op, batch), [-1, 1, 1])
    x = count_to(op, item(op, shape, 1), FLOAT32)
    y = op.Reshape(count_to(op, item(op, shape, 0), FLOAT32), [-1, 1])
    t = [op.Reshape(column, [-1, 1, 1]) for column in op.Unpack(transforms, num=8, axis=1).outputs]
    # a zero for each image, as one transform may be for all
    zeros = op.Cast(op.Mul(which, 0), DstT=FLOAT32)
    scale = op.Add(op.Add(_plane(op, t[6], t[7], x, y), 1.0), zeros)
    across = fill(op, op.RealDiv(op.Add(_plane(op, t[0], t[1], x, y), t[2]), scale), width)
    down = fill(op, op.RealDiv(op.Add(_plane(op, t[3], t[4], x, y), t[5]), scale), height)
    finite = op.LogicalAnd(op.IsFinite(across), op.IsFinite(down))
    inside = op.LogicalAnd(op.NotEqual(scale, 0.0), finite)
    nowhere = op.Fill(op.Shape(scale, out_type="int32"), -1.0)
    across, down = op.Select(inside, across, nowhere), op.Select(inside, down, nowhere)
    dtype = images.dtype.base
    outside = op.cast(rest[0] if rest else op.const(0.0), dtype)
    filled = op.Fill(op.Pack([op.Size(scale, out_type="int32"), channels]), outside)
    read = _Pixels(op, images, which, filled)
    if n.attrs["interpolation"] == "NEAREST":
        pixels = read(_rounded(op, down), _rounded(op, across))
    else:
        mixed = op.cast(_mixed(op, read, down, across), dtype)
        pixels = op.Select(op.Reshape(inside, [-1]), mixed, filled)
    return op.Reshape(pixels, joined(op, op.Reshape(batch, [1]), shape, op.Reshape(channels, [1])))


def _sizes(op: RuleBuilder, images: Value) -> list[Value]:
    whole = shape_of(op, images)
    return [item(op, whole, axis) for axis in range(4)]


def _plane(op: RuleBuilder, a: Node, b: Node, x: Value, y: Node) -> Node:
    return op.Add(op.Mul(a, x), op.Mul(b, y))


class _Pixels:
    """Reads pixels at rows and columns of each image, a row of channels for each; outside they are filled."""

    def __init__(self, op: RuleBuilder, images: Value, which: Node, filled: Node) -> None:
        self.op, self.which, self.filled = op, which, filled
        _, self.height, self.width, channels = _sizes(op, images)
        self.table = op.Reshape(images, op.Pack([-1, channels]))

    def __call__(self, rows: Node, columns: Node) -> Node:
        op = self.op
        down, is_row = self._index(rows, self.height)
        across, is_column = self._index(columns, self.width)
        first = op.Mul(op.Add(op.Mul(self.which, self.height), down), self.width)
        pixels = op.Gather(self.table, op.Reshape(op.Add(first, across), [-1]))
        return op.Select(op.Reshape(op.LogicalAnd(is_row, is_column), [-1]), pixels, self.filled)

    def _index(self, at: Node, size: Value) -> tuple[Node, Node]:
        """An index that exists, and whether it is the asked one."""
        op, last = self.op, _last(self.op, size)
        known = op.LogicalAnd(op.GreaterEqual(at, 0.0), op.LessEqual(at, last))
        return op.Cast(_clipped(op, at, size), DstT="int32"), known


def _last(op: RuleBuilder, size: Value) -> Node:
    return op.Sub(op.cast(size, FLOAT32), 1.0)


def _clipped(op: RuleBuilder, at: Node, size: Value) -> Node:
    return op.Minimum(op.Maximum(at, 0.0), _last(op, size))


def _reflected(op: RuleBuilder, at: Node, size: Value) -> Node:
    """d c b a | a b c d | d c b a"""
    length = op.cast(size, FLOAT32)
    whole = op.Mul(length, 2.0)
    below = op.Add(op.Mul(whole, op.Floor(op.RealDiv(op.Neg(at), whole))), at)
    below = op.Select(op.Less(below, op.Neg(length)), op.Add(below, whole), op.Sub(op.Neg(below), 1.0))
    above = op.Sub(at, op.Mul(whole, op.Floor(op.RealDiv(at, whole))))
    above = op.Select(op.GreaterEqual(above, length), op.Sub(op.Sub(whole, above), 1.0), above)
    return _beyond(op, at, size, below, above)


def _wrapped(op: RuleBuilder, at: Node, size: Value) -> Node:
    """a b c d | a b c d | a b c d"""
    steps, whole = _last(op, size), op.cast(size, FLOAT32)
    below = op.Add(at, op.Mul(whole, op.Add(op.Floor(op.RealDiv(op.Neg(at), steps)), 1.0)))
    above = op.Sub(at, op.Mul(whole, op.Floor(op.RealDiv(at, steps))))
    return _beyond(op, at, size, below, above)


def _beyond(op: RuleBuilder, at: Node, size: Value, below: Node, above: Node) -> Node:
    """Positions before and after an axis are replaced, and all are kept within it."""
    after = op.Select(op.Greater(at, _last(op, size)), above, at)
    return _clipped(op, op.Select(op.Less(at, 0.0), below, after), size)


_FILLS: dict[str, Callable[[RuleBuilder, Node, Value], Node]] = {
    "REFLECT": _reflected,
    "WRAP": _wrapped,
    "NEAREST": _clipped,
    "CONSTANT": lambda op, at, size: at,
}


def _rounded(op: RuleBuilder, at: Node) -> Node:
    """The nearest integer; halves away from zero."""
    below = op.Floor(at)
    part = op.Sub(at, below)
    half = op.LogicalAnd(op.GreaterEqual(part, 0.5), op.GreaterEqual(at, 0.0))
    return op.Add(below, op.Cast(op.LogicalOr(op.Greater(part, 0.5), half), DstT=FLOAT32))


def _mixed(op: RuleBuilder, read: _Pixels, down: Node, across: Node) -> Node:
    """The mean of four pixels, weighted by their nearness."""
    top, left = op.Floor(down), op.Floor(across)
    bottom, right = op.Add(top, 1.0), op.Add(left, 1.0)

    def weight(a: Node, b: Node) -> Node:
        return op.Reshape(op.Sub(a, b), [-1, 1])

    near, far = weight(right, across), weight(across, left)

    def row(at: Node) -> Node:
        first, second = (op.cast(read(at, columns), FLOAT32) for columns in (left, right))
        return op.Add(op.Mul(near, first), op.Mul(far, second))

    return op.Add(op.Mul(weight(bottom, down), row(top)), op.Mul(weight(down, top), row(bottom)))
