"""Run the rows of several requests together: on the host, or assembled in the memory of a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import Error, ResourceExhausted
from tfport.graph.model import Signature
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.engines.engine import NumbersRefused
from tfport.runtime.program import ONNX_TYPES
from tfport.runtime.session import Session
from tfport.serve.batching.joining import join, join_parts, same_rows
from tfport.serve.servable import Arrays, run_signature
from tfport.serve.session_replicas import SessionReplicas
from tfport.serve.status import StatusCode, StatusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.runtime.engines.gpu.batch_uploads import BatchUploads

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
