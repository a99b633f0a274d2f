"""Refused requests and connections can be seen: a log line with the reason and the client, and a count."""

import http.client
import json

import grpc
import pytest
from tests.serve.process import PATIENCE, Command, command, predict_over, text_file, until

from tfport.serve.monitoring.logs import MOST

MONITORING = 'prometheus_config { enable: true path: "/metrics" }'
BEARER = {"Authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def server(exports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("config")
    flags = [
        f"--monitoring_config_file={text_file(folder / 'monitoring.txt', MONITORING)}",
        f"--auth_token_file={text_file(folder / 'tokens', 'secret')}",
        "--rest_api_max_body_bytes=1000",
        "--log_format=json",
    ]
    with command(exports, *flags) as running:
        yield running


def refusals(server: Command) -> list[dict]:
    lines = [json.loads(line) for line in list(server.lines) if line.startswith("{")]
    return [line for line in lines if line["event"] == "refused"]


def count(server: Command, entrypoint: str, reason: str) -> int:
    page = server.ask("GET", "/metrics", **BEARER)[1]
    label = f'tfport_refused_total{{entrypoint="{entrypoint}",reason="{reason}"}} '
    return next((int(line.removeprefix(label)) for line in page.splitlines() if line.startswith(label)), 0)


@pytest.mark.parametrize(
    ("reason", "method", "path", "body", "headers"),
    [
        ("unauthenticated", "POST", "/v1/models/m:predict", b"{}", {"Authorization": "Bearer wrong"}),
        ("unauthenticated", "GET", "/v1/models", None, {}),
        ("unknown_path", "GET", "/nothing", None, BEARER),
        ("not_found", "GET", "/v2/nothing", None, BEARER),
        ("not_found", "POST", "/v1/models/absent:predict", b"{}", BEARER),
        ("invalid_argument", "POST", "/v1/models/m:predict", b"{", BEARER),
        ("body_too_large", "POST", "/v1/models/m:predict", b" " * 2000, BEARER),
        ("body_invalid", "POST", "/v1/models/m:predict", b"no gzip", {**BEARER, "Content-Encoding": "gzip"}),
    ],
)
def test_refused_rest_requests(server, reason, method, path, body, headers):
    before, logged = count(server, "REST", reason), len(refusals(server))
    client = http.client.HTTPConnection(server.host, server.rest, timeout=PATIENCE)
    client.request(method, path, body, headers)
    assert client.getresponse().status >= 400
    host, port = client.sock.getsockname() if client.sock else ("127.0.0.1", None)
    client.close()
    until(lambda: len(refusals(server)) > logged)
    line = refusals(server)[-1]
    fields = {"reason": reason, "entrypoint": "REST", "method": method, "path": path}
    assert fields.items() <= line.items()
    assert line["peer"] == f"{host}:{port}" if port else line["peer"].startswith(f"{host}:")
    assert "wrong" not in json.dumps(line)
    assert count(server, "REST", reason) == before + 1


@pytest.mark.parametrize(
    ("reason", "method", "metadata", "code"),
    [
        (
            "unauthenticated",
            "/tensorflow.serving.PredictionService/Predict",
            "Bearer wrong",
            "UNAUTHENTICATED",
        ),
        ("unknown_method", "/tensorflow.serving.PredictionService/Nothing", "Bearer secret", "UNIMPLEMENTED"),
        (
            "invalid_argument",
            "/tensorflow.serving.PredictionService/Predict",
            "Bearer secret",
            "INVALID_ARGUMENT",
        ),
    ],
)
def test_refused_grpc_calls(server, reason, method, metadata, code):
    before, logged = count(server, "GRPC", reason), len(refusals(server))
    with server.channel() as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(method)(b"\xff", metadata=[("authorization", metadata)], timeout=PATIENCE)
    assert caught.value.code().name == code
    until(lambda: len(refusals(server)) > logged)
    line = refusals(server)[-1]
    assert {"reason": reason, "entrypoint": "GRPC"}.items() <= line.items()
    assert line["method"] in (method, method.rpartition("/")[2])
    assert line["peer"].startswith("127.0.0.1:")
    assert count(server, "GRPC", reason) == before + 1


def test_many_refusals_leave_few_lines(exports, tmp_path):
    file = text_file(tmp_path / "tokens", "secret")
    with command(exports, f"--auth_token_file={file}", "--log_format=json") as server:
        with server.channel() as channel:
            assert predict_over(channel, 0, metadata=[("authorization", "Bearer secret")]) == [3.0]
        for _ in range(10 * MOST):
            assert server.ask("GET", "/v1/models")[0] == 401
        assert server.end() == 0
    lines = [line for line in refusals(server) if line["reason"] == "unauthenticated"]
    suppressed = sum(line.get("suppressed", 0) for line in lines)
    shown = [line for line in lines if "suppressed" not in line]
    assert len(shown) + suppressed == 10 * MOST
    assert suppressed
