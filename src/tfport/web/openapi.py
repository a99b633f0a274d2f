"""The OpenAPI document: every path of the API with its parameters, body and answer.

The fields of the answers are described in TypeScript, in `web/src/api` of the repository, and those that a
command prints on the page of the command; here they have names and one line each.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from tfport.serve.rest.openapi import Json, content, object_schema, path_parameters, ref
from tfport.startup.dataclass import dataclass, field

PREFIX = "/api/v1"
STRING, INTEGER, BOOLEAN, OBJECT = ({"type": kind} for kind in ("string", "integer", "boolean", "object"))
TEXTS = {"type": "array", "items": STRING}


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request."""

    method: str
    path: str
    summary: str
    answer: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Json] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    status: int = 200
    raw: bool = False
    """Whether the body is the bytes of a file."""


SIDE = object_schema("model", model=STRING, graph=STRING)
REQUESTS = [
    ApiRequest("get", "/openapi.json", "this document", "OpenApi"),
    ApiRequest("post", "/login", "exchange the token for a cookie", "Empty"),
    ApiRequest("get", "/models", "models of the command line, opened ones and recent ones", "ModelList"),
    ApiRequest("post", "/models", "open a model by path, an upload, or a known model by its id", "ModelEntry",
              body={"path": STRING, "upload": STRING, "model": STRING}),
    ApiRequest("delete", "/models/{model}", "forget a model", "Empty"),
    ApiRequest("get", "/examples", "small models for a first look", "ModelList"),
    ApiRequest("get", "/paths", "complete a path below the allowed folders", "PathList",
              query={"prefix": "the path so far"}),
    ApiRequest("post", "/uploads", "begin an upload", "Upload", status=201),
    ApiRequest("put", "/uploads/{upload}/{path}", "send a file of an upload", "Empty", status=201, raw=True),
    ApiRequest("get", "/models/{model}/inspect", "what `tfport inspect --json` prints", "Inspection"),
    ApiRequest("get", "/models/{model}/graphs", "the graphs of a model", "GraphList"),
    ApiRequest("get", "/models/{model}/graphs/{graph}", "a graph by columns", "GraphData"),
    ApiRequest("get", "/models/{model}/graphs/{graph}/node", "a node in detail", "NodeDetails",
              query={"name": "the name of the node"}),
    ApiRequest("get", "/models/{model}/search", "nodes by op, type, attribute or name", "SearchResult",
              query={"q": "words such as `op:MatMul`, `dtype:bfloat16`, `attr:padding=SAME`, `name:conv`"}),
    ApiRequest("get", "/models/{model}/tensor", "a stored tensor: statistics and first elements",
               "TensorPeek",
              query={"key": "the key in the checkpoint, or the name of a weight"}),
    ApiRequest("get", "/models/{model}/tensors", "the weights of a model of any format", "TensorList"),
    ApiRequest("get", "/models/{model}/tensor.npy", "a stored tensor as a file of NumPy", "NpyFile",
              query={"key": "as in the list"}),
    ApiRequest("get", "/models/{model}/asset", "the first lines of an asset", "AssetPeek",
              query={"file": "its name"}),
    ApiRequest("get", "/models/{model}/matrix", "`tfport matrix --json`, with findings", "Matrix"),
    ApiRequest("post", "/models/{model}/check", "what `tfport check --json` prints, with all nodes",
               "CheckReport",
              body={"targets": TEXTS, "device": STRING, "signature": TEXTS}, required=("targets",)),
    ApiRequest("get", "/models/{model}/scan", "what `tfport scan --json` prints, with all nodes",
               "ScanReport"),
    ApiRequest("post", "/models/{model}/run", "run a signature: a job", "Job", status=202,
              body={"signature": STRING, "inputs": OBJECT, "repeat": INTEGER}),
    ApiRequest("post", "/models/{model}/fix", "rewrite a model for a target: a job", "Job", status=202,
              body={"target": STRING, "allow_lossy": BOOLEAN, "prove": BOOLEAN}, required=("target",)),
    ApiRequest("post", "/models/{model}/profile", "where the time of a run goes: a job", "Job", status=202,
              body={"signature": STRING, "batch": INTEGER}),
    ApiRequest("post", "/diff", "the difference of two graphs", "GraphDifference",
              body={"a": SIDE, "b": SIDE}, required=("a", "b")),
    ApiRequest("post", "/compare", "what `tfport diff --json` prints", "ModelDifference",
              body={"a": STRING, "b": STRING}, required=("a", "b")),
    ApiRequest("get", "/jobs/{job}", "the state of a job, and its result", "Job"),
    ApiRequest("delete", "/jobs/{job}", "cancel a job", "Job"),
    ApiRequest("get", "/jobs/{job}/download", "the model that a job wrote, as a zip archive", "Archive"),
    ApiRequest("get", "/targets", "complete the text of a target", "TargetList",
              query={"prefix": "the text so far", "model": "only targets that read its format"}),
    ApiRequest("get", "/ops/{op}", "what `tfport ops NAME --json` prints", "OpsReport"),
    ApiRequest("post", "/explain", "what `tfport explain TEXT --json` prints", "Explained",
              body={"text": STRING}, required=("text",)),
]  # fmt: skip
ERRORS = {
    400: "The request is invalid.",
    401: "The token is missing or wrong.",
    403: "The path is outside of what was allowed.",
    404: "There is no such model, graph, node, job or upload.",
    413: "The body is too large.",
    421: "The request is for another host name.",
    422: "The model cannot be read.",
    429: "Too many jobs are running.",
}


def document() -> Json:
    """The whole document."""
    paths: dict[str, Json] = {}
    for request in REQUESTS:
        paths.setdefault(PREFIX + request.path, {})[request.method] = _described(request)
    names = sorted({request.answer for request in REQUESTS})
    schemas = {name: {"type": "object", "properties": {"version": {"const": 1}}} for name in names}
    schemas["Error"] = object_schema("error", error=STRING)
    return {
        "openapi": "3.1.0",
        "info": {"title": "tfport ui", "version": version("tfport"), "description": __doc__ or ""},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "tfport-…"},
            },
        },
        "security": [{"token": []}, {"cookie": []}],
    }


def _described(request: ApiRequest) -> Json:
    names = (part[1:-1] for part in request.path.split("/") if part.startswith("{"))
    parameters = path_parameters(request.path, dict.fromkeys(names, STRING))
    parameters += [
        {"name": name, "in": "query", "description": what, "schema": STRING}
        for name, what in request.query.items()
    ]
    kind = {"Archive": "application/zip", "NpyFile": "application/octet-stream"}.get(
        request.answer, "application/json"
    )
    answer = {"description": request.summary, "content": {kind: {"schema": ref(request.answer)}}}
    errors = {
        str(status): {"description": text, "content": content("Error")} for status, text in ERRORS.items()
    }
    shown: Json = {
        "summary": request.summary,
        "parameters": parameters,
        "responses": {str(request.status): answer, **errors},
    }
    if request.raw:
        schema: Json = {"type": "string", "format": "binary"}
        shown["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": schema}}}
    elif request.body:
        schema = object_schema(" ".join(request.required), **request.body)
        shown["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return shown
