"""Run a model on a GPU with every size of batch, before it is served.

The first run with a shape chooses the algorithms of its convolutions and captures a CUDA graph, which takes
seconds; a client must not wait for that. Only signatures that compute the same whatever the values are run,
with zeros: a model with state or effects is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error, ResourceExhausted
from tfport.graph.model import Signature
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.engines.gpu.preparation import PREPARATIONS, RUNS_TO_PREPARE
from tfport.runtime.select_signature import DEFAULT
from tfport.runtime.session import Session
from tfport.serve.batching.joining import has_rows, run_joined
from tfport.serve.light_calls import is_steady
from tfport.serve.session_replicas import SessionReplicas
from tfport.serve.status import StatusCode, StatusError

MAX_BYTES = 2**30
"""Largest inputs of a run that nobody asked for."""


def warm_batches(session: Session, sizes: Sequence[int]) -> int:
    """Run the default signature with batches of these sizes, the largest first; return how many runs."""
    signature = session.model.signatures.get(DEFAULT)
    if signature is None or not session.engine.on_device or not has_rows(signature, list(signature.outputs)):
        return 0
    if not is_steady(session.model, signature):
        return 0
    if isinstance(session, SessionReplicas):
        return sum(warm_batches(replica, sizes) for replica in session.sessions)
    runs = 0
    for size in sorted(sizes, reverse=True):
        row = dict(_row(signature))
        if len(row) == len(signature.inputs) and size * sum(a.nbytes for a in row.values()) <= MAX_BYTES:
            runs += _run(session, signature, row, size)
    PREPARATIONS.wait()
    return runs


def _run(session: Session, signature: Signature, row: dict[str, Any], size: int) -> int:
    scope = current_scope()
    stop = StopSignal() if scope is None else scope.stop
    for _ in range(RUNS_TO_PREPARE):
        try:
            run_joined(session, signature, [row], 1, size, list(signature.outputs), stop)
        except StatusError as error:
            if error.code is StatusCode.RESOURCE_EXHAUSTED:
                raise ResourceExhausted(f"a batch of {size} rows does not fit: {error}") from None
            return 0  # zeros are not valid inputs of this model
        except Error:
            return 0
    return RUNS_TO_PREPARE


def _row(signature: Signature) -> Iterator[tuple[str, Any]]:
    """One row of zeros for each input whose shape is known."""
    for name, spec in signature.inputs.items():
        dims = spec.shape.dims
        if dims is not None and None not in dims[1:] and spec.dtype.name != "string":
            yield name, np.zeros((1, *(size or 1 for size in dims[1:])), spec.dtype.base.numpy)
