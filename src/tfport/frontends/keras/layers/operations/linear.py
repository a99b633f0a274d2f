"""Products of tensors."""

from __future__ import annotations

import string
from typing import Any

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating, promoted, tensors_of
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import batch_matmul as multiply_matrices
from tfport.graph.building.arrays import (
    concat,
    expand_dims,
    reduce,
    reshape,
    slice_axis,
    squeeze,
    transpose,
)
from tfport.graph.building.arrays import matmul as multiply_by_matrix
from tfport.graph.building.products import einsum
from tfport.graph.building.sizes import sizes


@layer("ops.Matmul")
def matmul_operation(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    return matrix_product(b, *promoted(b, x1, x2))


@layer("ops.Dot")
def dot(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    x, y = promoted(b, x1, x2)
    if x.rank == 0 or y.rank == 0:
        return b.Mul(x, y)
    letters = string.ascii_lowercase
    left = letters[: x.rank]
    right = letters[x.rank : x.rank + y.rank]
    axis = max(0, y.rank - 2)
    right = right[:axis] + left[-1] + right[axis + 1 :]
    return einsum(b, f"{left},{right}->{left[:-1]}{right.replace(left[-1], '')}", x, y)


@layer("ops.Einsum")
def einsum_operation(b: LayerBuilder, *operands: Any, subscripts: str) -> LayerTensor:
    tensors = promoted(b, *operands)
    if len(tensors) != 2 or "->" not in subscripts:
        raise b.refuse(f"its equation `{subscripts}` is not one of two tensors and a result")
    return einsum(b, subscripts, *tensors)


@layer("ops.Tensordot")
def tensordot(b: LayerBuilder, x1: Any, x2: Any, *, axes: Any = 2) -> LayerTensor:
    x, y = promoted(b, x1, x2)
    return tensor_product(b, x, y, axes)


@layer("ops.Outer")
def outer(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    x, y = promoted(b, *tensors_of(b, x1, x2))
    return b.Mul(reshape(b, x, (None, 1)), reshape(b, y, (None,)))


@layer("ops.Inner")
def inner(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    """The sums of products over both last axes; integers are multiplied as float32."""
    x, y = promoted(b, *tensors_of(b, x1, x2))
    wide = as_floating(b, x), as_floating(b, y)
    product = b.Mul(*wide) if x.rank == 0 or y.rank == 0 else tensor_product(b, *wide, [[-1], [-1]])
    return b.cast(product, x.dtype)


@layer("ops.Vdot")
def vdot(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    x, y = promoted(b, *tensors_of(b, x1, x2))
    products = b.Mul(*(reshape(b, as_floating(b, operand), (None,)) for operand in (x, y)))
    return b.cast(reduce(b, "Sum", products, [0]), x.dtype)


@layer("ops.Cross")
def cross(
    b: LayerBuilder,
    x1: Any,
    x2: Any,
    *,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> LayerTensor:
    """The vectors perpendicular to both; of two vectors in a plane, the length of theirs."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promoted(b, *tensors_of(b, x1, x2))
    vectors = [_with_axis_last(b, x, axisa), _with_axis_last(b, y, axisb)]
    lengths = [vector.shape[-1] for vector in vectors]
    if not all(length in (2, 3) for length in lengths):
        raise b.refuse(f"its vectors have the lengths {lengths}; expected 2 or 3")
    p, q = ([slice_axis(b, vector, -1, i, i + 1) for i in range(vector.shape[-1] or 0)] for vector in vectors)
    third = b.Sub(b.Mul(p[0], q[1]), b.Mul(p[1], q[0]))
    if lengths == [2, 2]:
        return squeeze(b, third, -1)
    p, q = (parts if len(parts) == 3 else [*parts, b.ZerosLike(parts[0])] for parts in (p, q))
    first = b.Sub(b.Mul(p[1], q[2]), b.Mul(p[2], q[1]))
    second = b.Sub(b.Mul(p[2], q[0]), b.Mul(p[0], q[2]))
    result = concat(b, [first, second, third], -1)
    order = list(range(result.rank - 1))
    order.insert(axisc % result.rank, result.rank - 1)
    return transpose(b, result, order)


def _with_axis_last(b: LayerBuilder, x: LayerTensor, axis: int) -> LayerTensor:
    axis = axis % x.rank
    return transpose(b, x, [i for i in range(x.rank) if i != axis] + [axis])


@layer("ops.Kron")
def kron(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    """Every element of the first tensor times the second, as blocks."""
    x, y = promoted(b, *tensors_of(b, x1, x2))
    rank = max(x.rank, y.rank)
    outer_sizes, inner_sizes = ([*[1] * (rank - t.rank), *sizes(b, t)] for t in (x, y))
    wide_x = reshape(b, x, [size for pair in zip(outer_sizes, [1] * rank, strict=True) for size in pair])
    wide_y = reshape(b, y, [size for pair in zip([1] * rank, inner_sizes, strict=True) for size in pair])
    dims = [
        p * q if isinstance(p, int) and isinstance(q, int) else b.Mul(p, q)
        for p, q in zip(outer_sizes, inner_sizes, strict=True)
    ]
    return reshape(b, b.Mul(wide_x, wide_y), dims)


def tensor_product(b: LayerBuilder, x: LayerTensor, y: LayerTensor, axes: Any) -> LayerTensor:
    """The sum of products over pairs of axes; a number counts the last of `x` and the first of `y`."""
    if isinstance(axes, int):
        pairs = [(x.rank - axes + i, i) for i in range(axes)]
    else:
        first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
        pairs = [(p % x.rank, q % y.rank) for p, q in zip(first, second, strict=True)]
    letters = string.ascii_letters
    left, right = list(letters[: x.rank]), list(letters[x.rank : x.rank + y.rank])
    for p, q in pairs:
        right[q] = left[p]
    shared = {left[p] for p, _ in pairs}
    rest = [letter for letter in left + right if letter not in shared]
    return einsum(b, f"{''.join(left)},{''.join(right)}->{''.join(rest)}", x, y)


def matrix_product(b: LayerBuilder, x: LayerTensor, y: LayerTensor) -> LayerTensor:
    """The product of matrices, as `@`: vectors get an axis of size 1, outer axes broadcast."""
    if x.rank > 2 and y.rank == 2:
        return multiply_by_matrix(b, x, y)
    row, column = x.rank == 1, y.rank == 1
    x = expand_dims(b, x, 0) if row else x
    y = expand_dims(b, y, 1) if column else y
    product = multiply_matrices(b, x, y)
    product = squeeze(b, product, -1) if column else product
    return squeeze(b, product, product.rank - (1 if column else 2)) if row else product
