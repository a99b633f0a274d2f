"""Conversions between element types."""

from __future__ import annotations

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.tensor import HloTensor, element_type
from tfport.graph.dtypes import BOOL, FLOAT32, DType

BFLOAT16, FLOAT16, UINT8 = (DType.parse(name) for name in ("bfloat16", "float16", "uint8"))
STORED = {(8, 7): BFLOAT16, (5, 10): FLOAT16}
"""Types by the number of bits of their exponent and mantissa."""
WIDTHS = {"bfloat16": (8, 7), "float16": (5, 10), "float32": (8, 23), "float64": (11, 52)}
LEAST_HALF = 2.0**-14


@translates("convert")
def convert(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    """Floats out of range become the nearest integer, NaN becomes 0."""
    dtype = element_type(hlo.types[0].element)
    if dtype == x.dtype:
        return x
    if x.dtype.is_complex and not dtype.is_complex:
        x = op.tensor(op.Real(x.value, Tout="float64" if x.dtype.name == "complex128" else "float32"), x.dims)
    if dtype == BOOL:
        return op.each("NotEqual", x, op.known(np.zeros((), x.dtype.numpy)))
    if dtype.is_integer and x.dtype.is_floating:
        return _to_integers(op, x, dtype)
    return _cast(op, x, dtype)


def _cast(op: HloNodes, x: HloTensor, dtype: DType) -> HloTensor:
    node = op.Cast(x.compact, DstT=dtype)
    return op.spread(node, x) if x.is_compact else op.tensor(node, x.dims)


def _to_integers(op: HloNodes, x: HloTensor, dtype: DType) -> HloTensor:
    limits = np.iinfo(dtype.numpy)
    if x.dtype in (BFLOAT16, FLOAT16):
        x = _cast(op, x, FLOAT32)
    integers = _cast(op, x, dtype)
    # the limits as floats: the upper one is rounded up to a number that is out of range
    for name, limit in (("GreaterEqual", limits.max), ("LessEqual", limits.min)):
        is_beyond = op.each(name, x, op.known(np.array(limit).astype(x.dtype.numpy)))
        integers = op.each("SelectV2", is_beyond, op.known(np.array(limit, dtype.numpy)), integers)
    return op.each("SelectV2", op.each("IsNan", x), op.known(np.zeros((), dtype.numpy)), integers)


@translates("bitcast_convert")
def bitcast_convert(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    """If the widths differ, the narrower type has an extra last axis, as in TensorFlow."""
    dtype = element_type(hlo.types[0].element)
    if dtype == x.dtype:
        return x
    if x.dtype == BOOL:
        x = _cast(op, x, UINT8)
    if dtype == BOOL:
        bits = x if x.dtype == UINT8 else op.tensor(op.Bitcast(x.value, type=UINT8), hlo.types[0].shape)
        return op.each("NotEqual", bits, op.known(np.zeros((), np.uint8)))
    if dtype == x.dtype:
        return x
    return op.tensor(op.Bitcast(x.value, type=dtype), hlo.types[0].shape)


@translates("reduce_precision")
def reduce_precision(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    """Rounded as a short float; what would be subnormal there becomes zero."""
    bits = int(hlo.attrs["exponent_bits"]), int(hlo.attrs["mantissa_bits"])
    if all(asked >= own for asked, own in zip(bits, WIDTHS[x.dtype.name], strict=True)):
        return x
    if op.program.own_runtime:
        exponent, mantissa = bits
        return op.tensor(
            op.XlaReducePrecision(x.value, exponent_bits=exponent, mantissa_bits=mantissa), x.dims
        )
    short = STORED.get(bits)
    if x.dtype != FLOAT32 or short is None:
        raise CannotRun(f"stablehlo.reduce_precision of {x.dtype} to e{bits[0]}m{bits[1]} has no translation")
    rounded = _cast(op, _cast(op, x, short), FLOAT32)
    if short != FLOAT16:
        return rounded
    is_small = op.each("Less", op.each("Abs", rounded), op.known(np.array(LEAST_HALF, np.float32)))
    zero = op.each("Mul", x, op.known(np.zeros((), np.float32)))  # with the sign of x
    return op.each("SelectV2", is_small, zero, rounded)
