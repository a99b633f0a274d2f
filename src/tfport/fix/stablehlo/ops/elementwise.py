"""Element-wise ops on floats, complex numbers and bools."""

from __future__ import annotations

import numpy as np

from tfport.fix.rule import refuse
from tfport.fix.stablehlo.declare import translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.graph.dtypes import BOOL, DType

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
        made = op.each(SAME[hlo.name], *operands)
        return made if x.dtype not in (COMPLEX128, DType.parse("float64")) else _wide(op, hlo, operands)
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
    """NaN stays NaN."""
    if x.dtype.is_complex:
        raise refuse("stablehlo.sign of complex numbers has no translation")
    made = op.each("Sign", x)
    return op.each("SelectV2", is_nan(op, x), x, made) if x.dtype.is_floating else made


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
        raise refuse(f"stablehlo.{hlo.name} of complex numbers has no translation")
    made = op.each(OF_NUMBERS[hlo.name], x, y)
    for operand in (y, x):
        if may_be_nan(operand):
            made = op.each("SelectV2", is_nan(op, operand), operand, made)
    return made


@translates("clamp")
def clamp(op: HloNodes, hlo: HloOp, low: HloTensor, x: HloTensor, high: HloTensor) -> HloTensor:
    made = extreme(op, _named(hlo, "maximum"), x, low)
    return extreme(op, _named(hlo, "minimum"), made, high)


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
