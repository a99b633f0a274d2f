"""Gather, Where, and EmbeddingBag of TensorFlow Addons, lowered to ONNX.

A negative index is an error in TensorFlow and counts from the end in ONNX: see `never_negative`.
"""

from __future__ import annotations

from tfport.graph.dtypes import BOOL, FLOAT32, INT64
from tfport.runtime.lower import CannotLower, lower, rank_of, structure
from tfport.runtime.ops.shared.lowered_sizes import (
    axis_in,
    axis_of,
    never_negative,
    numbers_of,
    reshaped,
    settled,
    sizes_of,
)

_COUNTED = ("bool", "float32", "int32", "int64", "uint8")
"""Types for which ONNX Runtime has NonZero."""


@lower("GatherV2")
def gather_v2(b, params, indices, axis, *, batch_dims):
    if params.rank is None and not batch_dims:
        return _gathered(b, params, indices, numbers_of(axis, "the axis")[0])
    rank = rank_of(params, "params")
    at = axis_of(axis, rank)
    if not batch_dims:
        return _gathered(b, params, indices, at)
    picked = rank_of(indices, "indices")
    batch = axis_in(batch_dims, picked + 1) if batch_dims > 0 else batch_dims + picked
    if not 0 <= batch <= min(picked, at):
        raise CannotLower("batch_dims is out of range")
    if batch == 0:
        return _gathered(b, params, indices, at)
    front = b.transpose(params, [*range(batch), at, *(i for i in range(batch, rank) if i != at)])
    # GatherND takes index vectors, here of one element
    positions = b.unsqueeze(b.int64(never_negative(b, indices)), picked)
    gathered = b.GatherND(front, positions, batch_dims=batch)
    new = picked - batch
    order = [
        *range(batch),
        *range(batch + new, at + new),
        *range(batch, batch + new),
        *range(at + new, rank - 1 + new),
    ]
    return b.transpose(gathered, order)


@lower("Gather")
def gather(b, params, indices, *, validate_indices):
    return _gathered(b, params, indices, 0)


def _gathered(b, params, indices, axis):
    return settled(b, b.Gather(params, never_negative(b, indices), axis=axis))


@lower("Addons>EmbeddingBag")
def embedding_bag(b, indices, params, weights, *, combiner):
    """The weights of a bag times its rows, a product of matrices."""
    if params.dtype != FLOAT32 or params.rank != 2 or indices.rank != 2 or weights.rank != 2:
        raise CannotLower("the weights are not float32, or an input does not have 2 axes")
    size = indices.shape[1]
    if not size or weights.shape[1] != size:
        raise CannotLower("it is not known that a bag has as many weights as indices, and some")
    # another number of bags cannot have this shape
    factors = reshaped(b, weights, [*sizes_of(b, indices, 0, 1), 1, size])
    bags = b.squeeze(b.MatMul(factors, _gathered(b, params, indices, 0)), 1)
    return b.Div(bags, b.const(size, FLOAT32)) if combiner == "MEAN" else bags


@lower("GatherNd")
def gather_nd(b, params, indices, *, bad_indices_policy):
    if bad_indices_policy == "IGNORE":
        raise CannotLower("ONNX does not ignore bad indices")
    if not indices.shape or not indices.shape[-1]:
        raise CannotLower("the depth of the indices is unknown or zero")
    if params.shape is not None and 0 in params.shape:
        raise CannotLower("the input is empty")
    return b.GatherND(params, b.int64(never_negative(b, indices)))


@structure("ResourceGather ResourceGatherNd")
def of_a_variable(tracer, node, inputs, attrs):
    """Read the variable, then gather; so embedding tables are constants."""
    handle, indices = inputs
    read = tracer.read_variable(handle, node.name, attrs["dtype"])
    return tracer._step(node, [read, indices], attrs, node.signature)


@lower("ResourceGather")
def resource_gather(b, resource, indices, *, batch_dims, validate_indices, dtype):
    return gather_v2(b, resource, indices, b.const(batch_dims, INT64), batch_dims=batch_dims)


@lower("ResourceGatherNd")
def resource_gather_nd(b, resource, indices, *, dtype):
    return gather_nd(b, resource, indices, bad_indices_policy="")


@lower("Where")
def where(b, input):
    if not rank_of(input) or input.dtype.is_complex:
        raise CannotLower("the input is a scalar or complex")
    plain = input if input.dtype.name in _COUNTED else b.cast(input, BOOL)
    return b.transpose(b.NonZero(plain), [1, 0])
