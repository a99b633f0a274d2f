"""Operations on complex numbers and their parts."""

from __future__ import annotations

from tfport.frontends.keras.arrays import select, split, stack
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import BOOL, DType


@layer("ops.Real")
def real(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return part(b, "Real", x) if x.dtype.is_complex else x


@layer("ops.Imag")
def imaginary(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return part(b, "Imag", x) if x.dtype.is_complex else b.ZerosLike(x)


def part(b: LayerBuilder, op: str, x: LayerTensor) -> LayerTensor:
    """The `Real` or `Imag` part of complex numbers."""
    kind = DType.parse("float64" if str(x.dtype) == "complex128" else "float32")
    return b.tensor(b.node(op, x, Tout=kind), x.shape)


def complex_of(b: LayerBuilder, real_part: LayerTensor, imaginary_part: LayerTensor) -> LayerTensor:
    kind = DType.parse("complex128" if str(real_part.dtype) == "float64" else "complex64")
    return b.tensor(b.node("Complex", real_part, imaginary_part, Tout=kind), real_part.shape)


@layer("ops.Conj ops.Conjugate")
def conjugate(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.tensor(b.node("Conj", x), x.shape) if x.dtype.is_complex else x


@layer("ops.Angle")
def angle(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    if x.dtype.is_complex:
        return b.Atan2(part(b, "Imag", x), part(b, "Real", x))
    x = as_floating(b, x)
    return select(b, b.Less(x, 0.0), b.Add(b.ZerosLike(x), 3.141592653589793), b.ZerosLike(x))


@layer("ops.Isreal")
def is_real(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    if x.dtype.is_complex:
        return b.Equal(part(b, "Imag", x), 0.0)
    return b.LogicalNot(b.cast(b.ZerosLike(x), BOOL))


@layer("ops.Polar")
def polar(b: LayerBuilder, abs_: LayerTensor, angle: LayerTensor) -> LayerTensor:
    return complex_of(b, b.Mul(abs_, b.Cos(angle)), b.Mul(abs_, b.Sin(angle)))


@layer("ops.ViewAsReal")
def view_as_real(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return stack(b, [real(b, x), imaginary(b, x)], -1)


@layer("ops.ViewAsComplex")
def view_as_complex(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return complex_of(b, *split(b, x, 2, -1, drop=True))
