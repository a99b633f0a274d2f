"""Warm up a model: replay its warm-up requests.

If a request fails, loading fails, as in TensorFlow Serving: during a rollout the server then keeps the
old version.
"""

from __future__ import annotations

from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.encoding.tfrecord import read_records
from tfport.formats.files import Files
from tfport.formats.saved_model.warmup import MOST_REQUESTS, WARMUP, WarmupRequest, read_warmup
from tfport.graph.model import Model, Signature
from tfport.runtime.bounds.run_scope import bounded
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.select_signature import DEFAULT
from tfport.runtime.session import Session
from tfport.serve.servable import run_signature
from tfport.serve.status import StatusCode, StatusError, invalid_argument


def replay(
    session: Session, iterations: int = 1, stop: StopSignal | None = None, timeout: float | None = None
) -> int:
    """Run every warm-up request `iterations` times, each for at most `timeout` seconds; count them."""
    requests = _requests(session.model.files)
    for number, request in enumerate(requests, 1):
        signature, inputs = _call(session.model, request)
        for _ in range(max(iterations, 1)):
            with bounded(stop, timeout):
                try:
                    run_signature(session, signature, inputs, list(signature.outputs))
                except StatusError as error:
                    if error.code is not StatusCode.DEADLINE_EXCEEDED:
                        raise
                    message = f"warm-up request {number} takes too long (--load_timeout_seconds): {error}"
                    raise StatusError(error.code, message) from None
    return len(requests)


def _requests(files: Files) -> list[WarmupRequest]:
    try:
        requests = read_warmup(files)
        if len(requests) >= MOST_REQUESTS and sum(1 for _ in read_records(files, WARMUP)) > MOST_REQUESTS:
            raise invalid_argument(
                f"Number of warmup records exceeds the maximum ({MOST_REQUESTS}) at {files.label(WARMUP)}"
            )
    except UnreadableFile as error:
        raise StatusError(StatusCode.DATA_LOSS, str(error)) from None
    return requests


def _call(model: Model, request: WarmupRequest) -> tuple[Signature, dict[str, Any]]:
    """Return the signature of a request, and its inputs by name."""
    name = request.signature or DEFAULT
    signature = model.signatures.get(name)
    if signature is None:
        raise invalid_argument(f'Serving signature name: "{name}" not found in signature def')
    if "" not in request.inputs:
        return signature, request.inputs
    if len(signature.inputs) != 1:
        raise invalid_argument(
            f"signature {name} has {len(signature.inputs)} inputs; Examples need exactly one"
        )
    return signature, {next(iter(signature.inputs)): request.inputs[""]}
