"""Element-wise ops: arithmetic, integer division and shifts with XLA's results at the edges, comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.constants import TOTAL_ORDER
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.tensor import HloTensor
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, DType

SAME = {
    "atan2": "Atan2", "ceil": "Ceil", "complex": "Complex", "cosine": "Cos", "exponential": "Exp",
    "exponential_minus_one": "Expm1", "floor": "Floor", "imag": "Imag", "is_finite": "IsFinite",
    "log": "Log", "log_plus_one": "Log1p", "logistic": "Sigmoid", "real": "Real",
    "round_nearest_even": "Rint", "rsqrt": "Rsqrt", "sine": "Sin", "sqrt": "Sqrt", "subtract": "Sub",
    "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
"""StableHLO ops with the same results as an op of TensorFlow."""
OF_BOOLS = {"add": "LogicalOr", "maximum": "LogicalOr", "multiply": "LogicalAnd", "minimum": "LogicalAnd"}
OF_NUMBERS = {"add": "AddV2", "multiply": "Mul", "maximum": "Maximum", "minimum": "Minimum"}
COMPLEX128 = DType.parse("complex128")


@translates(" ".join(SAME))
def same(op: HloNodes, hlo: HloOp, *operands: HloTensor) -> HloTensor:
    x = operands[0]
    if hlo.name in ("real", "imag", "complex"):
        y = op.each(SAME[hlo.name], *operands)
        return y if x.dtype not in (COMPLEX128, DType.parse("float64")) else _wide(op, hlo, operands)
    if hlo.name == "subtract" and x.dtype == BOOL:
        return op.each("NotEqual", *operands)
    return op.each(SAME[hlo.name], *operands)


def _wide(op: HloNodes, hlo: HloOp, operands: tuple[HloTensor, ...]) -> HloTensor:
    x = operands[0]
    values = [operand.value for operand in operands]
    if hlo.name == "complex":
        return op.tensor(op.Complex(*values, Tout="complex128"), x.dims)
    return op.tensor(op.node(SAME[hlo.name], *values, Tout="float64"), x.dims)


@translates("add multiply")
def arithmetic(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    return op.each((OF_BOOLS if x.dtype == BOOL else OF_NUMBERS)[hlo.name], x, y)


@translates("abs")
def absolute(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    if x.dtype.is_complex:
        out = "float64" if x.dtype == COMPLEX128 else "float32"
        return op.tensor(op.ComplexAbs(x.value, Tout=out), x.dims)
    return x if x.dtype.name.startswith("uint") else op.each("Abs", x)


@translates("negate")
def negate(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    if x.dtype.name.startswith("uint"):
        return op.each("Sub", op.known(np.zeros((), x.dtype.numpy)), x)
    return op.each("Neg", x)


@translates("sign")
def sign(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    """NaN stays NaN; a complex number is divided by its absolute value."""
    y = op.each("Sign", x)
    return op.each("SelectV2", is_nan(op, x), x, y) if x.dtype.is_floating else y


@translates("cbrt")
def cube_root(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    third = op.known(np.array(1 / 3, x.dtype.numpy))
    root = op.each("Pow", op.each("Abs", x), third)
    return op.each("SelectV2", below_zero(op, x), op.each("Neg", root), root)


@translates("round_nearest_afz")
def round_away(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    """Halves are rounded away from zero."""
    size = op.each("Abs", x)
    whole = op.each("Floor", size)
    half, unit = (op.known(np.array(n, x.dtype.numpy)) for n in (0.5, 1))
    is_far = op.each("GreaterEqual", op.each("Sub", size, whole), half)
    rounded = op.each("SelectV2", is_far, op.each("AddV2", whole, unit), whole)
    return op.each("SelectV2", below_zero(op, x), op.each("Neg", rounded), rounded)


@translates("power")
def power(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    """Of integers, a negative power is 0, except for 1 and -1."""
    if not x.dtype.is_integer:
        return op.each("Pow", x, y)
    zero, unit = (op.known(np.array(n, x.dtype.numpy)) for n in (0, 1))
    raised = op.each("Pow", x, op.each("Maximum", y, zero) if x.dtype.name.startswith("int") else y)
    if not x.dtype.name.startswith("int") or (y.array is not None and bool(np.all(y.array >= 0))):
        return raised
    minus = op.known(np.array(-1, x.dtype.numpy))
    is_even = op.each("Equal", op.each("BitwiseAnd", y, unit), zero)
    of_minus = op.each("SelectV2", is_even, unit, minus)
    inverse = op.each("SelectV2", op.each("Equal", x, minus), of_minus, zero)
    inverse = op.each("SelectV2", op.each("Equal", x, unit), unit, inverse)
    return op.each("SelectV2", op.each("Less", y, zero), inverse, raised)


@translates("maximum minimum")
def extreme(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    """NaN of either operand is the result; TensorFlow's kernels differ about it."""
    if x.dtype == BOOL:
        return op.each(OF_BOOLS[hlo.name], x, y)
    if x.dtype.is_complex:
        return op.each(
            "SelectV2", _comes_first(op, x, y, "Greater" if hlo.name == "maximum" else "Less"), x, y
        )
    result = op.each(OF_NUMBERS[hlo.name], x, y)
    for operand in () if op.program.own_runtime else (y, x):
        if may_be_nan(operand):
            result = op.each("SelectV2", is_nan(op, operand), operand, result)
    return result


def _comes_first(op: HloNodes, x: HloTensor, y: HloTensor, name: str) -> HloTensor:
    """Compare complex numbers by their real parts, and equal ones by their imaginary parts."""
    out = DType.parse("float64" if x.dtype == COMPLEX128 else "float32")
    (x_real, y_real), (x_imag, y_imag) = (
        [op.tensor(op.node(part, z.value, Tout=out), z.dims) for z in (x, y)] for part in ("Real", "Imag")
    )
    tie = op.each("LogicalAnd", op.each("Equal", x_real, y_real), op.each(name, x_imag, y_imag))
    return op.each("LogicalOr", op.each(name, x_real, y_real), tie)


@translates("clamp")
def clamp(op: HloNodes, hlo: HloOp, low: HloTensor, x: HloTensor, high: HloTensor) -> HloTensor:
    raised = extreme(op, _named(hlo, "maximum"), x, low)
    return extreme(op, _named(hlo, "minimum"), raised, high)


def _named(hlo: HloOp, name: str) -> HloOp:
    return HloOp(name, hlo.operands, hlo.results, hlo.types, hlo.attrs, hlo.regions)


@translates("select")
def select(op: HloNodes, hlo: HloOp, on: HloTensor, x: HloTensor, y: HloTensor) -> HloTensor:
    if on.rank == 0 and not (x.is_compact and y.is_compact):
        return op.tensor(op.Select(on.value, x.value, y.value), x.dims)
    return op.each("SelectV2", on, x, y)


def may_be_nan(x: HloTensor) -> bool:
    """Whether NaN is possible: not for integers, nor for constants without NaN."""
    if not x.dtype.is_floating:
        return False
    return x.array is None or bool(np.isnan(np.asarray(x.array, np.float64)).any())


def is_nan(op: HloNodes, x: HloTensor) -> HloTensor:
    return op.each("IsNan", x)


def below_zero(op: HloNodes, x: HloTensor) -> HloTensor:
    return op.each("Less", x, op.known(np.zeros((), x.dtype.numpy)))


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
        shifted = op.each("LeftShift", x, by)
    elif hlo.name == "shift_right_arithmetic":
        shifted = _shifted_as(op, _signed(x.dtype), x, by)
    else:
        shifted = _shifted_as(op, _unsigned(x.dtype), x, by)
    if by.array is not None and bool(np.all((by.array >= 0) & (by.array < bits))):
        return shifted
    far = op.each("GreaterEqual", by, _number(op, by.dtype, bits))
    if _is_signed(by):
        far = op.each("LogicalOr", far, op.each("Less", by, _number(op, by.dtype, 0)))
    fill = _number(op, x.dtype, 0)
    if hlo.name == "shift_right_arithmetic":
        fill = _shifted_as(op, _signed(x.dtype), x, _number(op, x.dtype, bits - 1))
    return op.each("SelectV2", far, fill, shifted)


def _shifted_as(op: HloNodes, dtype: DType, x: HloTensor, by: HloTensor) -> HloTensor:
    """A right shift of the bits as another type."""
    if dtype == x.dtype:
        return op.each("RightShift", x, by)
    shifted = op.each("RightShift", bits_as(op, x, dtype), bits_as(op, by, dtype))
    return bits_as(op, shifted, x.dtype)


def bits_as(op: HloNodes, x: HloTensor, dtype: DType) -> HloTensor:
    """The same bits as another type of the same width."""
    if x.array is not None:
        array = np.ascontiguousarray(x.array).reshape(x.array.shape)
        return op.known(array.reshape(-1).view(dtype.numpy).reshape(array.shape))
    return op.tensor(op.Bitcast(x.value, type=dtype), x.dims)


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


def _signed(dtype: DType) -> DType:
    return DType.parse(dtype.name.removeprefix("u"))


def _unsigned(dtype: DType) -> DType:
    if not dtype.is_integer:
        raise CannotRun(f"its program takes {dtype} as bits")
    return dtype if dtype.name.startswith("u") else DType.parse(f"u{dtype.name}")


def _number(op: HloNodes, dtype: DType, number: Any) -> HloTensor:
    return op.known(np.array(number).astype(dtype.numpy))


def _equals(op: HloNodes, x: HloTensor, number: int) -> HloTensor:
    return op.each("Equal", x, _number(op, x.dtype, number))


DIRECTIONS = ("Equal", "NotEqual", "GreaterEqual", "Greater", "LessEqual", "Less")
SHORT_FLOATS = tuple(map(DType.parse, ("float16", "bfloat16")))
FLOAT64, UINT64 = DType.parse("float64"), DType.parse("uint64")


@translates("compare")
def compare(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    name = DIRECTIONS[hlo.attrs["comparison_direction"]]
    if hlo.attrs.get("compare_type") == TOTAL_ORDER and x.dtype.is_floating:
        x, y = ordered(op, x), ordered(op, y)
    elif x.dtype == BOOL and name not in ("Equal", "NotEqual"):
        x, y = (op.tensor(op.Cast(z.value, DstT=INT32), z.dims) for z in (x, y))
    return op.each(name, x, y, dtype=BOOL)


def ordered(op: HloNodes, x: HloTensor) -> HloTensor:
    """Signed integers in the order of the elements: of floats -0 before 0, and NaN at the ends."""
    if x.dtype == BOOL or (x.dtype.is_integer and x.dtype.numpy.itemsize < 4):
        return op.tensor(op.Cast(x.value, DstT=INT32), x.dims)
    if x.dtype == DType.parse("uint32"):
        return op.tensor(op.Cast(x.value, DstT=INT64), x.dims)
    if x.dtype == UINT64:
        top = op.known(np.array(-(2**63), np.int64))
        return op.each("BitwiseXor", op.tensor(op.Bitcast(x.value, type=INT64), x.dims), top)
    if not x.dtype.is_floating:
        return x
    if x.dtype in SHORT_FLOATS:
        x = op.tensor(op.Cast(x.value, DstT=FLOAT32), x.dims)
    dtype = INT64 if x.dtype == FLOAT64 else INT32
    bits = op.tensor(op.Bitcast(x.value, type=dtype), x.dims)
    rest = op.known(np.array(np.iinfo(dtype.numpy).max, dtype.numpy))
    is_negative = op.each("Less", bits, op.known(np.zeros((), dtype.numpy)))
    return op.each("SelectV2", is_negative, op.each("BitwiseXor", bits, rest), bits)
