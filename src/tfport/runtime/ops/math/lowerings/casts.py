"""Casts, in ONNX, where both sides agree on what does not fit."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.program import ONNX_TYPES

_WHOLE = frozenset(["int32", "int64", "bool"])
_PLAIN = frozenset(["float32", "float64", "float16", "bfloat16"])


@lower("Cast")
def cast(b, x, *, SrcT, DstT, Truncate):
    if Truncate:
        raise CannotLower("it cuts where ONNX rounds")
    if x.dtype.name in _PLAIN and DstT.name not in _PLAIN | _WHOLE:
        raise CannotLower("what does not fit saturates or wraps, by its place")
    if x.dtype == DstT:
        return b.Identity(x)
    if any(one.is_complex or one.is_quantized or one.name not in ONNX_TYPES for one in (x.dtype, DstT)):
        raise CannotLower("ONNX casts plain numbers")
    return b.cast(x, DstT)
