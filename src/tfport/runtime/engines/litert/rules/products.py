"""Matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.rules.elementwise import broadcast, broadcast_sizes
from tfport.runtime.size_expression import Number

if TYPE_CHECKING:
    from numpy.typing import NDArray


def matmul(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, y = node.first, node.value(1)
    if y.array is not None and y.array.ndim == 2 and x.array is None and len(x.sizes) > 1:
        return _dense(out, x, y.array.T, None)
    if min(len(x.sizes), len(y.sizes)) < 2:
        return _with_vector(out, x, y)
    batch = broadcast_sizes([x.sizes[:-2], y.sizes[:-2]]) if max(len(x.sizes), len(y.sizes)) > 2 else []
    return out.add("BATCH_MATMUL", [out.plain(x), out.plain(y)], (*batch, x.sizes[-2], y.sizes[-1]))


def _with_vector(out: LiteScribe, x: IslandValue, y: IslandValue) -> IslandValue:
    """A product in which a vector stands for a row or a column."""
    is_row, is_column = len(x.sizes) == 1, len(y.sizes) == 1
    left = out.reshaped(out.plain(x), (1, *x.sizes)) if is_row else out.as_tensor(x)
    right = out.reshaped(out.plain(y), (*y.sizes, 1)) if is_column else out.as_tensor(y)
    product = matmul(out, IslandNode("MatMul", (left, right), {}, 1))
    sizes = [*product.sizes[:-2]]
    sizes += [] if is_row else [product.sizes[-2]]
    sizes += [] if is_column else [product.sizes[-1]]
    return out.reshaped(product.tensor, sizes)


def gemm(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, y, offset = node.first, node.value(1), node.optional(2)
    scales = [node.attrs.get(name, 1.0) for name in ("alpha", "beta")]
    if scales != [1.0, 1.0]:
        raise NotInLite("Gemm with factors")
    if node.attrs.get("transA"):
        x = _transposed(x)
    is_plain = offset is None or (offset.array is not None and offset.array.ndim <= 1)
    if y.array is not None and is_plain:
        weights = y.array if node.attrs.get("transB") else y.array.T
        return _dense(out, x, weights, None if offset is None else offset.array)
    y = _transposed(out.as_tensor(y)) if node.attrs.get("transB") else y
    product = matmul(out, IslandNode("MatMul", (x, y), {}, 1))
    return product if offset is None else broadcast(out, "ADD", [product, offset])


def _transposed(x: IslandValue) -> IslandValue:
    return IslandValue(x.sizes[::-1], x.tensor, tuple(1 - axis for axis in x.order), dtype=x.dtype)


def einsum(out: LiteScribe, node: IslandNode) -> IslandValue:
    """A sum of products of two values, as BATCH_MATMUL of the axes in another order."""
    equation = node.attrs["equation"].replace(" ", "")
    terms, _, result = equation.partition("->")
    names = terms.split(",")
    if len(names) != 2 or "." in equation or not result or any(len(set(n)) < len(n) for n in names):
        raise NotInLite(f"Einsum {equation}")
    x, y = (out.as_tensor(node.value(number)) for number in (0, 1))
    sizes = dict(zip(names[0] + names[1], (*x.sizes, *y.sizes), strict=True))
    both = [n for n in names[0] if n in names[1]]
    batch, summed = [n for n in both if n in result], [n for n in both if n not in result]
    left, right = ([n for n in own if n not in both] for own in names)
    if any(n not in result for n in (*left, *right)):
        raise NotInLite(f"Einsum {equation}")

    def matrix(value: IslandValue, own: str, rows: Sequence[str], columns: Sequence[str]) -> int:
        order = [own.index(n) for n in (*batch, *rows, *columns)]
        lengths = [math.prod(sizes[n] for n in group) for group in (rows, columns)]
        return out.reshaped(out.in_order(value, order), [*(sizes[n] for n in batch), *lengths]).tensor

    tensors = [matrix(x, names[0], left, summed), matrix(y, names[1], summed, right)]
    lengths = [math.prod(sizes[n] for n in group) for group in (left, right)]
    product = out.add("BATCH_MATMUL", tensors, [*(sizes[n] for n in batch), *lengths])
    computed = [*batch, *left, *right]
    order = [result.index(n) for n in computed]
    return out.reshaped(product.tensor, [sizes[n] for n in result], order)


def _dense(
    out: LiteScribe, x: IslandValue, weights: NDArray[Any], offset: NDArray[Any] | None
) -> IslandValue:
    """Rows times the transposed weights."""
    count, length = weights.shape
    rows = math.prod(x.sizes[:-1])
    bias = np.zeros(count, np.float32) if offset is None else np.broadcast_to(offset, (count,))
    if sum(not isinstance(size, int) for size in x.sizes) > 1:  # a reshape would have to compute sizes
        tensors = [out.plain(x), out.array(weights), out.array(bias)]
        return out.add("FULLY_CONNECTED", tensors, (*x.sizes[:-1], count), keep_num_dims=True)
    tensors = [_matrix(out, x, (rows, length)), out.array(weights), out.array(bias)]
    result = out.add("FULLY_CONNECTED", tensors, (rows, count))
    sizes = (*x.sizes[:-1], count)
    return result if sizes == result.sizes else out.reshaped(result.tensor, sizes)


def _matrix(out: LiteScribe, x: IslandValue, sizes: Sequence[Number]) -> int:
    tensor = out.plain(x)
    return tensor if len(x.sizes) == 2 else out.reshaped(tensor, sizes).tensor
