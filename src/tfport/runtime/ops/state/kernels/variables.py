"""Resource and ref variables, and restoring them from a checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import MissingTensor, RunFailed
from tfport.formats.checkpoint.slices import ALL, Slice
from tfport.runtime.lower import host
from tfport.runtime.state import as_bytes


@host("VarHandleOp", once=True)
def var_handle(*, container, shared_name, debug_name, dtype, shape, allowed_devices, context):
    return context.state.variable(shared_name or context.name, dtype, shape.dims)


@host("VariableV2 Variable", once=True)
def ref_variable(*, shape, dtype, container, shared_name, context):
    return context.state.variable(shared_name or context.name, dtype, shape.dims)


@host("AssignVariableOp")
def assign_variable(resource, value, *, validate_shape):
    resource.assign(value)


@host("Assign")
def assign(ref, value, *, validate_shape, use_locking):
    ref.assign(value)
    return ref


@host("AssignAddVariableOp")
def assign_add_variable(resource, value):
    resource.update(lambda old: old + value)


@host("AssignSubVariableOp")
def assign_sub_variable(resource, value):
    resource.update(lambda old: old - value)


@host("AssignAdd")
def assign_add(ref, value, *, use_locking):
    ref.update(lambda old: old + value)
    return ref


@host("AssignSub")
def assign_sub(ref, value, *, use_locking):
    ref.update(lambda old: old - value)
    return ref


@host("VarIsInitializedOp")
def var_is_initialized(resource):
    return np.array(resource.value is not None)


@host("IsVariableInitialized")
def is_variable_initialized(ref, *, dtype):
    return np.array(ref.value is not None)


@host("VariableShape")
def variable_shape(input, *, out_type):
    return np.array(input.read().shape)


@host("DestroyResourceOp")
def destroy_resource(resource, *, ignore_lookup_error):
    resource.value = None


@host("RestoreV2")
def restore_v2(prefix, tensor_names, shape_and_slices, *, dtypes, context):
    checkpoint = context.state.checkpoint(as_bytes(prefix).decode())
    pairs = zip(tensor_names.reshape(-1).tolist(), shape_and_slices.reshape(-1).tolist(), strict=True)
    return [_restored(checkpoint, name.decode(), part.decode()) for name, part in pairs]


@host("Restore")
def restore(file_pattern, tensor_name, *, dt, preferred_shard, context):
    return _restored(
        context.state.checkpoint(as_bytes(file_pattern).decode()), as_bytes(tensor_name).decode(), ""
    )


@host("RestoreSlice")
def restore_slice(file_pattern, tensor_name, shape_and_slice, *, dt, preferred_shard, context):
    checkpoint = context.state.checkpoint(as_bytes(file_pattern).decode())
    return _restored(checkpoint, as_bytes(tensor_name).decode(), as_bytes(shape_and_slice).decode())


def _restored(checkpoint: Any, name: str, part: str) -> Any:
    """Read a tensor of a checkpoint, or the slice of it that a spec like `10 4 0,5:-` describes."""
    try:
        if not part:
            return checkpoint.read(name)
        *_, spans = part.split(" ")
        return checkpoint.read_slice(name, _slice(spans, part))
    except MissingTensor as error:
        raise RunFailed(str(error)) from None


def _slice(spans: str, part: str) -> Slice:
    """`0,5:-` as starts and lengths; `-` is all of an axis."""
    try:
        return tuple((0, ALL) if span == "-" else _span(*span.split(",")) for span in spans.split(":"))
    except (ValueError, TypeError):
        raise RunFailed(f"`{part}` is not a slice spec; expected one like `10 4 0,5:-`") from None


def _span(start: str, length: str) -> tuple[int, int]:
    return int(start), int(length)
