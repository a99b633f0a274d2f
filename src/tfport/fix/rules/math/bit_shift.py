"""Bit shifts and inversion by arithmetic; the shift is clamped to the width, as in the kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import NodeOrValue, cast
from tfport.fix.rule import EXACT, Replacement, rule
from tfport.graph.dtypes import INT32, INT64, DType
from tfport.graph.graph import Node, Value


@rule("LeftShift", keeps=EXACT)
def times_a_power(op: NodeBuilder, n: Node) -> Replacement:
    """A left shift multiplies by a power of two; overflow is cut off in both."""
    x, y = n.inputs
    bits = x.dtype.base.numpy.itemsize * 8
    powers = np.array([1 << place for place in range(bits)], np.uint64).astype(x.dtype.base.numpy)
    return op.Mul(x, op.Gather(op.const(powers, x.dtype.base), _distance(op, y, bits)))


@rule("RightShift", keeps=EXACT)
def by_a_power(op: NodeBuilder, n: Node) -> Replacement:
    """A right shift divides by a power of two, rounded down; for a negative x, ~x is divided."""
    x, y = n.inputs
    kind = x.dtype.base
    bits = kind.numpy.itemsize * 8
    wide, distance = kind if bits > 16 else INT32, _distance(op, y, bits)
    if not kind.name.startswith("int"):
        return cast(op, _divided(op, cast(op, x, wide), distance, range(bits), wide), kind)
    # FloorDiv of older releases overflows for large negative numbers, such as the highest power
    below = op.Neg(op.Cast(op.Less(x, 0), DstT=wide))
    sign = op.Add(op.Mul(below, 2), 1)
    turned = op.Add(op.Mul(cast(op, x, wide), sign), below)
    down = _divided(op, turned, distance, [*range(bits - 1), bits - 2], wide)
    down = _divided(op, down, distance, [0] * (bits - 1) + [1], wide)
    return cast(op, op.Add(op.Mul(down, sign), below), kind)


@rule("Invert", keeps=EXACT)
def what_is_left_of_all_bits(op: NodeBuilder, n: Node) -> Replacement:
    """All bits set, minus the number."""
    x = n.inputs[0]
    all_bits = -1 if x.dtype.base.name.startswith("int") else np.iinfo(x.dtype.base.numpy).max
    return op.Sub(op.const(all_bits, x.dtype.base), x)


def _divided(op: NodeBuilder, x: NodeOrValue, distance: Node, places: Sequence[int], kind: DType) -> Node:
    """Divide by the power of two for each distance."""
    powers = np.array([1 << place for place in places], np.uint64)
    return op.FloorDiv(x, op.Gather(op.const(powers, kind), distance))


def _distance(op: NodeBuilder, y: Value, bits: int) -> Node:
    """The shift, clamped to 0 and the width minus 1, as in the kernel."""
    y = y if y.dtype.base in (INT32, INT64) else cast(op, y, INT32)
    return op.Minimum(op.Maximum(y, 0), bits - 1)
