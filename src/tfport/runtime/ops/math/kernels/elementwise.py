"""Element-wise functions of one tensor, checks that numbers are finite, and conversions between types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.shared.axes import is_integer
from tfport.runtime.ops.shared.precision import sigmoid, widen

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "Abs": np.abs,
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Ceil": np.ceil,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Floor": np.floor,
    "Inv": lambda x: 1 / x,
    "IsFinite": np.isfinite,
    "IsInf": np.isinf,
    "IsNan": np.isnan,
    "Log": np.log,
    "Log1p": np.log1p,
    "LogicalNot": np.logical_not,
    "Neg": np.negative,
    "Reciprocal": lambda x: 1 / x,
    "Rint": np.rint,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Sigmoid": sigmoid,
    "Sign": np.sign,
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Sqrt": np.sqrt,
    "Square": np.square,
    "Tan": np.tan,
    "Tanh": np.tanh,
}


def declare(op: str, function: Callable[[Any], Any]) -> None:
    """Declare a kernel whose only input is named `x`."""

    def kernel(x):
        return function(widen(x))

    host(op)(kernel)


for _op, _function in _FUNCTIONS.items():
    declare(_op, _function)


@host("Conj")
def conj(input):
    return np.conj(input)


@host("Round")
def round_to_even(x):
    # TensorFlow 2.21 returns zeros for integers
    return np.zeros_like(x) if is_integer(x) else np.rint(widen(x))


@host("Complex")
def make_complex(real, imag, *, Tout):
    real, imag = np.broadcast_arrays(real, imag)
    array = np.empty(real.shape, Tout.numpy)
    array.real, array.imag = real, imag
    return array


@host("Real")
def real_part(input, *, Tout):
    return np.real(input)


@host("Imag")
def imaginary_part(input, *, Tout):
    return np.imag(input)


@host("Angle")
def angle(input, *, Tout):
    return np.angle(input)


@host("ComplexAbs")
def complex_abs(x, *, Tout):
    return np.abs(x)


# Checks that numbers are finite


@host("CheckNumerics")
def check_numerics(tensor, *, message):
    infinite, undefined = bool(np.any(np.isinf(tensor))), bool(np.any(np.isnan(tensor)))
    checks = [("Inf", infinite), ("NaN", undefined)]
    return _checked(tensor, message, [name for name, present in checks if present])


@host("CheckNumericsV2")
def check_numerics_v2(tensor, *, message):
    checks = [
        ("-Inf", bool(np.any(np.isneginf(widen(tensor))))),
        ("+Inf", bool(np.any(np.isposinf(widen(tensor))))),
        ("NaN", bool(np.any(np.isnan(tensor)))),
    ]
    return _checked(tensor, message, [name for name, present in checks if present])


def _checked(tensor: Any, message: str, names: list[str]) -> Any:
    if names:
        raise RunFailed(f"{message} : Tensor had {' and '.join(names)} values")
    return tensor


# Conversion by value (Cast) and by bits (Bitcast)

PACKETS = {"float32": 32, "float64": 16, "float16": 16, "bfloat16": 8}
"""Elements that TensorFlow converts to a narrow integer at once: these saturate, the remaining ones wrap."""
PACKET_OF_UINT32 = 8
_MANTISSA = {
    ("float64", "float32"): 29, ("float64", "float16"): 42, ("float64", "bfloat16"): 45,
    ("float32", "float16"): 13, ("float32", "bfloat16"): 16,
    ("float64", "float8_e5m2"): 50, ("float64", "float8_e4m3fn"): 49,
    ("float32", "float8_e5m2"): 21, ("float32", "float8_e4m3fn"): 20,
}  # fmt: skip
"""Mantissa bits that the narrower type lacks."""


@host("Cast")
def cast(x, *, SrcT, DstT, Truncate):
    if Truncate and (lost := _MANTISSA.get((x.dtype.name, DstT.numpy.name))):
        bits = x.view(f"u{x.dtype.itemsize}")
        kept = (bits >> bits.dtype.type(lost) << bits.dtype.type(lost)).view(x.dtype)
        x = np.where(np.isfinite(x), kept, x)
    return converted(x, DstT.numpy)


@quick(cast)
def cast_integers(groups, attrs):
    """Sizes and indices are cast from one type of integers to another."""
    if not (attrs["SrcT"].is_integer and attrs["DstT"].is_integer):
        return None
    dtype = attrs["DstT"].numpy
    return lambda x: x.astype(dtype)


def converted(x: Any, dtype: Any) -> Any:
    """`x` converted to a type; values out of range become what TensorFlow's CPU kernels return."""
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        x = x.real
    if dtype == np.bool_:
        return x != 0
    if x.dtype.kind not in "fV" or np.dtype(dtype).kind not in "iu":
        return x.astype(dtype)
    if x.dtype.name not in ("float32", "float64"):
        return _to_integer(x.astype(np.float32), dtype, PACKETS.get(x.dtype.name, 1))
    return _to_integer(x, dtype, PACKETS[x.dtype.name])


def _to_integer(x: Any, dtype: Any, packet: int) -> Any:
    dtype = np.dtype(dtype)
    if dtype == np.uint64:
        return _to_uint64(x)
    if dtype.itemsize == 8:
        return _within(x, np.int64)
    if dtype == np.int32:
        return _within(x, np.int32)
    wrapped = _within(x, np.int64).astype(dtype) if dtype == np.uint32 else _within(x, np.int32).astype(dtype)
    if dtype == np.uint32:
        packet = PACKET_OF_UINT32
    whole = x.size // packet * packet
    if not whole:
        return wrapped
    wrapped = np.atleast_1d(wrapped)
    flat, head = wrapped.reshape(-1), x.reshape(-1)[:whole]
    if dtype == np.uint32:
        flat[:whole] = np.where(head >= 2**31, _upper_half(head), _within(head, np.int32).astype(dtype))
    else:
        limits = np.iinfo(dtype)
        flat[:whole] = np.clip(_within(head, np.int32), limits.min, limits.max).astype(dtype)
    return flat.reshape(x.shape)


def _within(x: Any, dtype: Any) -> Any:
    """Round toward zero; out-of-range values and NaN become the smallest number, as on the processor."""
    limits = np.iinfo(dtype)
    inside = (x >= float(limits.min)) & (x < float(limits.max) + (1.0 if limits.bits < 64 else 0.0))
    return np.where(inside, np.where(inside, x, 0).astype(dtype), limits.min)


def _upper_half(x: Any) -> Any:
    there = x < 2.0**32
    return np.where(there, np.where(there, x, 0).astype(np.uint32), np.uint32(2**31))


def _to_uint64(x: Any) -> Any:
    high = (x >= 2.0**63) & (x < 2.0**64)
    return np.where(high, np.where(high, x, 0).astype(np.uint64), _within(x, np.int64).view(np.uint64))


@host("Bitcast")
def bitcast(input, *, type):
    dtype = type.numpy
    have, want = input.dtype.itemsize, dtype.itemsize
    plain = np.ascontiguousarray(input).reshape(input.shape)
    if have == want:
        return plain.view(dtype)
    if have > want:
        return np.atleast_1d(plain).view(dtype).reshape(*input.shape, have // want)
    if not input.ndim or input.shape[-1] * have != want:
        raise RunFailed(f"the last axis must have {want // have} elements to become one {type.name}")
    return plain.view(dtype).reshape(input.shape[:-1])
