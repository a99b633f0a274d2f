"""Products of matrices, Fourier transforms, Cholesky factors and triangular systems."""

from __future__ import annotations

from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.constants import integers
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.tensor import HloTensor, element_type
from tfport.graph.building.arrays import transpose
from tfport.graph.building.products import contract
from tfport.graph.dtypes import INT32, INT64, DType


@translates("dot")
def dot(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    return _product(op, hlo, x, y, [], [], [x.rank - 1], [0])


@translates("dot_general")
def dot_general(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    names = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting")
    return _product(op, hlo, x, y, *(integers(hlo.attrs[f"{name}_dimensions"]) for name in names))


def _product(
    op: HloNodes,
    hlo: HloOp,
    x: HloTensor,
    y: HloTensor,
    x_batch: list[int],
    y_batch: list[int],
    x_summed: list[int],
    y_summed: list[int],
) -> HloTensor:
    """The batch axes, then the free axes of each side."""
    out = element_type(hlo.types[0].element)
    x, y = (op.cast(factor, computed_in(out)) for factor in (x, y))
    x_axes, y_axes = [f"x{axis}" for axis in range(x.rank)], [f"y{axis}" for axis in range(y.rank)]
    for x_axis, y_axis in zip((*x_batch, *x_summed), (*y_batch, *y_summed), strict=True):
        y_axes[y_axis] = x_axes[x_axis]
    free = [axis for axis in (*x_axes, *y_axes) if (axis in x_axes) != (axis in y_axes)]
    product = contract(op, x, y, x_axes, y_axes, [*(x_axes[axis] for axis in x_batch), *free])
    return op.cast(op.tensor(product.value, hlo.types[0].shape), out)


def computed_in(dtype: DType) -> DType:
    """The type of a product: short integers have no kernel."""
    if not dtype.is_integer or dtype in (INT32, INT64):
        return dtype
    return INT64 if dtype.numpy.itemsize >= 4 else INT32


TRANSFORMS = ("FFT", "IFFT", "RFFT", "IRFFT")
COMPLEX128, FLOAT64 = DType.parse("complex128"), DType.parse("float64")
TRANSPOSED, ADJOINT = 2, 3


@translates("fft")
def fft(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    lengths = integers(hlo.attrs["fft_length"])
    transform = TRANSFORMS[hlo.attrs["fft_type"]]
    name = transform + ("", "2D", "3D")[len(lengths) - 1]
    dims = hlo.types[0].shape
    if transform in ("FFT", "IFFT"):
        return op.tensor(op.node(name, x.value), dims)
    is_wide = x.dtype in (COMPLEX128, FLOAT64)
    attr = (
        {"Tcomplex": "complex128" if is_wide else "complex64"}
        if transform == "RFFT"
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
        node = op.MatrixTriangularSolve(a.value, b.value, lower=lower, adjoint=way == ADJOINT)
        return op.tensor(node, b.dims)
    if way == ADJOINT:
        a, lower = _adjoint(op, a), not lower
    solved = op.MatrixTriangularSolve(_transposed(op, a).value, _transposed(op, b).value, lower=not lower)
    return op.tensor(_transposed(op, op.tensor(solved, (*b.dims[:-2], b.dims[-1], b.dims[-2]))).value, b.dims)


def _transposed(op: HloNodes, x: HloTensor) -> HloTensor:
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    return transpose(op, x, order)


def _adjoint(op: HloNodes, x: HloTensor) -> HloTensor:
    transposed = _transposed(op, x)
    return op.tensor(op.Conj(transposed.value), transposed.dims) if x.dtype.is_complex else transposed
