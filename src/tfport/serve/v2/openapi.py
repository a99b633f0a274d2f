"""The Open Inference Protocol's part of the REST port's OpenAPI document: `paths` and `schemas` to add to it.

Binary tensors are not described: OpenAPI has no words for a body that is JSON and then something else.
"""

from __future__ import annotations

from typing import Any

from tfport.serve.v2.tensors import NUMPY

Json = dict[str, Any]
_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}
_REFUSED = (400, 404, 408, 413, 429, 500, 501, 503, 504)


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _object(required: str, **properties: Json) -> Json:
    return {"type": "object", "required": required.split(), "properties": properties}


_PARAMETERS = {
    "type": ["object", "null"],
    "additionalProperties": {"type": ["string", "number", "boolean"]},
}
_TENSOR = {"name": _TEXT, "datatype": _TEXT, "shape": _list({"type": "integer", "minimum": -1})}
_SIZES = _list({"type": "integer", "minimum": 0})
_DATA = _list({"type": ["number", "string", "boolean", "array"]})
SCHEMAS: dict[str, Json] = {
    "V2Error": _object("error", error=_TEXT),
    "V2Server": _object("name version extensions", name=_TEXT, version=_TEXT, extensions=_list(_TEXT)),
    "V2Live": _object("live", live=_FLAG),
    "V2Ready": _object("ready", ready=_FLAG, name=_TEXT),
    "V2Tensor": _object("name datatype shape", **_TENSOR),
    "V2Model": _object(
        "name versions platform inputs outputs",
        name=_TEXT,
        versions=_list(_TEXT),
        platform=_TEXT,
        inputs=_list(_ref("V2Tensor")),
        outputs=_list(_ref("V2Tensor")),
        properties={"type": "object", "additionalProperties": _TEXT},
    ),
    "V2Input": _object(
        "name datatype shape data",
        name=_TEXT,
        datatype={"enum": sorted(NUMPY)},
        shape=_SIZES,
        data=_DATA,
        parameters=_PARAMETERS,
    ),
    "V2RequestedOutput": _object("name", name=_TEXT, parameters=_PARAMETERS),
    "V2Request": _object(
        "inputs",
        id={"type": ["string", "null"]},
        parameters=_PARAMETERS,
        inputs=_list(_ref("V2Input")),
        outputs={"type": ["array", "null"], "items": _ref("V2RequestedOutput")},
    ),
    "V2Output": _object(
        "name datatype shape", **{**_TENSOR, "shape": _SIZES}, data=_DATA, parameters=_PARAMETERS
    ),
    "V2Response": _object(
        "model_name model_version outputs",
        model_name=_TEXT,
        model_version=_TEXT,
        id=_TEXT,
        outputs=_list(_ref("V2Output")),
    ),
    "V2Index": _list(_object("name", name=_TEXT, version=_TEXT, state=_TEXT, reason=_TEXT)),
    "V2IndexRequest": _object("", ready=_FLAG),
}
# method, path, what it is called and does, and the schemas of answer and request
_TABLE = [
    ("get", "/v2", "v2_server", "The server and its extensions", "V2Server", None),
    ("get", "/v2/health/live", "v2_live", "Whether the server runs", "V2Live", None),
    ("get", "/v2/health/ready", "v2_ready", "Whether models are ready", "V2Ready", None),
    ("get", "/v2/repository/index", "v2_models", "All models", "V2Index", None),
    ("post", "/v2/repository/index", "v2_index", "All models, or those ready", "V2Index", "V2IndexRequest"),
]
_OF_MODEL = [
    ("get", "", "v2_model", "Inputs and outputs", "V2Model", None),
    ("get", "/ready", "v2_model_ready", "Whether it is available", "V2Ready", None),
    ("post", "/infer", "v2_infer", "Run it on tensors", "V2Response", "V2Request"),
]


def paths(*, with_tokens: bool = False) -> dict[str, Json]:
    """Each path with its operations."""
    table = list(_TABLE)
    for where, which in (("/v2/models/{name}", ""), ("/v2/models/{name}/versions/{version}", "_of_version")):
        table += [
            (method, where + end, name + which, does, answer, asked)
            for method, end, name, does, answer, asked in _OF_MODEL
        ]
    paths_: dict[str, Json] = {}
    for method, path, name, does, answer, asked in table:
        item = paths_.setdefault(path, {"parameters": _in_path(path)} if "{" in path else {})
        item[method] = _operation(name, does, answer, asked, with_tokens and "/health/" not in path)
    return paths_


def _operation(name: str, does: str, answer: str, asked: str | None, with_tokens: bool) -> Json:
    responses = {"200": {"description": "The answer.", "content": _content(answer)}}
    for status in (*_REFUSED, *((401,) if with_tokens else ())):
        schema = "V2Ready" if status == 503 and name.endswith(("ready", "ready_of_version")) else "V2Error"
        responses[str(status)] = {"description": "Why there is no answer.", "content": _content(schema)}
    operation: Json = {"operationId": name, "summary": does, "responses": responses}
    if asked:
        operation["requestBody"] = {"required": asked == "V2Request", "content": _content(asked)}
    return operation | ({"security": [{"token": []}]} if with_tokens else {})


def _content(schema: str) -> Json:
    return {"application/json": {"schema": _ref(schema)}}


def _in_path(path: str) -> list[Json]:
    schema = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in ("name", "version")
        if f"{{{name}}}" in path
    ]
