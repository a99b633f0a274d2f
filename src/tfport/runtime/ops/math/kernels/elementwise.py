"""Element-wise functions of one tensor: a table, and a few special ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.runtime.lower import host
from tfport.runtime.ops.shared.numbers import is_integer
from tfport.runtime.ops.shared.precision import widen
from tfport.runtime.ops.shared.sigmoid import sigmoid

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
    made = np.empty(real.shape, Tout.numpy)
    made.real, made.imag = real, imag
    return made


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
