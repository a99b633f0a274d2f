"""Quantization with a range for each channel, or a narrow range, written as arithmetic.

QuantizeV2 and Dequantize have `axis` and `narrow_range` since 2.1, QuantizeAndDequantizeV2 and V3 have
`axis` since 2.1 and `narrow_range` since 1.15. The arithmetic is that of the kernels, in their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.formula import FLOAT64, NodeFunctions, Term
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.building.sizes import NodeOrValue, rank
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.graph.graph import Node, Value
from tfport.startup.dataclass import dataclass

PLAIN = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16", "qint32": "int32"}
"""Integer dtypes with the bits of quantized ones."""
LEAST_RANGE = 0.01
"""ensure_minimum_range of releases that do not have the attribute."""


@dataclass
class Ranges:
    """The ends of the range of each channel, or of the one range, as terms of a formula."""

    m: NodeFunctions
    low: Term
    high: Term
    axis: int
    rank: int

    def along(self, term: Term | float) -> Any:
        """A term in a shape that broadcasts along the axis of the quantized tensor."""
        value = term.value if isinstance(term, Term) else self.m.op.const(term, self.low.value.dtype.base)
        if self.axis == -1 or not isinstance(term, Term):
            return value
        return self.m.op.Reshape(value, self.m.op.const([-1] + [1] * (self.rank - self.axis - 1), INT32))

    def larger(self, a: Term, b: Term | float) -> Term:
        return self.m.where(a < b, b, a)

    def clipped(self, x: NodeOrValue, low: Term, high: Term) -> Node:
        return self.m.op.Minimum(self.m.op.Maximum(x, self.along(low)), self.along(high))


@rule("QuantizeV2", keeps=EXACT)
def quantized_by_channel(op: RuleBuilder, n: Node) -> Replacement:
    """Each channel is scaled by its own range, rounded, and its bits are read as quantized numbers."""
    mode, narrow, rounding = n.attrs["mode"], bool(n.attrs["narrow_range"]), str(n.attrs["round_mode"])
    room = float(np.float32(n.attrs["ensure_minimum_range"]))
    axis = _axis(n, narrow or room != float(np.float32(LEAST_RANGE)))
    if mode == "MIN_FIRST":
        return refuse("mode MIN_FIRST has no ranges by channel")
    if mode == "SCALED" and rounding == "HALF_TO_EVEN" and axis == -1 and not narrow:
        return refuse("the result depends on the processor")
    dtype = n.outputs[0].dtype.base
    if dtype.name == "qint32":
        return refuse("float32 does not represent the limits of qint32")
    lowest, highest = _limits(dtype)
    x, first, second = n.inputs
    r = _ranges(op, x, first, second, axis)
    zero = r.m.where(r.low < 0.0, r.low, 0.0)
    least = r.larger(r.larger(r.m.abs(r.low), r.m.abs(r.high)), 1.0) * room
    low, high = zero, r.larger(r.larger(r.high, zero + least), 0.0)
    if mode == "MIN_COMBINED":
        scale = float(highest - lowest) / (high - low)
        moved = op.Mul(op.Sub(r.clipped(x, low, high), r.along(low)), r.along(scale))
        half = float((highest - lowest + 1) // 2)
        whole = _away(op, op.Sub(moved, half)) if lowest else op.Floor(op.Add(moved, 0.5))
    else:
        lowest += narrow
        scale = _scale(r, lowest, highest, low, high)
        low, high = float(lowest) / scale, float(highest) / scale
        scaled = op.Mul(r.clipped(x, low, high), r.along(scale))
        whole = op.Rint(scaled) if rounding == "HALF_TO_EVEN" else _away(op, scaled)
    wide = op.Minimum(op.Maximum(op.cast(whole, FLOAT64), float(_limits(dtype)[0])), float(highest))
    plain = op.Cast(wide, DstT=DType.parse(PLAIN[dtype.name]))
    return [op.Bitcast(plain, type=dtype), low.value, high.value]


@rule("Dequantize", keeps=EXACT)
def dequantized_by_channel(op: RuleBuilder, n: Node) -> Replacement:
    """The bits are read as integers, and each channel is scaled by its own range."""
    mode, narrow = n.attrs["mode"], bool(n.attrs["narrow_range"])
    axis = _axis(n, narrow)
    if mode == "MIN_FIRST" or n.outputs[0].dtype.base != FLOAT32:
        return refuse("mode MIN_FIRST and other dtypes than float32 have no ranges by channel")
    x, first, second = n.inputs
    dtype = x.dtype.base
    lowest, highest = _limits(dtype)
    r = _ranges(op, x, first, second, axis)
    whole = op.Cast(op.Bitcast(x, type=DType.parse(PLAIN[dtype.name])), DstT=FLOAT32)
    if mode == "MIN_COMBINED":
        scale = (r.high - r.low) / float(highest - lowest)
        half = (highest - lowest + 1) / 2 if lowest else 0.0
        return op.Add(op.Mul(op.Add(whole, half), r.along(scale)), r.along(r.low))
    scale = r.high / float(highest)
    if lowest:
        scale = r.larger(r.low / float(lowest + narrow), scale)
    return op.Mul(whole, r.along(scale))


@rule("QuantizeAndDequantizeV2 QuantizeAndDequantizeV4", keeps=EXACT)
def round_trip_by_channel(op: RuleBuilder, n: Node) -> Replacement:
    """Each channel is scaled by its own range, rounded, and scaled back."""
    narrow, bits = bool(n.attrs["narrow_range"]), int(n.attrs["num_bits"])
    axis = _axis(n, narrow)
    x, first, second = n.inputs
    if not n.attrs["range_given"]:
        others = [i for i in range(rank(op, x, "tensor")) if i != axis]
        first, second = (op.node(end, x, op.const(others, INT32)).output(0) for end in ("Min", "Max"))
    signed = bool(n.attrs["signed_input"])
    lowest = -(1 << bits - 1) + narrow if signed else 0
    highest = (1 << bits - signed) - 1
    r = _ranges(op, x, first, second, axis)
    from_low, from_high = _scales(r, lowest, highest, r.low, r.high)
    is_by_low = from_low < from_high
    scale = r.m.where(is_by_low, from_low, from_high)
    back = r.m.where(is_by_low, r.low / float(lowest or 1), r.high / float(highest))
    low = r.m.where(is_by_low, r.low, back * float(lowest))
    high = r.m.where(is_by_low, back * float(highest), r.high)
    kept = r.clipped(x, low, high) if n.attrs["range_given"] else x
    scaled = op.Mul(kept, r.along(scale))
    half_up = n.attrs["round_mode"] == "HALF_UP"
    whole = op.Floor(op.Add(scaled, op.const(0.5, x.dtype.base))) if half_up else op.Rint(scaled)
    return op.Mul(whole, r.along(back))


def _axis(n: Node, is_different: bool) -> int:
    axis = int(n.attrs["axis"])
    if axis == -1 and not is_different:
        raise refuse("its axis and narrow_range are those of older releases")
    return axis


def _ranges(op: RuleBuilder, x: Value, low: Value, high: Value, axis: int) -> Ranges:
    m = NodeFunctions(op, low)
    return Ranges(m, m.x, Term(m, high), axis, rank(op, x, "tensor") if axis != -1 else 0)


def _limits(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(PLAIN[dtype.name])
    return int(info.min), int(info.max)


def _scale(r: Ranges, lowest: int, highest: int, low: Term, high: Term) -> Term:
    """The smaller number of steps per unit of both ends."""
    from_low, from_high = _scales(r, lowest, highest, low, high)
    return r.m.where(from_low < from_high, from_low, from_high)


def _scales(r: Ranges, lowest: int, highest: int, low: Term, high: Term) -> tuple[Term, Term]:
    """The steps per unit by each end; as many as possible for an end on the other side of zero."""
    most = float(np.finfo(low.value.dtype.base.numpy).max)
    by_low = r.m.where(low * float(lowest) > 0.0, float(lowest) / low, most)
    return by_low, r.m.where(high * float(highest) > 0.0, float(highest) / high, most)


def _away(op: RuleBuilder, x: Node) -> Node:
    """Round halves away from zero, in float64, where adding a half rounds nothing."""
    wide = op.Cast(x, DstT=FLOAT64)
    return op.Mul(op.Sign(wide), op.Floor(op.Add(op.Abs(wide), op.const(0.5, FLOAT64))))
