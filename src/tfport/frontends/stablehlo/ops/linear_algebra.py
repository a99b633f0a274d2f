"""Products of matrices, Fourier transforms, Cholesky factors and triangular systems."""

from __future__ import annotations

from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.constants import integers
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.tensor import HloTensor, element_type
from tfport.graph.dtypes import INT32, INT64, DType
from tfport.graph.graph import Value


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
    left = _Factor(op, x, x_batch, x_summed, computed_in(out))
    right = _Factor(op, y, y_batch, y_summed, computed_in(out), is_right=True)
    if x_batch:
        node = op.BatchMatMul(left.matrix, right.matrix, adj_x=left.is_transposed, adj_y=right.is_transposed)
    else:
        node = op.MatMul(
            left.matrix, right.matrix, transpose_a=left.is_transposed, transpose_b=right.is_transposed
        )
    value = node.output(0)
    sizes = [left.sizes[axis] for axis in x_batch] + left.free_sizes + right.free_sizes
    if len(left.free) != 1 or len(right.free) != 1:
        value = op.reshaped(value, sizes)
    return op.cast(op.tensor(value, hlo.types[0].shape), out)


def computed_in(dtype: DType) -> DType:
    """The type of a product: short integers have no kernel."""
    if not dtype.is_integer or dtype in (INT32, INT64):
        return dtype
    return INT64 if dtype.numpy.itemsize >= 4 else INT32


class _Factor:
    """One side of a product as a batch of matrices, (free, summed) on the left; or transposed."""

    def __init__(
        self,
        op: HloNodes,
        x: HloTensor,
        batch: list[int],
        summed: list[int],
        dtype: DType,
        *,
        is_right: bool = False,
    ) -> None:
        self.free = [axis for axis in range(x.rank) if axis not in (*batch, *summed)]
        self.sizes = op.dims_of(x)
        self.free_sizes = [self.sizes[axis] for axis in self.free]
        order, other = (summed, self.free) if is_right else (self.free, summed)
        is_other = [*batch, *other, *order] == list(range(x.rank)) and [*order, *other] != [*other, *order]
        # BatchMatMul transposes a matrix with its conjugate
        self.is_transposed = is_other and not (batch and dtype.is_complex)
        if self.is_transposed:
            order, other = other, order
        value = op.transposed(op.cast(x, dtype).value, [*batch, *order, *other])
        if len(self.free) != 1 or len(summed) != 1:
            ends = [op.count([self.sizes[axis] for axis in axes]) for axes in (order, other)]
            value = op.reshaped(value, [*(self.sizes[axis] for axis in batch), *ends])
        self.matrix: Value = value


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
    return op.tensor(op.transposed(x.value, order), tuple(x.dims[axis] for axis in order))


def _adjoint(op: HloNodes, x: HloTensor) -> HloTensor:
    transposed = _transposed(op, x)
    return op.tensor(op.Conj(transposed.value), transposed.dims) if x.dtype.is_complex else transposed
