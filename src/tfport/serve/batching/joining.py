"""Join the inputs of several requests along the first axis, run them together, and split the outputs again.

Requests can share a run if their inputs have the same types and, except for the number of rows, the
same shapes. With `pad`, sizes may differ where the signature leaves them unknown: each input is padded
with its own first element, as in TensorFlow Serving. `queue` decides which requests are joined.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error, ResourceExhausted
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.engines.engine import NumbersRefused
from tfport.runtime.program import ONNX_TYPES
from tfport.runtime.session import Session
from tfport.serve.servable import Arrays, run_signature
from tfport.serve.session_replicas import SessionReplicas
from tfport.serve.status import StatusCode, StatusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.runtime.engines.gpu.batch_uploads import BatchUploads


MOST_PADDED_RANKS = 6
"""TensorFlow Serving pads tensors of 1 to 6 dimensions."""
_ALWAYS_FINITE = "biuOSU"


def rows_of(inputs: Mapping[str, Any]) -> int | None:
    """Return the number of rows of a request; None if its inputs have different numbers."""
    sizes = {_rows(value) for value in inputs.values()}
    return sizes.pop() if len(sizes) == 1 else None


def _rows(value: Any) -> int | None:
    return int(value.shape[0]) if isinstance(value, np.ndarray) and value.ndim else None


def has_rows(signature: Signature, outputs: Sequence[str]) -> bool:
    """Whether calls for these outputs can be batched: the first axis of all tensors is unknown."""
    specs = [*signature.inputs.values(), *(signature.outputs[name] for name in outputs)]
    return all(_by_rows(spec) for spec in specs)


def may_share(signature: Signature, inputs: Mapping[str, Any]) -> bool:
    """Whether a request that has rows can be part of a batch."""
    # a default applies to the whole input, not to the rows of one request
    return len(inputs) == len(signature.inputs)


def _by_rows(spec: TensorSpec) -> bool:
    dims = spec.shape.dims
    return spec.form == "dense" and (dims is None or (len(dims) > 0 and dims[0] is None))


def kind_of(signature: Signature, inputs: Mapping[str, NDArray[Any]], pad: bool) -> Hashable:
    """Return the key that requests must have in common to share a run."""
    return tuple(
        (name, value.dtype, *_sizes(signature.inputs[name], value.shape, pad))
        for name, value in sorted(inputs.items())
    )


def _sizes(spec: TensorSpec, shape: tuple[int, ...], pad: bool) -> tuple[int | None, ...]:
    if not pad or len(shape) > MOST_PADDED_RANKS or 0 in shape:
        return shape[1:]
    fixed = spec.shape.dims or ()
    return tuple(
        size if axis < len(fixed) and fixed[axis] is not None else None for axis, size in enumerate(shape)
    )[1:]


def is_finite(inputs: Mapping[str, NDArray[Any]]) -> bool:
    """Whether no input has NaN or an infinity."""
    return all(
        value.dtype.kind in _ALWAYS_FINITE or bool(np.isfinite(value).all()) for value in inputs.values()
    )


def join(requests: Sequence[Mapping[str, NDArray[Any]]], rows: int, padded: int) -> Arrays:
    """Join the inputs of requests of one kind: `rows` rows in total, padded to `padded` rows."""
    if len(requests) == 1 and rows == padded:
        return dict(requests[0])
    return {name: join_parts([request[name] for request in requests], padded - rows) for name in requests[0]}


def same_rows(parts: Sequence[NDArray[Any]]) -> bool:
    """Whether the rows of all parts have the same shape."""
    return len({part.shape[1:] for part in parts}) == 1


def join_parts(parts: list[NDArray[Any]], added: int) -> NDArray[Any]:
    """Join arrays, and add rows."""
    if not same_rows(parts):
        largest = tuple(max(sizes) for sizes in zip(*(part.shape[1:] for part in parts), strict=True))
        parts = [_padded(part, largest) for part in parts]
    if added:
        # any row sent by a client is valid; TensorFlow Serving repeats the first row of the last request
        parts.append(np.broadcast_to(parts[-1][:1], (added, *parts[-1].shape[1:])))
    return np.concatenate(parts)


def _padded(part: NDArray[Any], sizes: tuple[int, ...]) -> NDArray[Any]:
    if part.shape[1:] == sizes:
        return part
    padded = np.full((len(part), *sizes), part.flat[0], part.dtype)
    padded[tuple(slice(size) for size in part.shape)] = part
    return padded


def split_rows(outputs: Mapping[str, Any], rows: Sequence[int], padded: int) -> list[Arrays] | None:
    """Split outputs into the rows of each request; None if an output does not have `padded` rows."""
    if any(_rows(value) != padded for value in outputs.values()):
        return None
    ends = [0]
    for count in rows:
        ends.append(ends[-1] + count)
    return [{name: value[a:b] for name, value in outputs.items()} for a, b in pairwise(ends)]


def pieces_of(inputs: Mapping[str, NDArray[Any]], sizes: Sequence[int]) -> list[Arrays]:
    """Split a request into pieces with these numbers of rows."""
    pieces = split_rows(inputs, sizes, sum(sizes))
    assert pieces is not None  # a request is split only if all its inputs have the same number of rows
    return pieces


def concat_pieces(pieces: Sequence[Arrays]) -> Arrays:
    """Concatenate the answers to the pieces of a request."""
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


# Joined runs: assembled on the host, or in the memory of a GPU

Requests = Sequence[Mapping[str, "NDArray[Any]"]]


def run_joined(
    session: Session,
    signature: Signature,
    requests: Requests,
    rows: int,
    padded: int,
    outputs: Sequence[str],
    stop: StopSignal,
    *,
    repeats: bool = True,
) -> Arrays:
    """Run requests with `rows` rows in total, padded to `padded` rows; `repeats`: see `run_signature`."""
    if isinstance(session, SessionReplicas):
        with session.least_loaded() as replica:
            return run_joined(replica, signature, requests, rows, padded, outputs, stop, repeats=repeats)
    uploads: BatchUploads | None = getattr(session.engine, "uploads", None)
    if uploads is None:
        return run_signature(session, signature, join(requests, rows, padded), outputs, stop, repeats=repeats)
    on_device, on_host = _columns(requests, padded - rows)
    try:
        with uploads.batch(on_device, padded) as there:
            inputs = {**there, **on_host}
            results = uploads.compute(
                lambda: run_signature(
                    session, signature, inputs, outputs, stop, on_device=True, repeats=repeats
                )
            )
        return dict(zip(results, uploads.download(list(results.values())), strict=True))
    except ResourceExhausted as error:
        raise StatusError(StatusCode.RESOURCE_EXHAUSTED, str(error)) from None
    except Exception as error:
        _check_device(uploads)
        if isinstance(error, StatusError | NumbersRefused) or not isinstance(error, Error):
            raise
        raise StatusError(StatusCode.UNAVAILABLE, str(error)) from None


def _check_device(uploads: BatchUploads) -> None:
    """Raise UNAVAILABLE if the GPU is lost: whatever went wrong, this is why."""
    try:
        uploads.copies.check()
    except Error as error:
        raise StatusError(StatusCode.UNAVAILABLE, str(error)) from None


def _columns(requests: Requests, added: int) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The inputs that are assembled on the device, in parts, and the others, joined."""
    from tfport.runtime.engines.gpu.batch_uploads import WORTH_COPYING

    on_device: dict[str, list[Any]] = {}
    on_host: dict[str, Any] = {}
    for name in requests[0]:
        parts = [request[name] for request in requests]
        large = sum(part.nbytes for part in parts) >= WORTH_COPYING
        if large and same_rows(parts) and parts[0].dtype.name in ONNX_TYPES:
            on_device[name] = parts
        else:
            on_host[name] = join_parts(parts, added)
    return on_device, on_host


# Inputs that are components of a sparse or ragged tensor

NUMBERED = re.compile(r"(.+)_\d+")
WHOLE = (pb.TypeSpecProto.UNKNOWN, pb.TypeSpecProto.VARIABLE_SPEC)
"""Types of a `TypeSpec` that is a single tensor."""


def has_composite_inputs(model: Model, signature: Signature) -> bool:
    """Whether several inputs of a signature are components of one composite tensor.

    TensorFlow 2 flattens such an input in a signature: `words` becomes `words` and `words_1`, each an
    ordinary tensor. Their sizes may be equal by chance, but their first axis is not a batch axis. The
    functions of the model show whether there are composite inputs, the names show which ones they are.
    """
    numbered = (NUMBERED.fullmatch(name) for name in signature.inputs)
    return any(match and match[1] in signature.inputs for match in numbered) and _has_composites(model)


def _has_composites(model: Model) -> bool:
    """Whether a function of the model takes an input made of several tensors."""
    functions = model.meta.object_graph_def.concrete_functions.values()
    return any(spec not in WHOLE for f in functions for spec in _specs(f.canonicalized_input_signature))


def _specs(value: pb.StructuredValue) -> Iterator[int]:
    pending = [value]
    while pending:
        structure = pending.pop()
        kind = structure.WhichOneof("kind")
        if kind == "type_spec_value":
            yield structure.type_spec_value.type_spec_class
        elif kind == "dict_value":
            pending.extend(structure.dict_value.fields.values())
        elif kind == "named_tuple_value":
            pending.extend(pair.value for pair in structure.named_tuple_value.values)
        elif kind in ("list_value", "tuple_value"):
            pending.extend(getattr(structure, kind).values)
