"""Gather, Where, DynamicPartition and DynamicStitch; GatherTree and EmbeddingBag of TensorFlow Addons."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.shared.axes import FEW, axis_in, check_indices, first_position, full, text_of, zero_of


@host("GatherV2")
def gather_v2(params, indices, axis, *, batch_dims):
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    at = axis_in(axis, params.ndim)
    if not 0 <= batch <= min(indices.ndim, at):
        raise RunFailed(
            f"batch_dims {batch_dims} is out of range for axis {at} and indices of rank {indices.ndim}"
        )
    slices = params.shape[:at] + params.shape[at + 1 :]
    if not batch and 0 in slices:  # TensorFlow does not check indices if slices are empty
        return np.empty((*params.shape[:at], *indices.shape, *params.shape[at + 1 :]), params.dtype)
    check_indices(indices, params.shape[at])
    if not batch:
        return params.take(indices, at)
    if params.shape[:batch] != indices.shape[:batch]:
        raise RunFailed(f"the batch shapes {params.shape[:batch]} and {indices.shape[:batch]} differ")
    front = np.moveaxis(params, at, batch)
    ahead = [
        np.arange(n).reshape([-1 if i == j else 1 for j in range(indices.ndim)])
        for i, n in enumerate(params.shape[:batch])
    ]
    gathered = front[(*ahead, indices)]
    # the gathered axes follow the batch; move the axes before `axis` in front of them
    new = indices.ndim - batch
    order = [
        *range(batch),
        *range(batch + new, batch + new + at - batch),
        *range(batch, batch + new),
        *range(at + new, gathered.ndim),
    ]
    return np.transpose(gathered, order)


@quick(gather_v2)
def gather_rows(groups, attrs):
    """Rows of a tensor, by indices that are in range."""
    if attrs["batch_dims"] or groups[2].known != (0,) or groups[2].rank != 0:
        return None

    def rows(params, indices, axis):
        if not params.ndim or not params.size or not indices.size:
            return None
        if indices.size <= FEW:
            numbers = indices.reshape(-1).tolist()
            inside = min(numbers) >= 0 and max(numbers) < len(params)
        else:
            inside = indices.min() >= 0 and indices.max() < len(params)
        return params.take(indices, 0) if inside else None

    return rows


@host("Gather")
def gather(params, indices, *, validate_indices):
    if not params.ndim:
        raise RunFailed("params must have at least 1 axis, found a scalar")
    check_indices(indices, params.shape[0])
    return np.take(params, indices, 0)


@host("ResourceGather", once=True)
def resource_gather(resource, indices, *, batch_dims, validate_indices, dtype):
    """Gather from the value of the variable: see `lowerings.gathering`."""
    return gather_v2(resource, indices, np.array(batch_dims), batch_dims=batch_dims)


@host("GatherNd")
def gather_nd(params, indices, *, bad_indices_policy, context):
    return _gathered(params, indices, bad_indices_policy, context.name)


@host("ResourceGatherNd", once=True)
def resource_gather_nd(resource, indices, *, dtype, context):
    return _gathered(resource, indices, "", context.name)


def _gathered(params, indices, policy, name):
    """Slices of `params`; out-of-bounds ones are zero if the policy is IGNORE."""
    if not indices.ndim or not params.ndim:
        raise RunFailed(
            "params and indices must have at least 1 axis, "
            f"found shapes {list(params.shape)} and {list(indices.shape)}"
        )
    depth = indices.shape[-1]
    if depth > params.ndim:
        raise RunFailed(f"indices have depth {depth}, params has rank {params.ndim}")
    if depth and params.size and indices.size:
        try:
            positions = np.ravel_multi_index(tuple(np.moveaxis(indices, -1, 0)), params.shape[:depth])
        except ValueError:  # one is out of bounds
            pass
        else:
            return params.reshape(-1, *params.shape[depth:]).take(positions, 0)
    sizes = np.array(params.shape[:depth])
    bad = ((indices < 0) | (indices >= sizes)).any(-1)
    if bad.any() and policy != "IGNORE":
        at = first_position(bad)
        raise RunFailed(
            f"indices[{text_of(at)}] = {indices[at].tolist()} does not index into param shape "
            f"[{text_of(params.shape)}], node name: {name}"
        )
    shape = (*indices.shape[:-1], *params.shape[depth:])
    if bad.size and not params.size:
        raise RunFailed(f"{bad.size} slices requested from an empty tensor")
    if not np.prod(shape) or bad.all():
        return full(shape, zero_of(params.dtype), params.dtype)
    safe = np.where(bad[..., None], 0, indices)
    slices = (
        params[tuple(safe[..., i] for i in range(depth))] if depth else np.broadcast_to(params, shape).copy()
    )
    if bad.any():
        slices[bad] = zero_of(params.dtype)
    return slices.reshape(shape) if depth and slices.shape != shape else slices


@host("Where")
def where(input):
    if not input.ndim:
        raise RunFailed("input must have at least 1 axis, found a scalar")
    if input.ndim == 2 and len(input) == 1:  # a batch of one
        columns = np.flatnonzero(input)
        indices = np.zeros((len(columns), 2), np.int64)
        indices[:, 1] = columns
        return indices
    return np.argwhere(input)


@host("DynamicPartition")
def dynamic_partition(data, partitions, *, num_partitions):
    if data.shape[: partitions.ndim] != partitions.shape:
        raise RunFailed(
            f"data {list(data.shape)} must begin with the axes of partitions {list(partitions.shape)}"
        )
    check_indices(partitions, num_partitions, "partitions")
    rows = data.reshape(partitions.size, *data.shape[partitions.ndim :])
    flat = partitions.reshape(-1)
    return [rows[flat == i] for i in range(num_partitions)]


@host("DynamicStitch ParallelDynamicStitch")
def dynamic_stitch(indices, data):
    """Put rows at indices; the last of several for one index wins, missing indices are zero."""
    rest = data[0].shape[indices[0].ndim :]
    for positions, values in zip(indices, data, strict=True):
        if values.shape != (*positions.shape, *rest):
            raise RunFailed(f"data {list(values.shape)} does not match indices {list(positions.shape)}")
    flat = np.concatenate([positions.reshape(-1) for positions in indices])
    count = int(flat.max()) + 1 if flat.size else 0
    check_indices(flat, count)
    stitched = full((count, *rest), zero_of(data[0].dtype), data[0].dtype)
    for positions, values in zip(indices, data, strict=True):
        stitched[positions.reshape(-1)] = values.reshape(positions.size, *rest)
    return stitched


@host("Addons>GatherTree GatherTree")
def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token):
    """Follow the parents of each beam back from its last step; after an end token come only end tokens."""
    if step_ids.ndim != 3 or step_ids.shape != parent_ids.shape:
        raise RunFailed(
            "step_ids and parent_ids must have the same 3 axes, "
            f"found shapes {list(step_ids.shape)} and {list(parent_ids.shape)}"
        )
    times, batch, beams = step_ids.shape
    if max_sequence_lengths.shape != (batch,) or end_token.ndim:
        raise RunFailed(
            f"max_sequence_lengths must have shape [{batch}] and end_token be a scalar, "
            f"found shapes {list(max_sequence_lengths.shape)} and {list(end_token.shape)}"
        )
    paths = np.full(step_ids.shape, end_token, step_ids.dtype)
    lengths = np.minimum(max_sequence_lengths, times)
    beam = np.broadcast_to(np.arange(beams), (batch, beams))
    for time in reversed(range(max(lengths.tolist(), default=0))):
        inside = (time < lengths)[:, None]
        bad = inside & ((beam < 0) | (beam >= beams))
        if bad.any():
            row, column = first_position(bad)
            place = f"(batch, time, beam) == ({row}, {time}, {column})"
            raise RunFailed(f"Saw invalid parent id {beam[row, column]} at {place}")
        safe = np.where(inside, beam, 0)
        paths[time] = np.where(inside, np.take_along_axis(step_ids[time], safe, 1), end_token)
        beam = np.where(inside, np.take_along_axis(parent_ids[time], safe, 1), beam)
    paths[np.logical_or.accumulate(paths == end_token, 0)] = end_token
    return paths


@host("Addons>EmbeddingBag")
def embedding_bag(indices, params, weights, *, combiner):
    """Weighted rows of each bag, added."""
    if indices.ndim != 2 or params.ndim != 2 or indices.shape != weights.shape:
        raise RunFailed(
            "indices and weights must have the same 2 axes and params 2, found shapes "
            f"{list(indices.shape)}, {list(weights.shape)} and {list(params.shape)}"
        )
    check_indices(indices, len(params))  # TensorFlow Addons would read memory beside params
    bags = np.zeros((len(indices), params.shape[1]), params.dtype)
    for column in range(indices.shape[1]):
        bags += params.take(indices[:, column], 0) * weights[:, column, None]
    return bags / params.dtype.type(indices.shape[1]) if combiner == "MEAN" else bags
