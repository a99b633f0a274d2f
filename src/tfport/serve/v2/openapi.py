"""The Open Inference Protocol's part of the OpenAPI document: paths and schemas.

Binary tensors are not described: OpenAPI cannot express a body that is JSON followed by binary data.
"""

from __future__ import annotations

from tfport.serve.rest.openapi import Json, content, object_schema, path_parameters, ref
from tfport.serve.v2.tensors import NUMPY

_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}
_ERRORS = (400, 404, 408, 413, 429, 500, 501, 503, 504)
_IN_PATH = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


_PARAMETERS = {
    "type": ["object", "null"],
    "additionalProperties": {"type": ["string", "number", "boolean"]},
}
_TENSOR = {"name": _TEXT, "datatype": _TEXT, "shape": _list({"type": "integer", "minimum": -1})}
_SIZES = _list({"type": "integer", "minimum": 0})
_DATA = _list({"type": ["number", "string", "boolean", "array"]})
SCHEMAS: dict[str, Json] = {
    "V2Error": object_schema("error", error=_TEXT),
    "V2Server": object_schema("name version extensions", name=_TEXT, version=_TEXT, extensions=_list(_TEXT)),
    "V2Live": object_schema("live", live=_FLAG),
    "V2Ready": object_schema("ready", ready=_FLAG, name=_TEXT),
    "V2Tensor": object_schema("name datatype shape", **_TENSOR),
    "V2Model": object_schema(
        "name versions platform inputs outputs",
        name=_TEXT,
        versions=_list(_TEXT),
        platform=_TEXT,
        inputs=_list(ref("V2Tensor")),
        outputs=_list(ref("V2Tensor")),
        properties={"type": "object", "additionalProperties": _TEXT},
    ),
    "V2Input": object_schema(
        "name datatype shape data",
        name=_TEXT,
        datatype={"enum": sorted(NUMPY)},
        shape=_SIZES,
        data=_DATA,
        parameters=_PARAMETERS,
    ),
    "V2RequestedOutput": object_schema("name", name=_TEXT, parameters=_PARAMETERS),
    "V2Request": object_schema(
        "inputs",
        id={"type": ["string", "null"]},
        parameters=_PARAMETERS,
        inputs=_list(ref("V2Input")),
        outputs={"type": ["array", "null"], "items": ref("V2RequestedOutput")},
    ),
    "V2Output": object_schema(
        "name datatype shape", **{**_TENSOR, "shape": _SIZES}, data=_DATA, parameters=_PARAMETERS
    ),
    "V2Response": object_schema(
        "model_name model_version outputs",
        model_name=_TEXT,
        model_version=_TEXT,
        id=_TEXT,
        outputs=_list(ref("V2Output")),
    ),
    "V2Index": _list(object_schema("name", name=_TEXT, version=_TEXT, state=_TEXT, reason=_TEXT)),
    "V2IndexRequest": object_schema("", ready=_FLAG),
}
# method, path, operation id, summary, schemas of response and request
_TABLE = [
    ("get", "/v2", "v2_server", "The server and its extensions", "V2Server", None),
    ("get", "/v2/health/live", "v2_live", "Whether the server runs", "V2Live", None),
    ("get", "/v2/health/ready", "v2_ready", "Whether models are ready", "V2Ready", None),
    ("get", "/v2/repository/index", "v2_models", "All models", "V2Index", None),
    ("post", "/v2/repository/index", "v2_index", "All or only ready models", "V2Index", "V2IndexRequest"),
]
_OF_MODEL = [
    ("get", "", "v2_model", "Inputs and outputs", "V2Model", None),
    ("get", "/ready", "v2_model_ready", "Whether the model is available", "V2Ready", None),
    ("post", "/infer", "v2_infer", "Run the model on tensors", "V2Response", "V2Request"),
]


def paths(*, with_tokens: bool = False) -> dict[str, Json]:
    """Return each path with its operations."""
    table = list(_TABLE)
    for where, which in (("/v2/models/{name}", ""), ("/v2/models/{name}/versions/{version}", "_of_version")):
        table += [
            (method, where + end, name + which, summary, answer, body)
            for method, end, name, summary, answer, body in _OF_MODEL
        ]
    items: dict[str, Json] = {}
    for method, path, name, summary, answer, body in table:
        parameters = path_parameters(path, {"name": _IN_PATH, "version": _IN_PATH})
        item = items.setdefault(path, {"parameters": parameters} if parameters else {})
        item[method] = _operation(name, summary, answer, body, with_tokens and "/health/" not in path)
    return items


def _operation(name: str, summary: str, answer: str, body: str | None, with_tokens: bool) -> Json:
    responses = {"200": {"description": "Success.", "content": content(answer)}}
    for status in (*_ERRORS, *((401,) if with_tokens else ())):
        schema = "V2Ready" if status == 503 and name.endswith(("ready", "ready_of_version")) else "V2Error"
        responses[str(status)] = {"description": "Error.", "content": content(schema)}
    operation: Json = {"operationId": name, "summary": summary, "responses": responses}
    if body:
        operation["requestBody"] = {"required": body == "V2Request", "content": content(body)}
    return operation | ({"security": [{"token": []}]} if with_tokens else {})
