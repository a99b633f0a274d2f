"""Integer division, bits and shifts, with the results that XLA defines where C++ defines none."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.fix.rule import refuse
from tfport.fix.stablehlo.declare import translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.ops.elementwise import OF_BOOLS
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.graph.dtypes import BOOL, DType

LOGICAL = {"and": "LogicalAnd", "or": "LogicalOr", "xor": "NotEqual", "not": "LogicalNot"}
BITWISE = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor", "not": "Invert"}


@translates("and or xor not")
def of_bits(op: HloNodes, hlo: HloOp, *operands: HloTensor) -> HloTensor:
    return op.each((LOGICAL if operands[0].dtype == BOOL else BITWISE)[hlo.name], *operands)


@translates("divide")
def divide(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    """Integer division rounds toward zero; by zero it gives all bits set."""
    if not x.dtype.is_integer:
        return op.each(OF_BOOLS["multiply"] if x.dtype == BOOL else "RealDiv", x, y)
    if _is_plain_divisor(y):
        return op.each("TruncateDiv", x, y)
    quotient = op.each("TruncateDiv", x, _plain_divisor(op, y))
    if _is_signed(y):
        quotient = op.each("SelectV2", _equals(op, y, -1), op.each("Neg", x), quotient)
    all_bits = -1 if _is_signed(x) else np.iinfo(x.dtype.numpy).max
    return op.each("SelectV2", _equals(op, y, 0), _number(op, x.dtype, all_bits), quotient)


@translates("remainder")
def remainder(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    """The sign of x; x itself if y is zero."""
    if not x.dtype.is_integer or _is_plain_divisor(y):
        return op.each("TruncateMod", x, y)
    rest = op.each("TruncateMod", x, _plain_divisor(op, y))
    if _is_signed(y):
        rest = op.each("SelectV2", _equals(op, y, -1), _number(op, x.dtype, 0), rest)
    return op.each("SelectV2", _equals(op, y, 0), x, rest)


def _is_plain_divisor(y: HloTensor) -> bool:
    """Whether a divisor is known to be neither 0 nor -1."""
    return y.array is not None and not bool(
        np.any((y.array == 0) | (y.array == np.asarray(-1).astype(y.array.dtype)))
    )


def _plain_divisor(op: HloNodes, y: HloTensor) -> HloTensor:
    """The divisor with 1 instead of 0 and -1, for which the kernels fail."""
    odd = _equals(op, y, 0)
    if _is_signed(y):
        odd = op.each("LogicalOr", odd, _equals(op, y, -1))
    return op.each("SelectV2", odd, _number(op, y.dtype, 1), y)


@translates("shift_left shift_right_arithmetic shift_right_logical")
def shift(op: HloNodes, hlo: HloOp, x: HloTensor, by: HloTensor) -> HloTensor:
    """Shifts by at least the number of bits give 0, or the sign."""
    bits = x.dtype.numpy.itemsize * 8
    if hlo.name == "shift_left":
        made = op.each("LeftShift", x, by)
    elif hlo.name == "shift_right_arithmetic":
        made = _shifted_as(op, _signed(x.dtype), x, by)
    else:
        made = _shifted_as(op, _unsigned(x.dtype), x, by)
    if by.array is not None and bool(np.all((by.array >= 0) & (by.array < bits))):
        return made
    far = op.each("GreaterEqual", by, _number(op, by.dtype, bits))
    if _is_signed(by):
        far = op.each("LogicalOr", far, op.each("Less", by, _number(op, by.dtype, 0)))
    fill = _number(op, x.dtype, 0)
    if hlo.name == "shift_right_arithmetic":
        fill = _shifted_as(op, _signed(x.dtype), x, _number(op, x.dtype, bits - 1))
    return op.each("SelectV2", far, fill, made)


def _shifted_as(op: HloNodes, kind: DType, x: HloTensor, by: HloTensor) -> HloTensor:
    """A right shift of the bits as another type."""
    if kind == x.dtype:
        return op.each("RightShift", x, by)
    made = op.each("RightShift", bits_as(op, x, kind), bits_as(op, by, kind))
    return bits_as(op, made, x.dtype)


def bits_as(op: HloNodes, x: HloTensor, kind: DType) -> HloTensor:
    """The same bits as another type of the same width."""
    if x.array is not None:
        array = np.ascontiguousarray(x.array).reshape(x.array.shape)
        return op.known(array.reshape(-1).view(kind.numpy).reshape(array.shape))
    return op.tensor(op.Bitcast(x.value, type=kind), x.dims)


@translates("popcnt")
def count_bits(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    return op.tensor(op.Cast(op.PopulationCount(x.value), DstT=x.dtype), x.dims)


@translates("count_leading_zeros")
def count_leading_zeros(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    """All bits below the first one are set, and counted."""
    bits = x.dtype.numpy.itemsize * 8
    filled = bits_as(op, x, _unsigned(x.dtype))
    distance = 1
    while distance < bits:
        moved = op.each("RightShift", filled, _number(op, filled.dtype, distance))
        filled = op.each("BitwiseOr", filled, moved)
        distance *= 2
    count = op.Cast(op.PopulationCount(bits_as(op, filled, _signed(x.dtype)).value), DstT=x.dtype)
    return op.each("Sub", _number(op, x.dtype, bits), op.tensor(count, x.dims))


def _is_signed(x: HloTensor) -> bool:
    return x.dtype.name.startswith("int")


def _signed(kind: DType) -> DType:
    return DType.parse(kind.name.removeprefix("u"))


def _unsigned(kind: DType) -> DType:
    if not kind.is_integer:
        raise refuse(f"its program takes {kind} as bits")
    return kind if kind.name.startswith("u") else DType.parse(f"u{kind.name}")


def _number(op: HloNodes, kind: DType, number: Any) -> HloTensor:
    return op.known(np.array(number).astype(kind.numpy))


def _equals(op: HloNodes, x: HloTensor, number: int) -> HloTensor:
    return op.each("Equal", x, _number(op, x.dtype, number))
