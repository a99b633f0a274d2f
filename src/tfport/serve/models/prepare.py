"""Plan a model before it is served: a signature that cannot run is found now, and not by each request.

As in TensorFlow Serving, a model fails to load if it has ops without a kernel. All of them are named at
once. With `--serve_runnable_signatures`, one signature that runs is enough.
"""

from __future__ import annotations

from tfport.errors import CannotRun, Error, ResourceExhausted, RunStopped
from tfport.graph.model import Signature
from tfport.graph.same_work import FedRun, same_work
from tfport.runtime.implementations import OpImplementations
from tfport.runtime.select_signature import DEFAULT
from tfport.runtime.session import Session
from tfport.serve.status import StatusCode, StatusError

MOST_COMPARED = 8
"""Signatures that others are compared with."""


def prepare(session: Session, *, all_must_run: bool = True) -> None:
    """Plan the default signature and check the others; UNIMPLEMENTED if one cannot run (or none can).

    The plan of the default one is kept, so that the first request does not wait for it. Only that one:
    each plan has its own copy of the weights. Of signatures that compute the same, one is checked.
    """
    model, signatures = session.model, session.model.signatures
    usual = DEFAULT if DEFAULT in signatures else next(iter(signatures), "") if len(signatures) == 1 else ""
    checked: list[tuple[FedRun, str]] = []
    reason_of: dict[str, str] = {}
    for name in sorted(signatures, key=lambda name: name != usual):
        run = FedRun(model.starts_of(signatures[name]), model.ends_of(signatures[name]))
        reason = next((reason for other, reason in checked[:MOST_COMPARED] if _is_same(run, other)), None)
        if reason is None:
            reason = _why_not(session, signatures[name], keep=name == usual)
            checked.append((run, reason))
        reason_of[name] = reason
    reasons = {name: reason_of[name] for name in signatures if reason_of[name]}
    if reasons and (all_must_run or len(reasons) == len(signatures)):
        raise StatusError(StatusCode.UNIMPLEMENTED, _message(reasons, len(signatures)))


def _is_same(run: FedRun, other: FedRun) -> bool:
    try:
        return same_work(run, other)
    except Error:  # an attribute that cannot be decoded
        return False


def _why_not(session: Session, signature: Signature, *, keep: bool) -> str:
    """Return why a signature can never run; empty if it can, or if that depends on the request."""
    feeds = [tensor for spec in signature.inputs.values() for tensor in spec.tensors]
    fetches = [tensor for spec in signature.outputs.values() for tensor in spec.tensors]
    try:
        ranks_known = all(session.model.graph.value(feed).shape.dims is not None for feed in feeds)
        if keep and ranks_known:
            session.prepare(signature.name)
        else:
            session.program(fetches, feeds)
    except CannotRun as error:
        missing = any(not _runs_at_all(op, session.registry) for op in error.ops)
        return str(error) if missing or ranks_known else ""
    except (RunStopped, ResourceExhausted):  # such as weights that do not fit into the memory of a GPU
        raise
    except Error:
        pass  # it fails when it is called
    return ""


def _runs_at_all(op: str, registry: OpImplementations) -> bool:
    """Return whether an op has an implementation, for whichever types and ranks."""
    ways = registry.kernels_of(op), registry.lowerings_of(op), registry.structure_of(op)
    return any(ways)


def _message(reasons: dict[str, str], count: int) -> str:
    """Return all reasons, each once, with the signatures it concerns."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    text = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())
    if len(reasons) == count:
        return f"no signature can run: {text}"
    return (
        f"{len(reasons)} of {count} signatures cannot run "
        f"(--serve_runnable_signatures serves the others): {text}"
    )
