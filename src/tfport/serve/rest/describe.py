"""The status and the signatures of models as JSON, in TensorFlow Serving's format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import orjson

from tfport.serve.model_catalog import ModelCatalog, VersionStatus
from tfport.serve.servable import Servable

_printed: WeakKeyDictionary[Servable, bytes] = WeakKeyDictionary()


def status_json(statuses: Sequence[VersionStatus]) -> bytes:
    """Return the status of versions of one model."""
    return _dumps({"model_version_status": [_version(status) for status in statuses]})


def list_json(catalog: ModelCatalog) -> bytes:
    """Return the status of all versions of all models, and their labels."""
    models = []
    for name in catalog.names():
        labels = {label: str(version) for label, version in catalog.labels(name).items()}
        versions = [_version(status) for status in catalog.known_statuses(name)]
        models.append({"name": name, "model_version_status": versions, "version_labels": labels})
    return _dumps({"models": models})


def metadata_json(servable: Servable) -> bytes:
    """Return the signatures of one version; cached."""
    if servable not in _printed:
        from google.protobuf.json_format import MessageToDict  # here, as few clients ask for metadata

        signatures = {
            name: MessageToDict(
                message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
            )
            for name, message in sorted(servable.model.meta.signature_def.items())
        }
        spec = {"name": servable.name, "signature_name": "", "version": str(servable.version)}
        _printed[servable] = _dumps(
            {"model_spec": spec, "metadata": {"signature_def": {"signature_def": signatures}}}
        )
    return _printed[servable]


def _version(status: VersionStatus) -> dict[str, Any]:
    error = {"error_code": status.code.name, "error_message": status.message}
    return {"version": str(status.version), "state": status.state.name, "status": error}


def _dumps(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n"
