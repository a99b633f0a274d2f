"""Functions of each element: arithmetic, comparisons, logic, types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfport.frontends.keras.arrays import select
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.tensorflow.function import tensors_of, tf_function
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import BOOL, FLOAT32, DType
from tfport.graph.op_facts.kinds import UNARY

FUNCTIONS = {
    "Abs": "math.abs abs", "Acos": "math.acos acos", "Acosh": "math.acosh acosh", "Asin": "math.asin asin",
    "Asinh": "math.asinh asinh", "Atan": "math.atan atan", "Atanh": "math.atanh atanh",
    "Ceil": "math.ceil compat.v1.ceil", "Cos": "math.cos cos", "Cosh": "math.cosh cosh", "Elu": "nn.elu",
    "Erf": "math.erf", "Erfc": "math.erfc", "Exp": "math.exp exp", "Expm1": "math.expm1",
    "Floor": "math.floor floor", "Identity": "identity stop_gradient", "Invert": "bitwise.invert",
    "IsFinite": "math.is_finite", "IsInf": "math.is_inf", "IsNan": "math.is_nan", "Log": "math.log",
    "Log1p": "math.log1p", "LogicalNot": "math.logical_not logical_not __operators__.logical_not",
    "Neg": "math.negative negative", "Reciprocal": "math.reciprocal", "Relu": "nn.relu", "Relu6": "nn.relu6",
    "Rint": "math.rint", "Round": "math.round round", "Rsqrt": "math.rsqrt", "Selu": "nn.selu",
    "Sigmoid": "math.sigmoid sigmoid nn.sigmoid", "Sign": "math.sign sign", "Sin": "math.sin sin",
    "Sinh": "math.sinh sinh", "Softplus": "math.softplus nn.softplus", "Softsign": "nn.softsign",
    "Sqrt": "math.sqrt sqrt", "Square": "math.square square", "Tan": "math.tan tan",
    "Tanh": "math.tanh tanh nn.tanh",
    "Add": "math.add add __operators__.add", "Atan2": "math.atan2 atan2",
    "BitwiseAnd": "bitwise.bitwise_and", "BitwiseOr": "bitwise.bitwise_or",
    "BitwiseXor": "bitwise.bitwise_xor",
    "DivNoNan": "math.divide_no_nan", "Equal": "math.equal equal __operators__.eq",
    "FloorDiv": "math.floordiv floordiv compat.v1.floor_div compat.v1.floordiv",
    "FloorMod": "math.floormod math.mod", "Greater": "math.greater greater",
    "GreaterEqual": "math.greater_equal greater_equal", "Less": "math.less less",
    "LessEqual": "math.less_equal less_equal", "Maximum": "math.maximum maximum",
    "Minimum": "math.minimum minimum", "Mul": "math.multiply multiply",
    "NotEqual": "math.not_equal not_equal __operators__.ne",
    "Pow": "math.pow pow", "SquaredDifference": "math.squared_difference", "Sub": "math.subtract subtract",
}  # fmt: skip
"""Ops of one or two tensors, and the functions that are nothing else."""


def _unary(op: str) -> Callable[..., LayerTensor]:
    def function(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
        result: LayerTensor = getattr(b, op)(x)
        return result

    return function


def _binary(op: str) -> Callable[..., LayerTensor]:
    def function(b: LayerBuilder, x: Any, y: Any) -> LayerTensor:
        result: LayerTensor = getattr(b, op)(x, y)
        return result

    return function


for _op, _names in FUNCTIONS.items():
    tf_function(_names)(_unary(_op) if _op in UNARY else _binary(_op))


@tf_function("math.truediv truediv math.divide divide __operators__.truediv")
def truediv(b: LayerBuilder, x: Any, y: Any) -> LayerTensor:
    """Integers of up to 16 bits are divided as float32, others as float64."""
    kind = next(operand.dtype for operand in (x, y) if isinstance(operand, LayerTensor))
    if kind.is_integer:
        wide = FLOAT32 if kind.numpy.itemsize <= 2 else DType.parse("float64")
        x, y = (b.cast(v, wide) if isinstance(v, LayerTensor) else b.constant(v, wide) for v in (x, y))
    return b.RealDiv(x, y)


@tf_function("math.logical_and logical_and __operators__.logical_and")
def logical_and(b: LayerBuilder, x: LayerTensor, y: LayerTensor) -> LayerTensor:
    return b.LogicalAnd(x, y)


@tf_function("math.logical_or logical_or __operators__.logical_or")
def logical_or(b: LayerBuilder, x: LayerTensor, y: LayerTensor) -> LayerTensor:
    return b.LogicalOr(x, y)


@tf_function("math.logical_xor __operators__.logical_xor")
def logical_xor(b: LayerBuilder, x: LayerTensor, y: LayerTensor) -> LayerTensor:
    return b.LogicalAnd(b.LogicalOr(x, y), b.LogicalNot(b.LogicalAnd(x, y)))


@tf_function("cast")
def cast(b: LayerBuilder, x: LayerTensor, dtype: str) -> LayerTensor:
    return b.cast(x, DType.parse(dtype))


@tf_function("clip_by_value compat.v1.clip_by_value")
def clip_by_value(b: LayerBuilder, t: LayerTensor, clip_value_min: Any, clip_value_max: Any) -> LayerTensor:
    return b.Maximum(b.Minimum(t, clip_value_max), clip_value_min)


@tf_function("zeros_like compat.v1.zeros_like")
def zeros_like(
    b: LayerBuilder, x: LayerTensor, dtype: str | None = None, optimize: bool = True
) -> LayerTensor:
    zeros = b.ZerosLike(x)
    return b.cast(zeros, DType.parse(dtype)) if dtype else zeros


@tf_function("ones_like compat.v1.ones_like")
def full_of_1(
    b: LayerBuilder, x: LayerTensor, dtype: str | None = None, optimize: bool = True
) -> LayerTensor:
    full = b.OnesLike(x)
    return b.cast(full, DType.parse(dtype)) if dtype else full


@tf_function("math.add_n add_n")
def add_n(b: LayerBuilder, inputs: Any) -> LayerTensor:
    total, *others = tensors_of(b, inputs)
    for x in others:
        total = b.Add(total, x)
    return total


@tf_function("where compat.v1.where compat.v1.where_v2 where_v2")
def where(b: LayerBuilder, condition: LayerTensor, x: Any = None, y: Any = None) -> LayerTensor:
    if x is None or y is None:
        raise b.refuse("it lists the places of elements, whose number is unknown")
    return select(b, b.cast(condition, BOOL), *tensors_of(b, [x, y]))
