"""The OpenAPI document of the REST port: every path, what goes in and what comes out.

Models are not told apart: what a model takes is told by its metadata. What other parts add to the port
(`/v2/…`) is described by them, and given to `document`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import orjson

Json = dict[str, Any]

_WHICH = {
    "": "the newest version",
    "/versions/{version}": "a version",
    "/labels/{label}": "a labelled version",
}
_PARAMETERS: dict[str, Json] = {
    "model": {"type": "string", "minLength": 1, "pattern": "^[^/:]+$"},
    "version": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**63 - 1},
    "label": {"type": "string", "minLength": 1, "pattern": "^[^/:]+$"},
}
_REFUSED = {
    400: "The request makes no sense, or the model refuses what it was given.",
    401: "There is no valid bearer token.",
    404: "There is no such model or version.",
    408: "The body did not come in time.",
    413: "The body is too large.",
    429: "Too many requests wait already.",
    500: "The model or the server failed.",
    501: "The model has something in it that cannot be run or written as JSON.",
    503: "It is not ready.",
    504: "There was no answer in time.",
}
_TO_LOOK, _TO_ASK = (400, 404), (400, 404, 408, 413, 429, 500, 501, 503, 504)


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: list[str], **properties: Json) -> Json:
    return {"type": "object", "required": required, "properties": properties}


_SIGNATURE_NAME = {"type": "string", "description": "`serving_default` unless said."}
_STATES = ["UNKNOWN", "START", "LOADING", "AVAILABLE", "UNLOADING", "END"]
_VERSION_TEXT = {"type": "string", "pattern": "^[0-9]+$"}

_SCHEMAS: dict[str, Json] = {
    "Bytes": _object(["b64"], b64={"type": "string", "contentEncoding": "base64"})
    | {"additionalProperties": False},
    "Tensor": {
        "description": "A scalar, or nested lists of them; numbers may be NaN, Infinity and -Infinity.",
        "anyOf": [
            {"type": ["number", "string", "boolean"]},
            _ref("Bytes"),
            {"type": "array", "items": _ref("Tensor")},
        ],
    },
    "NamedTensors": {"type": "object", "additionalProperties": _ref("Tensor")},
    "PredictRequest": {
        "oneOf": [
            _object(
                ["instances"],
                signature_name=_SIGNATURE_NAME,
                instances={
                    "description": "Rows: a value each, or an object with one for each input.",
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [_ref("Tensor"), _ref("NamedTensors")]},
                },
            ),
            _object(
                ["inputs"],
                signature_name=_SIGNATURE_NAME,
                inputs={
                    "description": "Columns: the only input, or an object with all of them.",
                    "anyOf": [_ref("Tensor"), _ref("NamedTensors")],
                },
            ),
        ]
    },
    "PredictResponse": {
        "oneOf": [
            _object(
                ["predictions"],
                predictions={
                    "type": "array",
                    "items": {"anyOf": [_ref("Tensor"), _ref("NamedTensors")]},
                },
            ),
            _object(["outputs"], outputs={"anyOf": [_ref("Tensor"), _ref("NamedTensors")]}),
        ]
    },
    "Feature": {
        "anyOf": [
            {"type": ["number", "string", "boolean"]},
            _ref("Bytes"),
            {"type": "array", "items": {"anyOf": [{"type": ["number", "string", "boolean"]}, _ref("Bytes")]}},
        ]
    },
    "Example": {"type": "object", "additionalProperties": _ref("Feature")},
    "ExamplesRequest": _object(
        ["examples"],
        signature_name=_SIGNATURE_NAME,
        context=_ref("Example"),
        examples={"type": "array", "minItems": 1, "items": _ref("Example")},
    ),
    "ClassifyResponse": _object(
        ["results"],
        results={
            "description": "For each example the label and the score of each class.",
            "type": "array",
            "items": {
                "type": "array",
                "items": {
                    "type": "array",
                    "prefixItems": [{"type": "string"}, {"type": "number"}],
                    "minItems": 2,
                    "maxItems": 2,
                },
            },
        },
    ),
    "RegressResponse": _object(["results"], results={"type": "array", "items": {"type": "number"}}),
    "VersionStatus": _object(
        ["version", "state", "status"],
        version=_VERSION_TEXT,
        state={"enum": _STATES},
        status=_object(
            ["error_code", "error_message"], error_code={"type": "string"}, error_message={"type": "string"}
        ),
    ),
    "ModelStatus": _object(
        ["model_version_status"], model_version_status={"type": "array", "items": _ref("VersionStatus")}
    ),
    "Models": _object(
        ["models"],
        models={
            "type": "array",
            "items": _object(
                ["name", "model_version_status", "version_labels"],
                name={"type": "string"},
                model_version_status={"type": "array", "items": _ref("VersionStatus")},
                version_labels={"type": "object", "additionalProperties": _VERSION_TEXT},
            ),
        },
    ),
    "Metadata": _object(
        ["model_spec", "metadata"],
        model_spec=_object(
            ["name", "version"],
            name={"type": "string"},
            signature_name={"type": "string"},
            version=_VERSION_TEXT,
        ),
        metadata=_object(
            ["signature_def"],
            signature_def=_object(
                ["signature_def"],
                signature_def={
                    "description": "TensorFlow's SignatureDef messages by name, as protobuf's JSON.",
                    "type": "object",
                    "additionalProperties": {"type": "object"},
                },
            ),
        ),
    ),
    "Health": _object(["status"], status={"type": "string"}),
    "Error": _object(["error"], error={"type": "string"}),
}
# The end of a path, what it does, and the schemas of request and answer.
_LOOKS = [
    ("", "status", "How it fares", "ModelStatus"),
    ("/metadata", "metadata", "Its signatures", "Metadata"),
]
_ASKS = [
    (":predict", "predict", "Run a signature on tensors", "PredictRequest", "PredictResponse"),
    (":classify", "classify", "Classify Examples", "ExamplesRequest", "ClassifyResponse"),
    (":regress", "regress", "A number for each Example", "ExamplesRequest", "RegressResponse"),
]


def document(
    *,
    with_tokens: bool = False,
    more_paths: Mapping[str, Json] | None = None,
    more_schemas: Mapping[str, Json] | None = None,
) -> bytes:
    """The document, as JSON; with what other parts say of their paths."""
    paths: dict[str, Json] = {
        "/v1/models": {"get": _operation("models", "All models", "Models", (), with_tokens)},
        "/v1/health/live": {"get": _operation("live", "Whether the server runs", "Health", (), False)},
        "/v1/health/ready": {"get": _operation("ready", "Whether models are ready", "Health", (503,), False)},
        "/openapi.json": {"get": _operation("openapi", "This document", None, (), with_tokens)},
    }
    for part, which in _WHICH.items():
        base, name = "/v1/models/{model}" + part, part.strip("/").partition("/")[0]
        for end, verb, summary, answer in _LOOKS:
            operation = _operation(_id(verb, name), f"{summary}: {which}", answer, _TO_LOOK, with_tokens)
            paths[base + end] = {"parameters": _parameters(base), "get": operation}
        for end, verb, summary, body, answer in _ASKS:
            operation = _operation(_id(verb, name), f"{summary}: {which}", answer, _TO_ASK, with_tokens)
            operation["requestBody"] = {"required": True, "content": _content(body)}
            paths[base + end] = {"parameters": _parameters(base), "post": operation}
    paths |= more_paths or {}
    components: Json = {"schemas": {**_SCHEMAS, **(more_schemas or {})}}
    if with_tokens:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    info = {"title": "tfport serve: TensorFlow Serving's REST API", "version": version("tfport")}
    return orjson.dumps({"openapi": "3.1.0", "info": info, "paths": paths, "components": components})


def _operation(
    name: str, summary: str, answer: str | None, errors: tuple[int, ...], with_tokens: bool
) -> Json:
    refused = sorted({*errors, 500, *((401,) if with_tokens else ())})
    responses: dict[str, Json] = {"200": {"description": "The answer.", "content": _content(answer)}}
    for status in refused:
        responses[str(status)] = {"description": _REFUSED[status], "content": _content("Error")}
    operation: Json = {"operationId": name, "summary": summary, "responses": responses}
    return operation | ({"security": [{"token": []}]} if with_tokens else {})


def _content(schema: str | None) -> Json:
    return {"application/json": {"schema": _ref(schema) if schema else {"type": "object"}}}


def _parameters(path: str) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in _PARAMETERS.items()
        if f"{{{name}}}" in path
    ]


def _id(verb: str, which: str) -> str:
    return f"{verb}_of_{which.removesuffix('s')}" if which else verb
