"""Casts, lowered to ONNX where both agree on values out of range."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.program import ONNX_TYPES

_WHOLE = frozenset(["int32", "int64", "bool"])
_PLAIN = frozenset(["float32", "float64", "float16", "bfloat16"])


@lower("Cast")
def cast(b, x, *, SrcT, DstT, Truncate):
    if Truncate:
        raise CannotLower("Truncate: ONNX rounds")
    if x.dtype.name in _PLAIN and DstT.name not in _PLAIN | _WHOLE:
        raise CannotLower("out-of-range values saturate or wrap depending on their position")
    if x.dtype == DstT:
        return b.Identity(x)
    if any(t.is_complex or t.is_quantized or t.name not in ONNX_TYPES for t in (x.dtype, DstT)):
        raise CannotLower("ONNX has no such type")
    return b.cast(x, DstT)
