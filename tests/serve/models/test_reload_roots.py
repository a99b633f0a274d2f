"""Clients cannot make a server read or write where the operator did not allow it."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
import pytest
from tests.serve.models.exports import config_of, config_text, export, model
from tests.serve.process import Command, command, text_file

from tfport.formats.proto import serving_api_pb2 as pb
from tfport.serve.models.reload_roots import ReloadRoots, default_roots
from tfport.serve.status import StatusError

NOTHING = config_of()
ROOTS = ["/models", "s3://bucket/models/", "gs://"]
ALLOWED = [
    *("/models/a", "/models", "/models//a/", "/models/x/../a", "file:///models/a"),
    *("s3://bucket/models/a", "S3://bucket/models/a/b", "gs://any/thing"),
]
REFUSED = [
    *("/model", "/models2/a", "/models/../etc", "/", "models/a", "file:///etc", "file://models/a"),
    *("http://10.0.0.1/models/a", "s3://bucket/other", "s3://bucket", "s3://bucket/models/../other"),
    *("s3://bucket/models/%2e%2e/other", "s3://bucket/models/a::http://10.0.0.1"),
    *("simplecache::http://10.0.0.1/models", "zip://a::s3://bucket/models/a", r"s3://bucket/models\..\other"),
]


@pytest.mark.parametrize("path", ALLOWED)
def test_paths_below_a_root_are_allowed(path):
    ReloadRoots(ROOTS).check(config_of(model("m", path)), NOTHING)


@pytest.mark.parametrize("path", REFUSED)
def test_other_paths_are_refused(path):
    config = config_of(model("a", "/models/a"), model("m", path.replace("\\", "\\\\")))
    with pytest.raises(StatusError, match=r"model m: base_path .* is outside the roots of --model_config"):
        ReloadRoots(ROOTS).check(config, NOTHING)
    ReloadRoots(ROOTS).check(config, config)  # what is in use already stays possible


def test_logs_are_written_below_a_root_only():
    log = 'logging_config {{ log_collector_config {{ filename_prefix: "{}" }} }}'
    ReloadRoots(ROOTS).check(config_of(model("m", "/models/a", log.format("/models/logs/a"))), NOTHING)
    with pytest.raises(StatusError, match=r"filename_prefix `/etc/cron\.d/a` is outside"):
        ReloadRoots(ROOTS).check(config_of(model("m", "/models/a", log.format("/etc/cron.d/a"))), NOTHING)


@pytest.mark.parametrize(
    ("base_path", "root"),
    [
        ("/models/a", "/models"),
        ("/models/a/", "/models"),
        ("/a", "/a"),
        ("file:///models/a", "/models"),
        ("s3://bucket/models/a", "s3://bucket/models"),
        ("s3://bucket/a", "s3://bucket"),
        ("s3://bucket", "s3://bucket"),
        ("http://host/a", "http://host"),
    ],
)
def test_by_default_the_folder_of_a_base_path_is_a_root(base_path, root):
    assert default_roots(config_of(model("m", base_path))) == [root]


# -- real servers


class Listening:
    """A server that only the model server should be able to reach: it notes who asks."""

    def __init__(self) -> None:
        asked = self.asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_error(404)

            do_HEAD = do_GET

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def reload(server: Command, *models: str, **more) -> str:
    """Send a configuration; return the status and its message."""
    request = pb.ReloadConfigRequest()
    request.config.CopyFrom(config_of(*models))
    with server.channel() as channel:
        call = channel.unary_unary("/tensorflow.serving.ModelService/HandleReloadConfigRequest")
        try:
            call(request.SerializeToString(), timeout=60, **more)
            return "OK"
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()}"


def test_a_client_cannot_make_the_server_fetch_from_elsewhere(tmp_path):
    inner, models, other = Listening(), tmp_path / "models", tmp_path / "other"
    for path in (models / "a", models / "b", other / "c"):
        export(path, 1)
    with command(models / "a", "--model_name=a") as server:
        a = model("a", models / "a")
        for path in (inner.url, f"{inner.url}/models/a", other / "c"):
            answer = reload(server, a, model("c", path))
            assert answer.startswith("PERMISSION_DENIED: model c: base_path"), answer
        assert server.ask("GET", "/v1/models/c")[0] == 404
        assert inner.asked == []
        assert reload(server, a, model("b", models / "b")) == "OK"
        assert [server.answers(name) for name in "ab"] == [1.0, 1.0]


def test_the_flag_names_the_roots_and_a_token_is_needed(tmp_path):
    for path in (tmp_path / "a", tmp_path / "other" / "b"):
        export(path, 1)
    tokens = text_file(tmp_path / "tokens", "secret\n")
    config = text_file(tmp_path / "models.config", config_text(model("a", tmp_path / "a")))
    flags = f"--model_config_file={config}", f"--auth_token_file={tokens}"
    with command(*flags, f"--model_config_reload_roots={tmp_path}/other") as server:
        b, token = model("b", tmp_path / "other" / "b"), {"metadata": [("authorization", "Bearer secret")]}
        assert reload(server, b).startswith("UNAUTHENTICATED")
        assert reload(server, b, model("c", tmp_path / "c"), **token).startswith("PERMISSION_DENIED")
        assert reload(server, b, **token) == "OK"
