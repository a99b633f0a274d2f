"""Ask a model its warm-up requests before anyone else does, and have its usual plan made.

A request that fails makes the load fail, as in TensorFlow Serving: a server in the middle of a
rollout keeps the old version then.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tfport.errors import Error, UnreadableFile
from tfport.formats.encoding.tfrecord import read_records
from tfport.formats.files import Files
from tfport.formats.saved_model.warmup import MOST_REQUESTS, WARMUP, WarmupRequest, read_warmup
from tfport.graph.model import Model, Signature
from tfport.runtime.select_signature import DEFAULT
from tfport.runtime.session import Session
from tfport.serve.servable import run_signature
from tfport.serve.status import StatusCode, StatusError, invalid_argument


def replay(session: Session, *, iterations: int = 1, stopped: Callable[[], bool] = lambda: False) -> int:
    """Ask every request so many times; how many there are."""
    files = session.model.files
    requests = _requests(files)
    for request in requests:
        signature, inputs = _asked(session.model, request)
        for _ in range(max(iterations, 1)):
            if stopped():
                raise StatusError(StatusCode.CANCELLED, "Loading of servable cancelled")
            run_signature(session, signature, inputs, list(signature.outputs))
    return len(requests)


def prepare(session: Session) -> None:
    """Make the plan of the usual signature, so that the first request does not wait for it.

    Only of that one: each plan holds weights of its own.
    """
    names = list(session.model.signatures)
    usual = DEFAULT if DEFAULT in names else names[0] if len(names) == 1 else None
    if usual is not None:
        with suppress(Error):  # what cannot run says so to who asks for it
            session.prepare(usual)


def _requests(files: Files) -> list[WarmupRequest]:
    try:
        requests = read_warmup(files)
        if len(requests) >= MOST_REQUESTS and sum(1 for _ in read_records(files, WARMUP)) > MOST_REQUESTS:
            raise invalid_argument(
                f"Number of warmup records exceeds the maximum ({MOST_REQUESTS}) at {files.label(WARMUP)}",
            )
    except UnreadableFile as error:
        raise StatusError(StatusCode.DATA_LOSS, str(error)) from None
    return requests


def _asked(model: Model, request: WarmupRequest) -> tuple[Signature, dict[str, Any]]:
    """The signature of a request, and its inputs by their names."""
    name = request.signature or DEFAULT
    signature = model.signatures.get(name)
    if signature is None:
        raise invalid_argument(f'Serving signature name: "{name}" not found in signature def')
    if "" not in request.inputs:
        return signature, request.inputs
    if len(signature.inputs) != 1:
        raise invalid_argument(
            f"signature {name} has {len(signature.inputs)} inputs; one is expected for Examples",
        )
    return signature, {next(iter(signature.inputs)): request.inputs[""]}
