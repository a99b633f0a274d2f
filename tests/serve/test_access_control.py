"""TLS and bearer tokens of `tfport serve`."""

import http.client
import ssl

import grpc
import pytest
from google.protobuf import text_format
from tests.serve.process import GONE, PATIENCE, command, predict_over, until
from tests.serve.rest.certificates import make

from tfport.formats.proto import serving_api_pb2
from tfport.serve.v2.grpc import SERVICE


def ssl_config(folder, **more) -> str:
    certificate, key = folder / "server.pem", folder / "server.key"
    config = serving_api_pb2.SSLConfig(
        server_key=key.read_text(), server_cert=certificate.read_text(), **more
    )
    return text_format.MessageToString(config)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make(folder, "ca")
    for name in ("server", "client"):
        make(folder, name, "ca")
    make(folder, "stranger")
    (folder / "plain.ssl").write_text(ssl_config(folder))
    (folder / "mutual.ssl").write_text(
        ssl_config(folder, client_verify=True, custom_ca=(folder / "ca.pem").read_text())
    )
    return folder


def test_tls_and_tokens(certificates, exports, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("secret\n")
    tls = ssl.create_default_context(cafile=certificates / "ca.pem")
    flags = [f"--ssl_config_file={certificates / 'plain.ssl'}", f"--auth_token_file={tokens}"]
    with command(exports, *flags) as running:
        until(lambda: "curl -k -H" in running.output)
        path, body = "/v1/models/m:predict", {"instances": [1]}
        assert running.ask("POST", path, body, tls=tls)[0] == 401
        assert running.ask("POST", path, body, tls=tls, Authorization="Bearer other")[0] == 401
        assert running.ask("POST", path, body, tls=tls, Authorization="Bearer secret")[0] == 200
        for page in ("/v1/health/ready", "/v2/health/ready"):
            assert running.ask("GET", page, tls=tls)[0] == 200
        with pytest.raises(GONE):
            running.ask("GET", "/v1/models")
        credentials = grpc.ssl_channel_credentials((certificates / "ca.pem").read_bytes())
        with grpc.secure_channel(f"127.0.0.1:{running.grpc}", credentials) as channel:
            with pytest.raises(grpc.RpcError) as caught:
                predict_over(channel, 1)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
            assert predict_over(channel, 1, metadata=[("authorization", "Bearer secret")]) == [4.0]
            probes = (
                "/grpc.health.v1.Health/Check",
                *(f"/{SERVICE}/Server{word}" for word in ("Live", "Ready")),
            )
            for probe in probes:
                assert (
                    channel.unary_unary(probe)(b"", timeout=10) == b"\x08\x01"
                )  # field 1 is true, or SERVING
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary(f"/{SERVICE}/ServerMetadata")(b"", timeout=10)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_mutual_tls(certificates, exports):
    def context(name: str | None) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=certificates / "ca.pem")
        if name:
            made.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
        return made

    with command(exports, f"--ssl_config_file={certificates / 'mutual.ssl'}") as running:
        assert running.ask("GET", "/v1/models", tls=context("client"))[0] == 200
        for name in (None, "stranger"):
            with pytest.raises(GONE):
                running.ask("GET", "/v1/models", tls=context(name))
        ca = (certificates / "ca.pem").read_bytes()
        pair = [(certificates / f"client.{end}").read_bytes() for end in ("key", "pem")]
        address = f"127.0.0.1:{running.grpc}"
        with grpc.secure_channel(address, grpc.ssl_channel_credentials(ca, *pair)) as channel:
            assert predict_over(channel, 1) == [4.0]
        without = grpc.ssl_channel_credentials(ca)
        with grpc.secure_channel(address, without) as channel, pytest.raises(grpc.RpcError):
            predict_over(channel, 1)


def test_probes_need_no_certificate_on_the_health_port(certificates, exports, tmp_path):
    monitoring = tmp_path / "monitoring.txt"
    monitoring.write_text('prometheus_config { enable: true path: "/metrics" }')
    flags = [
        f"--ssl_config_file={certificates / 'mutual.ssl'}",
        f"--monitoring_config_file={monitoring}",
        "--health_port=-1",
    ]

    def page(path: str, method: str = "GET") -> tuple[int, str, str]:
        client = http.client.HTTPConnection(running.host, running.health, timeout=PATIENCE)
        client.request(method, path)
        answer = client.getresponse()
        text = answer.read().decode()
        client.close()
        return answer.status, text, answer.headers["Server"]

    with command(exports, *flags) as running:
        assert page("/v1/health/live") == (200, '{"status": "live"}', "tfport")
        assert page("/v1/health/ready") == (200, '{"status": "ready"}', "tfport")
        assert "tfport_refused_total" in page("/metrics")[1]
        for path in ("/v1/models", "/v1/models/m", "/v2", "/openapi.json", "/"):
            assert page(path)[0::2] == (404, "tfport")
        assert page("/v1/health/live", "POST")[0] == 405
        with pytest.raises(GONE):
            running.ask(
                "GET", "/v1/health/live", tls=ssl.create_default_context(cafile=certificates / "ca.pem")
            )
        until(lambda: "refused reason=tls_handshake entrypoint=REST peer=127.0.0.1:" in running.output)
        assert running.end() == 0
