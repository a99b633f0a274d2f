"""Elements put into places, in ONNX.

All is said with ScatterElements on rows. ScatterND would be shorter, but ONNX Runtime shares its
work among threads without care for places that come twice: sums come out wrong.
"""

from __future__ import annotations

from tfport.graph.dtypes import BOOL, INT64
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.operand import Operand
from tfport.runtime.ops.shared.lowered_sizes import LAST, reshaped, sizes_of, times, vector, whole


def _tensor_scatter(reduction, negate=False):
    def said(b, tensor, indices, updates, *, bad_indices_policy):
        values = b.Neg(updates) if negate else updates
        return scattered(b, tensor, indices, values, reduction, bad_indices_policy)

    return said


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
        raise CannotLower("ONNX Runtime compares NaN in another way")
    return scattered(b, tensor, indices, updates, reduction, policy)


@lower("ScatterNd")
def scatter_nd(b, indices, updates, shape, *, bad_indices_policy):
    """Onto zeros; what comes to one place is added up."""
    if updates.dtype == BOOL or not shape.shape or shape.shape[0] is None:
        raise CannotLower("its rank is not known, or it adds bools")
    sizes = whole(shape)
    base = b.Expand(b.const(0, updates.dtype), b.ints(*sizes) if sizes else b.vector(shape))
    return scattered(b, base, indices, updates, "add", bad_indices_policy)


def scattered(b, tensor, indices, updates, reduction, policy):
    if policy == "IGNORE":
        raise CannotLower("ONNX does not ignore bad places")
    if reduction != "none":
        check_type(tensor)
    rank = rank_of(tensor)
    depth = indices.shape[-1] if indices.shape else None
    if not depth or depth > rank or len(indices.shape) < 2:
        raise CannotLower("the depth of its indices is not known, or for NumPy to refuse")
    if tensor.shape is not None and 0 in tensor.shape:
        raise CannotLower("its input is empty")
    if updates.rank != len(indices.shape) - 1 + rank - depth:
        raise CannotLower("the rank of updates is not known, or wrong")
    sizes = sizes_of(b, tensor)
    count, width = product_of_sizes(b, sizes[:depth]), product_of_sizes(b, sizes[depth:])
    rows = reshaped(b, tensor, [count, width])
    places = row_numbers(b, b.int64(indices), sizes[:depth])
    # the shape that updates must have, so that they do not fit otherwise
    wanted = [*sizes_of(b, indices, 0, len(indices.shape) - 1), *sizes[depth:]]
    values = updates if not wanted else in_shape(b, updates, wanted)
    number = product_of_sizes(b, wanted[: len(indices.shape) - 1])
    flat = reshaped(b, values, [number, width])
    spread = b.Expand(b.reshape(places, -1, 1), vector(b, [number, width]))
    kind = {} if reduction == "none" else {"reduction": reduction}
    made = reshaped(b, b.ScatterElements(rows, spread, flat, axis=0, **kind), sizes)
    made.shape = tensor.shape
    return made


def check_type(x):
    if x.dtype.name in ("float16", "bfloat16", "bool"):
        raise CannotLower("ONNX Runtime adds up no such numbers")


def in_shape(b, x, wanted):
    """`x`, if the sizes that both are known to have are the same; the reshape to rows sees to the rest."""
    for there, size in zip(x.shape, wanted, strict=True):
        if isinstance(size, int) and there is not None and there != size:
            raise CannotLower("updates are for NumPy to refuse")
    return x


def product_of_sizes(b, sizes):
    made: int | Operand = 1
    for size in sizes:
        made = times(b, made, size)
    return made


def row_numbers(b, indices, sizes):
    """Indices as numbers of rows, and one that no tensor has for those that are out of bounds."""
    limits, zero = vector(b, sizes), b.ints(0)
    bad = b.Or(b.Less(indices, zero), b.GreaterOrEqual(indices, limits))
    if len(sizes) == 1:
        return b.Where(bad, b.ints(LAST), indices)
    steps: list[int | Operand] = [1]
    for size in reversed(sizes[1:]):
        steps.insert(0, times(b, steps[0], size))
    rows = b.ReduceSum(b.Mul(indices, vector(b, steps)), b.ints(-1), keepdims=0)
    any_bad = b.ReduceMax(b.cast(bad, INT64), b.ints(-1), keepdims=0)
    return b.Where(b.cast(any_bad, BOOL), b.ints(LAST), rows)
