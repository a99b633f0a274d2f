"""Operations on each element: arithmetic, functions, comparisons, logic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import promoted, tensors_of
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import select
from tfport.graph.dtypes import BOOL, INT32, DType

Unary = Callable[[LayerBuilder, LayerTensor], LayerTensor]
Binary = Callable[[LayerBuilder, LayerTensor, LayerTensor], LayerTensor]

SAME_TYPE = {
    "Abs": "Abs", "Absolute": "Abs", "Fabs": "Abs", "Negative": "Neg", "Sign": "Sign", "Square": "Square",
    "BitwiseInvert": "Invert", "BitwiseNot": "Invert", "Copy": "Identity",
}  # fmt: skip
"""Operations of one tensor that keep its type, and their ops."""
FLOATING = {
    "Arccos": "Acos", "Arccosh": "Acosh", "Arcsin": "Asin", "Arcsinh": "Asinh", "Arctan": "Atan",
    "Arctanh": "Atanh", "Ceil": "Ceil", "Cos": "Cos", "Cosh": "Cosh", "Erf": "Erf", "Erfc": "Erfc",
    "Exp": "Exp", "Expm1": "Expm1", "Floor": "Floor", "Log": "Log", "Log1p": "Log1p",
    "Reciprocal": "Reciprocal", "Rsqrt": "Rsqrt", "Sin": "Sin", "Sinh": "Sinh", "Sqrt": "Sqrt", "Tan": "Tan",
    "Tanh": "Tanh", "Isfinite": "IsFinite", "Isinf": "IsInf", "Isnan": "IsNan",
}  # fmt: skip
"""Operations of one tensor that compute in a floating-point type."""
TWO = {
    "Add": "Add", "Subtract": "Sub", "Multiply": "Mul", "Maximum": "Maximum", "Minimum": "Minimum",
    "Mod": "FloorMod", "FloorDivide": "FloorDiv", "Power": "Pow", "Equal": "Equal", "NotEqual": "NotEqual",
    "Greater": "Greater", "GreaterEqual": "GreaterEqual", "Less": "Less", "LessEqual": "LessEqual",
    "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor",
    "BitwiseLeftShift": "LeftShift", "LeftShift": "LeftShift", "BitwiseRightShift": "RightShift",
    "RightShift": "RightShift",
}  # fmt: skip
"""Operations of two tensors in their common type."""
TWO_FLOATING = {
    "Divide": "RealDiv", "TrueDivide": "RealDiv", "DivideNoNan": "DivNoNan", "Arctan2": "Atan2",
}  # fmt: skip
LOGICAL = {"LogicalAnd": "LogicalAnd", "LogicalOr": "LogicalOr"}

COMPOSED: dict[str, Unary] = {
    "Cbrt": lambda b, x: b.Mul(b.Sign(x), b.Pow(b.Abs(x), 1.0 / 3.0)),
    "Deg2rad": lambda b, x: b.Mul(x, math.pi / 180.0),
    "Exp2": lambda b, x: b.Pow(b.constant(2.0, x.dtype), x),
    "Isneginf": lambda b, x: b.Equal(x, -math.inf),
    "Isposinf": lambda b, x: b.Equal(x, math.inf),
    "Log10": lambda b, x: b.Mul(b.Log(x), 1.0 / math.log(10.0)),
    "Log2": lambda b, x: b.Mul(b.Log(x), 1.0 / math.log(2.0)),
    "Rad2deg": lambda b, x: b.Mul(x, 180.0 / math.pi),
    "Trunc": lambda b, x: b.Mul(b.Sign(x), b.Floor(b.Abs(x))),
}
COMPOSED_TWO: dict[str, Binary] = {
    "Hypot": lambda b, x, y: b.Sqrt(b.Add(b.Square(x), b.Square(y))),
    "Logaddexp": lambda b, x, y: b.Add(b.Maximum(x, y), b.Log1p(b.Exp(b.Neg(b.Abs(b.Sub(x, y)))))),
}


def _one(function: Unary, floating: bool) -> Callable[..., LayerTensor]:
    def operation(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
        (x,) = promoted(b, x, floating=floating)
        return function(b, x)

    return operation


def _two(function: Binary, floating: bool) -> Callable[..., LayerTensor]:
    def operation(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
        return function(b, *promoted(b, x1, x2, floating=floating))

    return operation


def _op(name: str) -> Callable[..., LayerTensor]:
    return lambda b, *operands: getattr(b, name)(*operands)


def _declare() -> None:
    for names, floating in ((SAME_TYPE, False), (FLOATING, True)):
        for name, op in names.items():
            layer(f"ops.{name}")(_one(_op(op), floating))
    for name, unary in COMPOSED.items():
        layer(f"ops.{name}")(_one(unary, floating=True))
    for names, floating in ((TWO, False), (TWO_FLOATING, True)):
        for name, op in names.items():
            layer(f"ops.{name}")(_two(_op(op), floating))
    for name, binary in COMPOSED_TWO.items():
        layer(f"ops.{name}")(_two(binary, floating=True))
    for name, op in LOGICAL.items():
        layer(f"ops.{name}")(_logical(_op(op)))


def _logical(function: Callable[..., LayerTensor]) -> Callable[..., LayerTensor]:
    def operation(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
        return function(b, *(b.cast(x, BOOL) for x in promoted(b, x1, x2)))

    return operation


_declare()


@layer("ops.LogicalNot")
def logical_not(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.LogicalNot(b.cast(x, BOOL))


@layer("ops.LogicalXor")
def logical_xor(b: LayerBuilder, x1: LayerTensor, x2: LayerTensor) -> LayerTensor:
    x, y = (b.cast(x, BOOL) for x in promoted(b, x1, x2))
    return b.LogicalAnd(b.LogicalOr(x, y), b.LogicalNot(b.LogicalAnd(x, y)))


@layer("ops.Round")
def rounded(b: LayerBuilder, x: LayerTensor, *, decimals: int = 0) -> LayerTensor:
    if not x.dtype.is_floating:
        if decimals < 0:
            raise b.refuse("it rounds integers to tens")
        return x
    if decimals == 0:
        return b.Round(x)
    return b.RealDiv(b.Round(b.Mul(x, 10.0**decimals)), 10.0**decimals)


@layer("ops.Clip")
def clip(b: LayerBuilder, x: LayerTensor, *, x_min: Any, x_max: Any) -> LayerTensor:
    x, low, high = promoted(b, b.cast(x, INT32) if x.dtype == BOOL else x, x_min, x_max)
    return b.Minimum(b.Maximum(x, low), high)


@layer("ops.Cast ops.SaturateCast")
def cast(b: LayerBuilder, x: LayerTensor, *, dtype: str) -> LayerTensor:
    return b.cast(x, DType.parse(dtype))


@layer("ops.Where")
def where(b: LayerBuilder, condition: Any, x1: Any = None, x2: Any = None) -> LayerTensor:
    if x1 is None or x2 is None:
        raise b.refuse("it lists the places of elements, whose number is unknown")
    (chosen,) = tensors_of(b, condition)
    return select(b, b.cast(chosen, BOOL), *promoted(b, x1, x2))


@layer("ops.NanToNum")
def nan_to_num(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> LayerTensor:
    if not x.dtype.is_floating:
        return x
    highest = 65504.0 if str(x.dtype) == "float16" else 3.4028235e38
    for matches, value in (
        (b.IsNan(x), nan),
        (b.Equal(x, math.inf), highest if posinf is None else posinf),
        (b.Equal(x, -math.inf), -highest if neginf is None else neginf),
    ):
        x = select(b, matches, b.Add(b.ZerosLike(x), value), x)
    return x


@layer("ops.ZerosLike")
def zeros_like(b: LayerBuilder, x: LayerTensor, *, dtype: str | None = None) -> LayerTensor:
    zeros = b.ZerosLike(x)
    return b.cast(zeros, DType.parse(dtype)) if dtype else zeros


@layer("ops.OnesLike")
def ones_like(b: LayerBuilder, x: LayerTensor, *, dtype: str | None = None) -> LayerTensor:
    full = b.OnesLike(x)
    return b.cast(full, DType.parse(dtype)) if dtype else full


@layer("ops.FullLike")
def full_like(b: LayerBuilder, x: LayerTensor, fill_value: Any, *, dtype: str | None = None) -> LayerTensor:
    target = DType.parse(dtype) if dtype else x.dtype
    value = (
        b.cast(fill_value, target) if isinstance(fill_value, LayerTensor) else b.constant(fill_value, target)
    )
    return b.Add(b.cast(b.ZerosLike(x), target), value)


@layer("ops.StopGradient")
def stop_gradient(b: LayerBuilder, variable: LayerTensor) -> LayerTensor:
    return variable
