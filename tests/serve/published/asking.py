"""Send one row of the tables to a server, and check its answer."""

from __future__ import annotations

import base64
import http.client
import json
import math
from typing import Any

import grpc
import numpy as np
from google.protobuf import text_format
from google.protobuf.json_format import MessageToDict
from tests.recorded_models import load
from tests.serve.process import PATIENCE, Command
from tests.serve.published.cases import Row, expanded

from tfport.formats.proto import serving_api_pb2, serving_pb2

NEW = "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"
METHODS: dict[str, tuple[str, Any, Any]] = {
    "Predict": (NEW[0], serving_pb2.PredictRequest, serving_api_pb2.PredictResponse),
    "Classify": (NEW[0], serving_pb2.ClassificationRequest, serving_api_pb2.ClassificationResponse),
    "Regress": (NEW[0], serving_pb2.RegressionRequest, serving_api_pb2.RegressionResponse),
    "MultiInference": (NEW[0], serving_pb2.MultiInferenceRequest, serving_api_pb2.MultiInferenceResponse),
    "GetModelMetadata": (
        NEW[0],
        serving_api_pb2.GetModelMetadataRequest,
        serving_api_pb2.GetModelMetadataResponse,
    ),
    "GetModelStatus": (NEW[1], serving_api_pb2.GetModelStatusRequest, serving_api_pb2.GetModelStatusResponse),
    "HandleReloadConfigRequest": (
        NEW[1],
        serving_api_pb2.ReloadConfigRequest,
        serving_api_pb2.ReloadConfigResponse,
    ),
}


def check(server: Command, row: Row, channel: grpc.Channel | None = None) -> None:
    """Send a row and compare the answer."""
    if "call" in row:
        with channel or server.channel() as opened:
            _check_call(opened, row)
    else:
        _check_rest(server, row)


def _check_call(channel: grpc.Channel, row: Row) -> None:
    service, request, response = METHODS[row["call"]]
    call = channel.unary_unary(
        f"/{service}/{row['call']}",
        request.SerializeToString,
        response.FromString,
    )
    try:
        answer, code, message = call(text_format.Parse(row["request"], request()), timeout=PATIENCE), "OK", ""
    except grpc.RpcError as error:
        answer, code, message = None, error.code().name, error.details()
    assert (code, message) == (row.get("code", "OK"), _fitting(message, row))
    if "metadata_of" in row:
        signatures = serving_api_pb2.SignatureDefMap.FromString(answer.metadata["signature_def"].value)
        assert dict(signatures.signature_def) == dict(load(row["metadata_of"]).meta.signature_def)
        assert (answer.model_spec.name, answer.model_spec.version.value) == (row["metadata_of"], 123)
    elif "answer" in row:
        assert answer == text_format.Parse(row["answer"], response())


def _check_rest(server: Command, row: Row) -> None:
    method, path = _target(row)
    status, kind, content = _sent(server, method, path, expanded(row.get("body", "")), row.get("headers", {}))
    failing = "error" in row or "error_is" in row
    assert status == row.get("status", 400 if failing else 200), content[:1000]
    if failing:
        message = json.loads(content)["error"]
        assert message == _fitting(message, row)
    elif "metadata_of" in row:
        assert json.loads(content) == _metadata(row["metadata_of"])
    elif "examples" in row:
        _check_examples(json.loads(content)["results"], row["examples"])
    elif "text" in row:
        assert row["text"] in content.decode()
    elif "answer" in row:
        assert kind == "application/json"
        _check_json(content, row)


def _target(row: Row) -> tuple[str, str]:
    method, path = (
        row["ask"].split()
        if "ask" in row
        else ("POST", row["post"])
        if "post" in row
        else ("GET", row["get"])
    )
    return method, path if path.startswith("/") else f"/v1/models/{path}"


def _sent(
    server: Command, method: str, path: str, body: bytes, headers: dict[str, str]
) -> tuple[int, str, bytes]:
    client = http.client.HTTPConnection(server.host, server.rest, timeout=PATIENCE)
    try:
        client.request(method, path, body or None, headers)
        answer = client.getresponse()
        return answer.status, answer.headers.get("Content-Type", ""), answer.read()
    finally:
        client.close()


def _fitting(message: str, row: Row) -> str:
    """The expected message: the actual one, if the row has only a part that is in it."""
    if "error_is" in row:
        return str(row["error_is"])
    part = row.get("error", "")
    return message if part in message else f"…{part}…"


def _check_json(content: bytes, row: Row) -> None:
    text = expanded(row["answer"])
    if row.get("as_text"):
        kinds = {"parse_float": str, "parse_int": str, "parse_constant": str}
        assert json.loads(content, **kinds) == json.loads(text, **kinds)
    else:
        actual, expected = json.loads(content), json.loads(text)
        assert _same(actual, expected, single=row.get("float32", False)), content[:1000]


def _same(a: Any, b: Any, *, single: bool) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key], single=single) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(*pair, single=single) for pair in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    if single:
        return bool(np.float32(a) == np.float32(b))
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _check_examples(results: list[Any], texts: list[str]) -> None:
    expected = [text_format.Parse(text, serving_pb2.Example()) for text in texts]
    if isinstance(results[0], list):
        labels = [base64.urlsafe_b64decode(row[0][0]) for row in results]
        assert [str(serving_pb2.Example.FromString(label)) for label in labels] == list(map(str, expected))
    else:  # the message of a context comes before that of each Example
        assert len(results) == len(expected)
        assert all(size >= example.ByteSize() for size, example in zip(results, expected, strict=True))


def _metadata(name: str) -> dict[str, Any]:
    signatures = {
        key: MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        for key, message in load(name).meta.signature_def.items()
    }
    spec = {"name": name, "signature_name": "", "version": "123"}
    return {"model_spec": spec, "metadata": {"signature_def": {"signature_def": signatures}}}
