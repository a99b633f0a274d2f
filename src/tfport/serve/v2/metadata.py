"""Metadata of the server and its models in the Open Inference Protocol, as plain dictionaries.

REST writes them as JSON, gRPC as messages with the same fields. A model has one set of inputs and outputs
in this protocol: those of the default signature, of the only one, or of the one that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfport.graph.model import Signature, TensorSpec
from tfport.runtime.select_signature import DEFAULT
from tfport.serve.interface import ServableInterface
from tfport.serve.model_catalog import ModelCatalog, VersionState, VersionStatus
from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode, StatusError, invalid_argument
from tfport.serve.v2.tensors import datatype_of

Ready = Callable[[], bool]
"""Whether the server is ready for requests."""
EXTENSIONS = ("binary_tensor_data", "model_repository", "parameters")
PLATFORM = "tensorflow_savedmodel"
_STATES = {
    VersionState.AVAILABLE: "READY",
    VersionState.START: "LOADING",
    VersionState.LOADING: "LOADING",
    VersionState.UNLOADING: "UNLOADING",
}


def find(catalog: ModelCatalog, name: str, version: str = "") -> Servable:
    """Return the requested servable; a version is a number or a label."""
    number = int(version) if version.isascii() and version.isdecimal() and len(version) < 20 else None
    try:
        return catalog.get(name, number, version if number is None else "")
    except StatusError as error:
        if error.code is not StatusCode.NOT_FOUND:
            raise
        which = f"'{name}' version {number}" if version else f"'{name}'"
        state = "has no available versions" if name in catalog.names() and not version else "is not found"
        raise StatusError(StatusCode.NOT_FOUND, f"Request for unknown model: {which} {state}") from None


def is_ready(catalog: ModelCatalog, name: str, version: str = "") -> bool:
    """Whether a model, or one version of it, is available."""
    try:
        return bool(find(catalog, name, version))
    except StatusError:
        return False


def signature_of(servable: Servable | ServableInterface, name: str = "") -> Signature:
    """Return the signature to call: the named one, else the default one, else the only one."""
    known = servable.signatures
    if name or DEFAULT in known:
        return servable.signature(name)
    if len(known) == 1:
        return next(iter(known.values()))
    names = ", ".join(known) or "none"
    raise invalid_argument(
        f"model '{servable.name}' has no signature '{DEFAULT}'; choose one with the parameter "
        f"signature_name: {names}",
    )


def server_metadata() -> dict[str, Any]:
    from importlib.metadata import version  # here, as servers start sooner without it

    return {"name": "tfport", "version": version("tfport"), "extensions": list(EXTENSIONS)}


def model_metadata(
    catalog: ModelCatalog, name: str, version: str = "", signature_name: str = ""
) -> dict[str, Any]:
    """Return the available versions, and the tensors of a signature."""
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
    """Return the state of every version of every model."""
    index = []
    for name in catalog.names():
        statuses = catalog.known_statuses(name)
        rows = [_row(name, status) for status in reversed(statuses)] or [_without_versions(catalog, name)]
        index += [row for row in rows if not only_ready or row.get("state") == "READY"]
    return index


def _without_versions(catalog: ModelCatalog, name: str) -> dict[str, str]:
    problem = catalog.problem(name)
    return {"name": name, "state": "UNAVAILABLE", "reason": problem} if problem else {"name": name}


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
    """Return the sizes, -1 if unknown; the protocol has no notation for an unknown rank."""
    return [-1] if spec.shape.dims is None else [-1 if size is None else size for size in spec.shape.dims]
