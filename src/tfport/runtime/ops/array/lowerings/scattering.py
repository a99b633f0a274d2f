"""Scatter ops, lowered to ONNX.

All use ScatterElements on rows. ScatterND would be shorter, but ONNX Runtime runs it in several
threads that race on repeated indices, and sums are wrong.
"""

from __future__ import annotations

from tfport.graph.dtypes import BOOL, INT32
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.operand import Operand
from tfport.runtime.ops.shared.lowered_sizes import reshaped, sizes_of, times, vector, whole

NO_ROW = 2**40
"""A row that no tensor has."""
WIDEST = 2**16
"""The most numbers of a row that are numbered; times `NO_ROW` it is an int64."""


def _tensor_scatter(reduction, negate=False):
    def scatter(b, tensor, indices, updates, *, bad_indices_policy):
        values = b.Neg(updates) if negate else updates
        return scattered(b, tensor, indices, values, reduction, bad_indices_policy)

    return scatter


lower("TensorScatterUpdate")(_tensor_scatter("none"))
lower("TensorScatterAdd ScatterNdNonAliasingAdd")(_tensor_scatter("add"))
lower("TensorScatterSub")(_tensor_scatter("add", negate=True))


@lower("TensorScatterMax")
def tensor_scatter_max(b, tensor, indices, updates, *, bad_indices_policy):
    return _extreme(b, tensor, indices, updates, "max", bad_indices_policy)


@lower("TensorScatterMin")
def tensor_scatter_min(b, tensor, indices, updates, *, bad_indices_policy):
    return _extreme(b, tensor, indices, updates, "min", bad_indices_policy)


def _extreme(b, tensor, indices, updates, reduction, policy):
    if not tensor.dtype.is_integer:
        raise CannotLower("ONNX Runtime compares NaN differently")
    return scattered(b, tensor, indices, updates, reduction, policy)


@lower("ScatterNd")
def scatter_nd(b, indices, updates, shape, *, bad_indices_policy):
    """Scatter onto zeros; values for the same index are added."""
    if updates.dtype == BOOL or not shape.shape or shape.shape[0] is None:
        raise CannotLower("the rank is unknown, or the type is bool")
    sizes = whole(shape)
    base = b.Expand(b.const(0, updates.dtype), b.ints(*sizes) if sizes else b.vector(shape))
    return scattered(b, base, indices, updates, "add", bad_indices_policy)


def scattered(b, tensor, indices, updates, reduction, policy):
    if policy == "IGNORE":
        raise CannotLower("ONNX does not ignore bad indices")
    if reduction != "none":
        check_type(tensor)
    rank = rank_of(tensor)
    depth = indices.shape[-1] if indices.shape else None
    if not depth or depth > rank or len(indices.shape) < 2:
        raise CannotLower("the depth of the indices is unknown or invalid")
    if tensor.shape is not None and 0 in tensor.shape:
        raise CannotLower("the input is empty")
    if updates.rank != len(indices.shape) - 1 + rank - depth:
        raise CannotLower("the rank of updates is unknown or wrong")
    sizes = sizes_of(b, tensor)
    count, width = product_of_sizes(b, sizes[:depth]), product_of_sizes(b, sizes[depth:])
    rows = reshaped(b, tensor, [count, width])
    positions = row_numbers(b, b.int64(indices), sizes[:depth])
    # the shape that updates must have
    wanted = [*sizes_of(b, indices, 0, len(indices.shape) - 1), *sizes[depth:]]
    values = updates if not wanted else in_shape(updates, wanted)
    number = product_of_sizes(b, wanted[: len(indices.shape) - 1])
    kind = {} if reduction == "none" else {"reduction": reduction}
    positions = b.reshape(positions, -1, 1)
    result = reshaped(b, scattered_rows(b, rows, positions, values, [number, width], **kind), sizes)
    result.shape = tensor.shape
    return result


def scattered_rows(b, base, positions, rows, sizes, **kind):
    """Scatter rows; `sizes`: how many, and how wide. `positions` is a column.

    Each number has a place of its own in one long row if the width is known: ONNX Runtime scatters 20,000
    rows of 256 numbers 15 times as fast as along the first of two axes, where it takes a second.
    """
    _, width = sizes
    if not isinstance(width, int) or not 1 < width <= WIDEST:
        spread = b.Expand(positions, vector(b, sizes))
        return b.ScatterElements(base, spread, reshaped(b, rows, sizes), axis=0, **kind)
    places = b.Add(b.Mul(positions, b.ints(width)), b.ints(*range(width)))
    flat = b.reshape(reshaped(b, rows, sizes), -1)
    scattered = b.ScatterElements(b.reshape(base, -1), b.reshape(places, -1), flat, axis=0, **kind)
    return b.reshape(scattered, -1, width)


def check_type(x):
    if x.dtype.name in ("float16", "bfloat16", "bool"):
        raise CannotLower("ONNX Runtime does not add this type")


def in_shape(x, wanted):
    """`x`, if its known sizes match; the reshape to rows checks the rest."""
    for there, size in zip(x.shape, wanted, strict=True):
        if isinstance(size, int) and there is not None and there != size:
            raise CannotLower("updates have a wrong shape")
    return x


def product_of_sizes(b, sizes):
    product: int | Operand = 1
    for size in sizes:
        product = times(b, product, size)
    return product


def row_numbers(b, indices, sizes):
    """Row numbers of indices; `NO_ROW` for indices out of bounds."""
    limits, zero = vector(b, sizes), b.ints(0)
    bad = b.Or(b.Less(indices, zero), b.GreaterOrEqual(indices, limits))
    if len(sizes) == 1:
        return b.Where(bad, b.ints(NO_ROW), indices)
    steps: list[int | Operand] = [1]
    for size in reversed(sizes[1:]):
        steps.insert(0, times(b, steps[0], size))
    rows = b.ReduceSum(b.Mul(indices, vector(b, steps)), b.ints(-1), keepdims=0)
    any_bad = b.ReduceMax(b.cast(bad, INT32), b.ints(-1), keepdims=0)  # not in int64, for GPUs
    return b.Where(b.cast(any_bad, BOOL), b.ints(NO_ROW), rows)
