"""Functions of each element: arithmetic, comparisons, logic, types, strings."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.tensorflow.function import tensors_of, tf_function
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import select
from tfport.graph.dtypes import BOOL, FLOAT32, DType


@tf_function("math.truediv truediv math.divide divide __operators__.truediv")
def truediv(b: LayerBuilder, x: Any, y: Any) -> LayerTensor:
    """Integers of up to 16 bits are divided as float32, others as float64."""
    dtype = next(operand.dtype for operand in (x, y) if isinstance(operand, LayerTensor))
    if dtype.is_integer:
        wide = FLOAT32 if dtype.numpy.itemsize <= 2 else DType.parse("float64")
        x, y = (b.cast(v, wide) if isinstance(v, LayerTensor) else b.constant(v, wide) for v in (x, y))
    return b.RealDiv(x, y)


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


# Strings


@tf_function("strings.regex_replace")
def regex_replace(
    b: LayerBuilder, input: LayerTensor, pattern: str, rewrite: str, replace_global: bool = True
) -> LayerTensor:
    return b.StaticRegexReplace(input, pattern=pattern, rewrite=rewrite, replace_global=replace_global)


@tf_function("strings.to_number")
def to_number(b: LayerBuilder, input: LayerTensor, out_type: str = "float32") -> LayerTensor:
    return b.StringToNumber(input, out_type=DType.parse(out_type))
