"""What the Open Inference Protocol says about a server and its models, as plain dictionaries.

REST writes them as JSON, gRPC as messages of the same fields. A model has one set of inputs and
outputs in this protocol: those of the usual signature, of the only one, or of the one that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version as version_of
from typing import Any

from tfport.graph.model import Signature, TensorSpec
from tfport.runtime.entrance import DEFAULT
from tfport.serve.catalogue import Catalogue, State, VersionStatus
from tfport.serve.servable import Servable
from tfport.serve.status import Code, Refused
from tfport.serve.v2.tensors import datatype_of

Ready = Callable[[], bool]
"""Whether the server may be sent requests."""
EXTENSIONS = ("binary_tensor_data", "model_repository", "parameters")
PLATFORM = "tensorflow_savedmodel"
_STATES = {
    State.AVAILABLE: "READY",
    State.START: "LOADING",
    State.LOADING: "LOADING",
    State.UNLOADING: "UNLOADING",
}


def find(catalogue: Catalogue, name: str, version: str = "") -> Servable:
    """The servable that a request asks for; a version is a number or a label."""
    number = int(version) if version.isascii() and version.isdecimal() and len(version) < 20 else None
    try:
        return catalogue.get(name, number, version if number is None else "")
    except Refused as refusal:
        if refusal.code is not Code.NOT_FOUND:
            raise
        which = f"'{name}' version {number}" if version else f"'{name}'"
        state = "has no available versions" if name in catalogue.names() and not version else "is not found"
        raise Refused(Code.NOT_FOUND, f"Request for unknown model: {which} {state}") from None


def counted_as(catalogue: Catalogue, name: str) -> str:
    """The name to count a request under: names that clients make up are not counted one by one."""
    return name if name in catalogue.names() else ""


def is_ready(catalogue: Catalogue, name: str, version: str = "") -> bool:
    """Whether requests for a model, or one version of it, would be answered."""
    try:
        return bool(find(catalogue, name, version))
    except Refused:
        return False


def signature_of(servable: Servable, name: str = "") -> Signature:
    """The signature to call: the one named, else the usual one, else the only one."""
    known = servable.signatures
    if name or DEFAULT in known:
        return servable.signature(name)
    if len(known) == 1:
        return next(iter(known.values()))
    there = ", ".join(known) or "none"
    raise Refused(
        Code.INVALID_ARGUMENT,
        f"model '{servable.name}' has no signature '{DEFAULT}'; choose one with the parameter "
        f"signature_name: {there}",
    )


def server_metadata() -> dict[str, Any]:
    return {"name": "tfport", "version": version_of("tfport"), "extensions": list(EXTENSIONS)}


def model_metadata(
    catalogue: Catalogue, name: str, version: str = "", signature_name: str = ""
) -> dict[str, Any]:
    """The versions that can be asked for, and the tensors of a signature."""
    servable = find(catalogue, name, version)
    signature = signature_of(servable, signature_name)
    available = [s.version for s in catalogue.statuses(name) if s.state is State.AVAILABLE]
    return {
        "name": name,
        "versions": [str(servable.version)] if version else [str(v) for v in sorted(available)],
        "platform": PLATFORM,
        "inputs": _tensors(signature.inputs),
        "outputs": _tensors(signature.outputs),
        "properties": {"signature_name": signature.name, "signatures": ",".join(servable.signatures)},
    }


def repository_index(catalogue: Catalogue, only_ready: bool = False) -> list[dict[str, str]]:
    """Every model and version, and how it fares."""
    found = []
    for name in catalogue.names():
        try:
            statuses = catalogue.statuses(name)
        except Refused:  # nothing is known of it yet
            statuses = []
        rows = [_row(name, status) for status in reversed(statuses)] or [{"name": name}]
        found += [row for row in rows if not only_ready or row.get("state") == "READY"]
    return found


def _row(name: str, status: VersionStatus) -> dict[str, str]:
    state = _STATES.get(status.state, "UNAVAILABLE")
    reason = status.message or ("unloaded" if status.state is State.END else "")
    return {"name": name, "version": str(status.version), "state": state, "reason": reason}


def _tensors(specs: Mapping[str, TensorSpec]) -> list[dict[str, Any]]:
    return [
        {"name": name, "datatype": datatype_of(spec.dtype), "shape": shape_of(spec)}
        for name, spec in specs.items()
    ]


def shape_of(spec: TensorSpec) -> list[int]:
    """Sizes, -1 where unknown; the protocol cannot say that not even the rank is known."""
    return [-1] if spec.shape.dims is None else [-1 if size is None else size for size in spec.shape.dims]
