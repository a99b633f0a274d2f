"""Casts, lowered to ONNX where both agree on values out of range."""

from __future__ import annotations

import platform

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.program import ONNX_TYPES

_BITS = {"int32": 31, "int64": 63}
_WHOLE = frozenset([*_BITS, "bool"])
_HALF = frozenset(["float16", "bfloat16"])
_PLAIN = frozenset(["float32", "float64", *_HALF])
SATURATES = platform.machine() not in ("x86_64", "AMD64")
"""Whether the engine turns NaN into 0 and large numbers into the nearest integer, unlike x86."""


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
    if SATURATES and x.dtype.name in _PLAIN and DstT.name in _BITS:
        return _integer_of(b, x, DstT)
    return b.cast(x, DstT)


def _integer_of(b, x, kind):
    """The integer part; the smallest integer for NaN and numbers out of range, as TensorFlow on x86-64."""
    wide = b.cast(x, FLOAT32) if x.dtype.name in _HALF else x
    limit = 2 ** _BITS[kind.name]
    fits = b.And(b.Greater(wide, b.const(-limit - 1, wide.dtype)), b.Less(wide, b.const(limit, wide.dtype)))
    return b.Where(fits, b.cast(wide, kind), b.const(-limit, kind))
