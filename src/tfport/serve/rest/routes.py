"""Answer requests to `/v1/models…`: from a path and a body to the body of the response."""

from __future__ import annotations

import json
from collections.abc import Sequence
from time import perf_counter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from tfport.serve.event_loop import offload
from tfport.serve.model_catalog import ModelCatalog, VersionStatus
from tfport.serve.monitoring.samples import log_prediction, log_results
from tfport.serve.rest import request_head
from tfport.serve.rest.decode import decode
from tfport.serve.rest.encode import encode
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.request_head import ParsedPath
from tfport.serve.servable import Servable
from tfport.serve.workers.pool import Body

_T = TypeVar("_T")


def answer_get(catalog: ModelCatalog, path: ParsedPath) -> bytes:
    """Answer a GET request: the list of models, the status of one, or its signatures."""
    if path.verb == request_head.METADATA:
        return metadata_json(catalog.get(path.model, path.version, path.label))
    if not path.model:
        return list_json(catalog)
    return status_json(catalog.statuses(path.model, path.version, path.label))


async def answer_post(
    catalog: ModelCatalog,
    path: ParsedPath,
    body: Body,
    options: RestOptions,
) -> bytes:
    """Answer a POST request."""
    servable = catalog.get(path.model, path.version, path.label)
    servable.running += 1  # also while a body is decoded, so that it is not unloaded meanwhile
    try:
        if path.verb == request_head.PREDICT:
            return await _predict(servable, body, options)
        return await _answer_examples(servable, path, body, options)
    finally:
        servable.running -= 1


async def _answer_examples(servable: Servable, path: ParsedPath, body: Body, options: RestOptions) -> bytes:
    # here, as few clients send examples
    from tfport.serve.classify import classify, regress
    from tfport.serve.rest.examples_json import classes_json, decode_examples, regressions_json

    request = await options.workers.read(body, decode_examples)
    asked = request.signature, request.examples
    if options.metrics:
        options.metrics.examples(path.model, len(request.examples))
    if path.verb == request_head.CLASSIFY:
        classes = await classify(servable, *asked, check_method=options.check_method)
        log_results(options.request_log, servable, "classify", *asked, classes)
        return classes_json(classes)
    numbers = await regress(servable, *asked, check_method=options.check_method)
    log_results(options.request_log, servable, "regress", *asked, numbers)
    return regressions_json(numbers)


async def _predict(servable: Servable, body: Body, options: RestOptions) -> bytes:
    started = perf_counter()
    request = await options.workers.read(body, decode, servable.interface.signature)
    decoded = perf_counter()
    outputs = await servable.predict(request.signature.name, request.inputs)
    ran = perf_counter()
    size = sum(getattr(array, "nbytes", 0) for array in outputs.values())
    text = await offload(size, lambda: encode(outputs, request.signature.outputs, request.layout))
    if options.metrics:
        where = servable.name, servable.version, request.signature.name
        options.metrics.coded(*where, decoded - started, perf_counter() - ran)
    await log_prediction(options.request_log, servable, request.signature, request.inputs, outputs)
    return text


# Status and signatures of models as JSON, in TensorFlow Serving's format

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
        problem = catalog.problem(name)
        models.append(
            {
                "name": name,
                "model_version_status": versions,
                "version_labels": labels,
                **({"error_message": problem} if problem else {}),
            }
        )
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
        _printed[servable] = b'{\n"model_spec":%s,\n"metadata": {"signature_def": %s}\n}\n' % (
            _dumps(spec),
            _dumps({"signature_def": signatures}),
        )
    return _printed[servable]


def _version(status: VersionStatus) -> dict[str, Any]:
    error = {"error_code": status.code.name, "error_message": status.message}
    return {"version": str(status.version), "state": status.state.name, "status": error}


def _dumps(value: object) -> bytes:
    """Print an object as Protobuf does, in lines that are indented by one space."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
