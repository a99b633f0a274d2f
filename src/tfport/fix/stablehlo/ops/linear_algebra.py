"""Fourier transforms, Cholesky factors and triangular systems."""

from __future__ import annotations

from tfport.fix.stablehlo.declare import integers, translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.graph.dtypes import INT32, DType

TRANSFORMS = ("FFT", "IFFT", "RFFT", "IRFFT")
COMPLEX128, FLOAT64 = DType.parse("complex128"), DType.parse("float64")
TRANSPOSED, ADJOINT = 2, 3


@translates("fft")
def fft(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    lengths = integers(hlo.attrs["fft_length"])
    kind = TRANSFORMS[hlo.attrs["fft_type"]]
    name = kind + ("", "2D", "3D")[len(lengths) - 1]
    dims = hlo.types[0].shape
    if kind in ("FFT", "IFFT"):
        return op.tensor(op.node(name, x.value), dims)
    is_wide = x.dtype in (COMPLEX128, FLOAT64)
    attr = (
        {"Tcomplex": "complex128" if is_wide else "complex64"}
        if kind == "RFFT"
        else {"Treal": "float64" if is_wide else "float32"}
    )
    return op.tensor(op.node(name, x.value, op.const(lengths, INT32), **attr), dims)


@translates("cholesky")
def cholesky(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    """Only one triangle is read."""
    if hlo.attrs["lower"]:
        return op.tensor(op.Cholesky(x.value), x.dims)
    return op.tensor(_adjoint(op, op.tensor(op.Cholesky(_adjoint(op, x).value), x.dims)).value, x.dims)


@translates("triangular_solve")
def triangular_solve(op: HloNodes, hlo: HloOp, a: HloTensor, b: HloTensor) -> HloTensor:
    """A system from the right side is solved with both sides transposed."""
    lower, way = bool(hlo.attrs["lower"]), hlo.attrs["transpose_a"]
    if hlo.attrs["unit_diagonal"]:
        units = op.OnesLike(op.MatrixDiagPart(a.value))
        a = op.tensor(op.MatrixSetDiag(a.value, units), a.dims)
    if way == TRANSPOSED:
        a, lower, way = _transposed(op, a), not lower, 1
    if hlo.attrs["left_side"]:
        made = op.MatrixTriangularSolve(a.value, b.value, lower=lower, adjoint=way == ADJOINT)
        return op.tensor(made, b.dims)
    if way == ADJOINT:
        a, lower = _adjoint(op, a), not lower
    solved = op.MatrixTriangularSolve(_transposed(op, a).value, _transposed(op, b).value, lower=not lower)
    return op.tensor(_transposed(op, op.tensor(solved, (*b.dims[:-2], b.dims[-1], b.dims[-2]))).value, b.dims)


def _transposed(op: HloNodes, x: HloTensor) -> HloTensor:
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    return op.tensor(op.transposed(x.value, order), tuple(x.dims[axis] for axis in order))


def _adjoint(op: HloNodes, x: HloTensor) -> HloTensor:
    turned = _transposed(op, x)
    return op.tensor(op.Conj(turned.value), turned.dims) if x.dtype.is_complex else turned
