"""Operations on the matrices in two axes: triangles, diagonals, turns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.frontends.keras.arrays import (
    expand_dims,
    pad,
    positions,
    reduce,
    reshape,
    select,
    sizes,
    slice_axis,
    transpose,
)
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating
from tfport.frontends.keras.rearranging import reversed_axes
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, DType


@layer("ops.Tril")
def lower_triangle(b: LayerBuilder, x: LayerTensor, *, k: int = 0) -> LayerTensor:
    return _band(b, x, -1, k) if k >= 0 else _beyond_diagonal(b, x, k, below=True)


@layer("ops.Triu")
def upper_triangle(b: LayerBuilder, x: LayerTensor, *, k: int = 0) -> LayerTensor:
    return _band(b, x, -k, -1) if k <= 0 else _beyond_diagonal(b, x, k, below=False)


def _band(b: LayerBuilder, x: LayerTensor, lower: int, upper: int) -> LayerTensor:
    limits = (b.constant(limit, INT64) for limit in (lower, upper))
    return b.tensor(b.node("MatrixBandPart", x, *limits), x.shape)


def _beyond_diagonal(b: LayerBuilder, x: LayerTensor, k: int, *, below: bool) -> LayerTensor:
    """The elements on one side of a diagonal that is not the main one."""
    rows, columns = (positions(b, size) for size in sizes(b, x)[-2:])
    distance = b.Sub(expand_dims(b, columns, 0), expand_dims(b, rows, 1))
    kept = b.LessEqual(distance, k) if below else b.GreaterEqual(distance, k)
    return select(b, kept, x, b.ZerosLike(x))


@layer("ops.Diag")
def diag(b: LayerBuilder, x: LayerTensor, *, k: int = 0) -> LayerTensor:
    if x.rank == 1:
        return _matrix_of(b, x, k)
    if x.rank == 2:
        return diagonal(b, x, offset=k)
    raise b.refuse(f"it gets a tensor of rank {x.rank}; expected a vector or a matrix")


@layer("ops.Diagflat")
def diagflat(b: LayerBuilder, x: LayerTensor, *, k: int = 0) -> LayerTensor:
    return _matrix_of(b, reshape(b, x, (None,)), k)


def _matrix_of(b: LayerBuilder, vector: LayerTensor, k: int) -> LayerTensor:
    """A matrix of zeros but for one diagonal."""
    matrix = b.tensor(b.node("MatrixDiag", vector), vector.shape * 2)
    above, below = max(k, 0), max(-k, 0)
    return pad(b, matrix, [(below, above), (above, below)])


@layer("ops.Diagonal")
def diagonal(
    b: LayerBuilder, x: LayerTensor, *, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> LayerTensor:
    """The elements of a diagonal, as the last axis."""
    axes = [axis1 % x.rank, axis2 % x.rank]
    x = transpose(b, x, [axis for axis in range(x.rank) if axis not in axes] + axes)
    if offset:
        x = slice_axis(b, x, -1 if offset > 0 else -2, abs(offset), None)
    rows, columns = x.shape[-2:]
    length = None if rows is None or columns is None else min(rows, columns)
    return b.tensor(b.node("MatrixDiagPart", x), (*x.shape[:-2], length))


@layer("ops.Trace")
def trace(b: LayerBuilder, x: LayerTensor, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> LayerTensor:
    elements = diagonal(b, x, offset=offset, axis1=axis1, axis2=axis2)
    return reduce(b, "Sum", b.cast(elements, summed_type(x.dtype)), [-1])


def summed_type(dtype: DType) -> DType:
    """The type that Keras adds narrow integers in."""
    if dtype == BOOL or str(dtype) in ("int8", "int16"):
        return INT32
    return DType.parse("uint32") if str(dtype) in ("uint8", "uint16") else dtype


@layer("ops.Rot90")
def turn(b: LayerBuilder, array: LayerTensor, *, k: int = 1, axes: Sequence[int] = (0, 1)) -> LayerTensor:
    """Quarter turns of the plane of two axes."""
    first, second = (axis % array.rank for axis in axes)
    order = list(range(array.rank))
    order[first], order[second] = second, first
    turns = k % 4
    if turns == 2:
        if array.shape[first] is None or array.shape[first] != array.shape[second]:
            # Keras 3.15 with TensorFlow reshapes between the two quarters as if nothing had been turned
            raise b.refuse("half turns of planes that are not square differ between the backends of Keras")
        return reversed_axes(b, array, [first, second])
    if turns == 1:
        array = reversed_axes(b, array, [second])
    if turns:
        array = transpose(b, array, order)
    return reversed_axes(b, array, [second]) if turns == 3 else array


@layer("ops.Vander")
def powers(b: LayerBuilder, x: LayerTensor, *, N: int | None = None, increasing: bool = False) -> LayerTensor:
    count = x.shape[0] if N is None else N
    if count is None:
        raise b.refuse("it computes as many powers as the tensor has elements, whose number is unknown")
    exponents = np.arange(count) if increasing else np.arange(count)[::-1]
    kind = x.dtype if x.dtype.is_floating else FLOAT32
    result = b.Pow(as_floating(b, expand_dims(b, x, -1)), b.constant(exponents, kind))
    return b.cast(result, x.dtype)
