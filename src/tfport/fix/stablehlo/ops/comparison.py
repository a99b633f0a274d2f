"""Comparisons, also in the total order of floats."""

from __future__ import annotations

import numpy as np

from tfport.fix.stablehlo.declare import translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, DType
from tfport.runtime.ops.xla.stablehlo.elementwise import TOTAL_ORDER

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
    kind = INT64 if x.dtype == FLOAT64 else INT32
    bits = op.tensor(op.Bitcast(x.value, type=kind), x.dims)
    rest = op.known(np.array(np.iinfo(kind.numpy).max, kind.numpy))
    is_negative = op.each("Less", bits, op.known(np.zeros((), kind.numpy)))
    return op.each("SelectV2", is_negative, op.each("BitwiseXor", bits, rest), bits)
