"""The OpenAPI document of the REST port: every path with its requests and responses.

It is the same for all models: the inputs of a model are in its metadata. Other protocols (`/v2/…`)
describe their own paths and pass them to `document`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

# What every protocol on the REST port uses

Json = dict[str, Any]


def ref(name: str) -> Json:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def object_schema(required: str, **properties: Json) -> Json:
    """Return the schema of an object; `required` are property names, separated by spaces."""
    return {"type": "object", "required": required.split(), "properties": properties}


def content(schema: str | None) -> Json:
    """Return a JSON body with a named schema; without a name, any object."""
    return {"application/json": {"schema": ref(schema) if schema else {"type": "object"}}}


def path_parameters(path: str, schemas: Mapping[str, Json]) -> list[Json]:
    """Return the parameters in a path, with their schemas."""
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in schemas.items()
        if f"{{{name}}}" in path
    ]


# The document of `/v1/…`

_WHICH = {
    "": "the newest version",
    "/versions/{version}": "a version",
    "/labels/{label}": "the version with a label",
}
_PARAMETERS: dict[str, Json] = {
    "model": {"type": "string", "minLength": 1, "pattern": "^[^/:]+$"},
    "version": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**63 - 1},
    "label": {"type": "string", "minLength": 1, "pattern": "^[^/:]+$"},
}
_ERRORS = {
    400: "The request is invalid, or the model rejected its inputs.",
    401: "The bearer token is missing or invalid.",
    404: "The model or version does not exist.",
    408: "The body was not received in time.",
    413: "The body is too large.",
    429: "Too many requests.",
    500: "The model or the server failed.",
    501: "The model cannot be run, or its outputs cannot be written as JSON.",
    503: "The model or the server is not ready.",
    504: "The request timed out.",
}
_GET_ERRORS, _POST_ERRORS = (400, 404), (400, 404, 408, 413, 429, 500, 501, 503, 504)
_SIGNATURE_NAME = {"type": "string", "description": "Default: `serving_default`."}
_STATES = ["UNKNOWN", "START", "LOADING", "AVAILABLE", "UNLOADING", "END"]
_VERSION_TEXT = {"type": "string", "pattern": "^[0-9]+$"}

_SCHEMAS: dict[str, Json] = {
    "Bytes": object_schema("b64", b64={"type": "string", "contentEncoding": "base64"})
    | {"additionalProperties": False},
    "Tensor": {
        "description": "A scalar, or nested lists of them; numbers may be NaN, Infinity and -Infinity.",
        "anyOf": [
            {"type": ["number", "string", "boolean"]},
            ref("Bytes"),
            {"type": "array", "items": ref("Tensor")},
        ],
    },
    "NamedTensors": {"type": "object", "additionalProperties": ref("Tensor")},
    "PredictRequest": {
        "oneOf": [
            object_schema(
                "instances",
                signature_name=_SIGNATURE_NAME,
                instances={
                    "description": "Rows: a value each, or an object with one for each input.",
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [ref("Tensor"), ref("NamedTensors")]},
                },
            ),
            object_schema(
                "inputs",
                signature_name=_SIGNATURE_NAME,
                inputs={
                    "description": "Columns: the only input, or an object with all of them.",
                    "anyOf": [ref("Tensor"), ref("NamedTensors")],
                },
            ),
        ]
    },
    "PredictResponse": {
        "oneOf": [
            object_schema(
                "predictions",
                predictions={
                    "type": "array",
                    "items": {"anyOf": [ref("Tensor"), ref("NamedTensors")]},
                },
            ),
            object_schema("outputs", outputs={"anyOf": [ref("Tensor"), ref("NamedTensors")]}),
        ]
    },
    "Feature": {
        "anyOf": [
            {"type": ["number", "string", "boolean"]},
            ref("Bytes"),
            {"type": "array", "items": {"anyOf": [{"type": ["number", "string", "boolean"]}, ref("Bytes")]}},
        ]
    },
    "Example": {"type": "object", "additionalProperties": ref("Feature")},
    "ExamplesRequest": object_schema(
        "examples",
        signature_name=_SIGNATURE_NAME,
        context=ref("Example"),
        examples={"type": "array", "minItems": 1, "items": ref("Example")},
    ),
    "ClassifyResponse": object_schema(
        "results",
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
    "RegressResponse": object_schema("results", results={"type": "array", "items": {"type": "number"}}),
    "VersionStatus": object_schema(
        "version state status",
        version=_VERSION_TEXT,
        state={"enum": _STATES},
        status=object_schema(
            "error_code error_message", error_code={"type": "string"}, error_message={"type": "string"}
        ),
    ),
    "ModelStatus": object_schema(
        "model_version_status", model_version_status={"type": "array", "items": ref("VersionStatus")}
    ),
    "Models": object_schema(
        "models",
        models={
            "type": "array",
            "items": object_schema(
                "name model_version_status version_labels",
                name={"type": "string"},
                model_version_status={"type": "array", "items": ref("VersionStatus")},
                version_labels={"type": "object", "additionalProperties": _VERSION_TEXT},
            ),
        },
    ),
    "Metadata": object_schema(
        "model_spec metadata",
        model_spec=object_schema(
            "name version",
            name={"type": "string"},
            signature_name={"type": "string"},
            version=_VERSION_TEXT,
        ),
        metadata=object_schema(
            "signature_def",
            signature_def=object_schema(
                "signature_def",
                signature_def={
                    "description": "TensorFlow's SignatureDef messages by name, as protobuf's JSON.",
                    "type": "object",
                    "additionalProperties": {"type": "object"},
                },
            ),
        ),
    ),
    "Health": object_schema("status", status={"type": "string"}),
    "Error": object_schema("error", error={"type": "string"}),
}
# end of the path, verb, summary, schemas of request and response
_GET = [
    ("", "status", "Status", "ModelStatus"),
    ("/metadata", "metadata", "Signatures", "Metadata"),
]
_POST = [
    (":predict", "predict", "Run a signature on tensors", "PredictRequest", "PredictResponse"),
    (":classify", "classify", "Classify Examples", "ExamplesRequest", "ClassifyResponse"),
    (":regress", "regress", "Return a number for each Example", "ExamplesRequest", "RegressResponse"),
]


def document(
    *,
    with_tokens: bool = False,
    more_paths: Mapping[str, Json] | None = None,
    more_schemas: Mapping[str, Json] | None = None,
) -> bytes:
    """Return the document as JSON, with the paths and schemas of other protocols."""
    from importlib.metadata import version  # here, as servers start sooner without it

    paths: dict[str, Json] = {
        "/v1/models": {"get": _operation("models", "All models", "Models", (), with_tokens)},
        "/v1/health/live": {"get": _operation("live", "Whether the server runs", "Health", (), False)},
        "/v1/health/ready": {"get": _operation("ready", "Whether models are ready", "Health", (503,), False)},
        "/openapi.json": {"get": _operation("openapi", "This document", None, (), with_tokens)},
    }
    for part, which in _WHICH.items():
        base, name = "/v1/models/{model}" + part, part.strip("/").partition("/")[0]
        for end, verb, summary, answer in _GET:
            get = _operation(_id(verb, name), f"{summary}: {which}", answer, _GET_ERRORS, with_tokens)
            paths[base + end] = {"parameters": path_parameters(base, _PARAMETERS), "get": get}
        for end, verb, summary, body, answer in _POST:
            post = _operation(_id(verb, name), f"{summary}: {which}", answer, _POST_ERRORS, with_tokens)
            post["requestBody"] = {"required": True, "content": content(body)}
            paths[base + end] = {"parameters": path_parameters(base, _PARAMETERS), "post": post}
    paths |= more_paths or {}
    components: Json = {"schemas": {**_SCHEMAS, **(more_schemas or {})}}
    if with_tokens:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    info = {"title": "tfport serve: TensorFlow Serving's REST API", "version": version("tfport")}
    return orjson.dumps({"openapi": "3.1.0", "info": info, "paths": paths, "components": components})


def _operation(
    name: str, summary: str, answer: str | None, errors: tuple[int, ...], with_tokens: bool
) -> Json:
    statuses = sorted({*errors, 500, *((401,) if with_tokens else ())})
    responses: dict[str, Json] = {"200": {"description": "Success.", "content": content(answer)}}
    for status in statuses:
        responses[str(status)] = {"description": _ERRORS[status], "content": content("Error")}
    operation: Json = {"operationId": name, "summary": summary, "responses": responses}
    return operation | ({"security": [{"token": []}]} if with_tokens else {})


def _id(verb: str, which: str) -> str:
    return f"{verb}_of_{which.removesuffix('s')}" if which else verb
