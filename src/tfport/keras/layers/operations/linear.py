"""Products of tensors."""

from __future__ import annotations

import string
from typing import Any

from tfport.keras.arrays import batch_matmul as multiply_matrices
from tfport.keras.arrays import expand_dims, squeeze
from tfport.keras.arrays import matmul as multiply_by_matrix
from tfport.keras.einsum import einsum
from tfport.keras.layer import layer
from tfport.keras.layer_builder import LayerBuilder
from tfport.keras.promotion import promoted
from tfport.keras.tensor import LayerTensor


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
    place = max(0, y.rank - 2)
    right = right[:place] + left[-1] + right[place + 1 :]
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
