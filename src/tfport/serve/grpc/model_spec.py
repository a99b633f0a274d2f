"""Find the servable for the ModelSpec of a request."""

from __future__ import annotations

from typing import Any

from tfport.formats.proto import serving_pb2 as pb
from tfport.runtime.select_signature import DEFAULT
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.servable import Servable
from tfport.serve.status import invalid_argument


def model_spec_of(request: Any) -> pb.ModelSpec:
    """Return the ModelSpec of a request; it is required."""
    if not request.HasField("model_spec"):
        raise invalid_argument("Missing ModelSpec")
    spec: pb.ModelSpec = request.model_spec
    return spec


def servable_for(catalog: ModelCatalog, spec: pb.ModelSpec) -> Servable:
    """Return the servable that a ModelSpec names."""
    if not spec.name:
        raise invalid_argument("ModelSpec has no name specified.")
    if spec.WhichOneof("version_choice") == "version_label" and not spec.version_label:
        raise invalid_argument("Unrecognized servable version label: ")
    return catalog.get(spec.name, requested_version(spec), spec.version_label)


def requested_version(spec: pb.ModelSpec) -> int | None:
    """Return the requested version number, if any."""
    return spec.version.value if spec.HasField("version") else None


def response_spec(servable: Servable, signature: str | None = None) -> pb.ModelSpec:
    """Return the ModelSpec of a response: the version used, and the signature if one was called."""
    spec = pb.ModelSpec(name=servable.name)
    spec.version.value = servable.version
    if signature is not None:
        spec.signature_name = signature or DEFAULT
    return spec
