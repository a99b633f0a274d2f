"""What the Open Inference Protocol says about a server and its models, as plain dictionaries.

REST writes them as JSON, gRPC as messages of the same fields. A model has one set of inputs and
outputs in this protocol: those of the usual signature, of the only one, or of the one that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version as version_of
from typing import Any

from tfport.graph.model import Signature, TensorSpec
from tfport.runtime.select_signature import DEFAULT
from tfport.serve.model_catalog import ModelCatalog, VersionState, VersionStatus
from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode, StatusError, invalid_argument
from tfport.serve.v2.tensors import datatype_of

Ready = Callable[[], bool]
"""Whether the server may be sent requests."""
EXTENSIONS = ("binary_tensor_data", "model_repository", "parameters")
PLATFORM = "tensorflow_savedmodel"
_STATES = {
    VersionState.AVAILABLE: "READY",
    VersionState.START: "LOADING",
    VersionState.LOADING: "LOADING",
    VersionState.UNLOADING: "UNLOADING",
}


def find(catalog: ModelCatalog, name: str, version: str = "") -> Servable:
    """The servable that a request asks for; a version is a number or a label."""
    number = int(version) if version.isascii() and version.isdecimal() and len(version) < 20 else None
    try:
        return catalog.get(name, number, version if number is None else "")
    except StatusError as refusal:
        if refusal.code is not StatusCode.NOT_FOUND:
            raise
        which = f"'{name}' version {number}" if version else f"'{name}'"
        state = "has no available versions" if name in catalog.names() and not version else "is not found"
        raise StatusError(StatusCode.NOT_FOUND, f"Request for unknown model: {which} {state}") from None


def counted_as(catalog: ModelCatalog, name: str) -> str:
    """The name to count a request under: names that clients make up are not counted one by one."""
    return name if name in catalog.names() else ""


def is_ready(catalog: ModelCatalog, name: str, version: str = "") -> bool:
    """Whether requests for a model, or one version of it, would be answered."""
    try:
        return bool(find(catalog, name, version))
    except StatusError:
        return False


def signature_of(servable: Servable, name: str = "") -> Signature:
    """The signature to call: the one named, else the usual one, else the only one."""
    known = servable.signatures
    if name or DEFAULT in known:
        return servable.signature(name)
    if len(known) == 1:
        return next(iter(known.values()))
    there = ", ".join(known) or "none"
    raise invalid_argument(
        f"model '{servable.name}' has no signature '{DEFAULT}'; choose one with the parameter "
        f"signature_name: {there}",
    )


def server_metadata() -> dict[str, Any]:
    return {"name": "tfport", "version": version_of("tfport"), "extensions": list(EXTENSIONS)}


def model_metadata(
    catalog: ModelCatalog, name: str, version: str = "", signature_name: str = ""
) -> dict[str, Any]:
    """The versions that can be asked for, and the tensors of a signature."""
    servable = find(catalog, name, version)
    signature = signature_of(servable, signature_name)
    available = [s.version for s in catalog.statuses(name) if s.state is VersionState.AVAILABLE]
    return {
        "name": name,
        "versions": [str(servable.version)] if version else [str(v) for v in sorted(available)],
        "platform": PLATFORM,
        "inputs": _tensors(signature.inputs),
        "outputs": _tensors(signature.outputs),
        "properties": {"signature_name": signature.name, "signatures": ",".join(servable.signatures)},
    }


def repository_index(catalog: ModelCatalog, only_ready: bool = False) -> list[dict[str, str]]:
    """Every model and version, and how it fares."""
    index = []
    for name in catalog.names():
        try:
            statuses = catalog.statuses(name)
        except StatusError:  # nothing is known of it yet
            statuses = []
        rows = [_row(name, status) for status in reversed(statuses)] or [{"name": name}]
        index += [row for row in rows if not only_ready or row.get("state") == "READY"]
    return index


def _row(name: str, status: VersionStatus) -> dict[str, str]:
    state = _STATES.get(status.state, "UNAVAILABLE")
    reason = status.message or ("unloaded" if status.state is VersionState.END else "")
    return {"name": name, "version": str(status.version), "state": state, "reason": reason}


def _tensors(specs: Mapping[str, TensorSpec]) -> list[dict[str, Any]]:
    return [
        {"name": name, "datatype": datatype_of(spec.dtype), "shape": shape_of(spec)}
        for name, spec in specs.items()
    ]


def shape_of(spec: TensorSpec) -> list[int]:
    """Sizes, -1 where unknown; the protocol cannot say that not even the rank is known."""
    return [-1] if spec.shape.dims is None else [-1 if size is None else size for size in spec.shape.dims]
