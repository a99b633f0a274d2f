"""TLS over gRPC."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import grpc
import pytest
from tests.serve.grpc.server import HALF, never, serving

from tfport.errors import Error
from tfport.serve.grpc.options import GrpcOptions, Tls, read_ssl_config
from tfport.serve.grpc.server import GrpcServer
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.status import StatusCode


@pytest.fixture(scope="module")
def pems(tmp_path_factory) -> dict[str, bytes]:
    """An authority, and certificates for a server and a client that it signed."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by openssl")
    folder: Path = tmp_path_factory.mktemp("pems")
    new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    commands = [f"req -x509 {new} -keyout ca.key -out ca.pem -subj /CN=authority"]
    for who in ("server", "client"):
        commands += [
            f"req {new} -keyout {who}.key -out {who}.csr -subj /CN={who}",
            f"x509 -req -in {who}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names "
            f"-out {who}.pem",
        ]
    for command in commands:
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def ssl_config(pems: dict[str, bytes], *, verify: bool) -> Tls:
    quoted = {
        "server_key": pems["server.key"],
        "server_cert": pems["server.pem"],
        "custom_ca": pems["ca.pem"],
    }
    lines = [f'{name}: "{pem.decode()}"'.replace("\n", "\\n") for name, pem in quoted.items()]
    return read_ssl_config("\n".join([*lines, f"client_verify: {verify}".lower()]).encode(), "ssl.cfg")


@pytest.mark.parametrize(
    ("verify", "shows", "answered"),
    [(False, False, True), (True, True, True), (True, False, False)],
    ids=["tls", "mutual", "mutual without a certificate"],
)
def test_tls(pems, verify, shows, answered):
    async def test() -> None:
        async with serving(GrpcOptions(tls=ssl_config(pems, verify=verify))) as port:
            pair = (pems["client.key"], pems["client.pem"]) if shows else (None, None)
            trusted = grpc.ssl_channel_credentials(pems["ca.pem"], *pair)
            async with grpc.aio.secure_channel(f"127.0.0.1:{port.port}", trusted) as channel:
                if answered:
                    assert await port.ask("Predict", HALF, channel=channel)
                else:
                    code, _ = await port.refusal("Predict", HALF, channel=channel)
                    assert code is StatusCode.UNAVAILABLE

    asyncio.run(test())


BAD_TLS = [
    (Tls(b"", b""), "TLS needs a server certificate and a server key"),
    (Tls(b"x", b"y", verify=True), "no certificate authority for clients is configured"),
    (Tls(b"x", b"y"), "gRPC cannot listen on 127.0.0.1:0 with this certificate and key"),
]


@pytest.mark.parametrize(("tls", "message"), BAD_TLS, ids=["empty", "authority", "garbage"])
def test_certificates_that_are_none_are_an_error(tls, message):
    front = GrpcServer(ModelCatalog(), reload=never, options=GrpcOptions(port=0, tls=tls))
    with pytest.raises(Error, match=message):
        asyncio.run(front.start())


def test_a_key_is_not_shown():
    assert "secret" not in repr(Tls(b"certificate", b"secret"))
