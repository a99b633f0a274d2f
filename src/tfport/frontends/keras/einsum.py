"""Sums of products as transposes and matrix products: over named axes (`ab,bc->ac`), and Keras' `batch_dot`.

TensorFlow has an op for the former only since 2.1.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerSize, LayerTensor
from tfport.graph.building.arrays import (
    batch_matmul,
    broadcast_dims,
    expand_dims,
    reduce,
    reshape,
    squeeze,
    transpose,
)
from tfport.graph.building.sizes import Sizes, sizes

_EQUATION = re.compile(
    r"([a-zA-Z]*(?:\.{3})?[a-zA-Z]*),([a-zA-Z]*(?:\.{3})?[a-zA-Z]*)->([a-zA-Z]*(?:\.{3})?[a-zA-Z]*)"
)


def einsum(b: LayerBuilder, equation: str, x: LayerTensor, y: LayerTensor) -> LayerTensor:
    """The sum of products of two tensors; each letter is an axis, `...` stands for the others."""
    x_axes, y_axes, out = expanded(b, equation, x.rank, y.rank)
    x, x_axes = _summed(b, x, x_axes, y_axes + out)
    y, y_axes = _summed(b, y, y_axes, x_axes + out)
    known = {axis: x.shape[i] for i, axis in enumerate(x_axes)}
    for i, axis in enumerate(y_axes):
        known[axis] = broadcast_dims(b, (known.get(axis, 1),), (y.shape[i],))[0]
    batch = [axis for axis in x_axes if axis in y_axes and axis in out]
    contracted = [axis for axis in x_axes if axis in y_axes and axis not in out]
    rows = [axis for axis in x_axes if axis not in y_axes]
    columns = [axis for axis in y_axes if axis not in x_axes]
    size: dict[str, int | LayerTensor] = dict(zip(y_axes, sizes(b, y), strict=True))
    size |= dict(zip(x_axes, sizes(b, x), strict=True))
    left = _grouped(b, x, x_axes, [batch, rows, contracted], size)
    right = _grouped(b, y, y_axes, [batch, contracted, columns], size)
    product = b.node("BatchMatMul" if batch else "MatMul", left, right)
    order = batch + rows + columns
    dims = [known[axis] for axis in order]
    result = b.tensor(product, dims)
    if len(rows) != 1 or len(columns) != 1:
        result = b.tensor(reshape(b, result, _with_one_unknown([size[axis] for axis in order])).value, dims)
    return transpose(b, result, [order.index(axis) for axis in out])


def expanded(b: LayerBuilder, equation: str, x_rank: int, y_rank: int) -> tuple[str, str, str]:
    """The three parts of an equation, with letters in place of `...`."""
    parts = _EQUATION.fullmatch(equation.replace(" ", ""))
    if parts is None:
        raise b.refuse(f"the equation `{equation}` is not `axes,axes->axes`")
    unused = [letter for letter in string.ascii_letters if letter not in equation]
    x, y, out = parts.groups()
    more = max(0, *(rank - len(axes) + 3 for axes, rank in ((x, x_rank), (y, y_rank)) if "..." in axes), 0)
    x, y, out = (axes.replace("...", "".join(unused[:more])) for axes in (x, y, out))
    if len(x) != x_rank or len(y) != y_rank or any(len(set(axes)) != len(axes) for axes in (x, y, out)):
        raise b.refuse(f"the equation `{equation}` does not fit tensors of rank {x_rank} and {y_rank}")
    return x, y, out


def _summed(b: LayerBuilder, x: LayerTensor, axes: str, used: str) -> tuple[LayerTensor, str]:
    """The sum over the axes that nothing else uses."""
    unused = [i for i, axis in enumerate(axes) if axis not in used]
    return (reduce(b, "Sum", x, unused) if unused else x), "".join(axis for axis in axes if axis in used)


def _grouped(
    b: LayerBuilder,
    x: LayerTensor,
    axes: str,
    groups: Sequence[Sequence[str]],
    size: dict[str, int | LayerTensor],
) -> LayerTensor:
    """The tensor with its batch axes, then one axis for each other group."""
    batch, *others = groups
    ordered = transpose(b, x, [axes.index(axis) for group in groups for axis in group])
    if all(len(group) == 1 for group in others):
        return ordered
    dims: list[LayerSize] = [size[axis] for axis in batch]
    for group in others:
        product: int | LayerTensor = 1
        for axis in group:
            product = Sizes(b).mul(product, size[axis])
        dims.append(product)
    return reshape(b, ordered, _with_one_unknown(dims))


def _with_one_unknown(dims: Sequence[LayerSize]) -> Sequence[LayerSize]:
    """A single computed size can be left open."""
    computed = [i for i, size in enumerate(dims) if isinstance(size, LayerTensor)]
    return [None if i in computed else size for i, size in enumerate(dims)] if len(computed) == 1 else dims


def batch_dot(b: LayerBuilder, x: LayerTensor, y: LayerTensor, axes: Sequence[int]) -> LayerTensor:
    """The product over one axis of each, sample by sample.

    Its axes are all of `x` but the summed one, then all of `y` but the batch and the summed one.
    """
    if max(x.rank, y.rank) > 3 and _multiplies_matrices(b):
        return _batched_matrices(b, x, y, axes)
    x_vector, y_vector = x.rank == 2, y.rank == 2
    x = expand_dims(b, x, 1) if x_vector else x
    y = expand_dims(b, y, 2) if y_vector else y
    x_axis = 2 if x_vector else axes[0]
    rows = transpose(b, x, [i for i in range(x.rank) if i != x_axis] + [x_axis])
    columns = transpose(b, y, [0, axes[1]] + [i for i in range(1, y.rank) if i != axes[1]])
    middle, trailing = sizes(b, rows)[:-1], sizes(b, columns)[2:]
    known = (*rows.shape[:-1], *columns.shape[2:])
    if rows.rank > 3:
        rows = reshape(b, rows, (middle[0], None, rows.shape[-1]))
    if columns.rank > 3:
        columns = reshape(b, columns, (*sizes(b, columns)[:2], None))
    product = batch_matmul(b, rows, columns)
    if len(middle) > 2 or len(trailing) > 1:
        product = LayerTensor(reshape(b, product, (*middle, *trailing)).value, known)
    if x_vector:
        return squeeze(b, product, 1)
    return squeeze(b, product, -1) if y_vector else product


def _multiplies_matrices(b: LayerBuilder) -> bool:
    """Keras up to 2.2, and TensorFlow's copy with that version, multiplies the last two axes."""
    return b.version.numbers < (2, 3)


def _batched_matrices(b: LayerBuilder, x: LayerTensor, y: LayerTensor, axes: Sequence[int]) -> LayerTensor:
    if x.rank != y.rank:
        raise b.refuse(f"it multiplies tensors of the ranks {x.rank} and {y.rank}, as Keras 2.2 does not")
    return batch_matmul(b, x, y, adj_x=axes[0] != x.rank - 1, adj_y=axes[1] == y.rank - 1)
