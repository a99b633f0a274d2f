"""TLS, client certificates and tokens."""

import os
import ssl
from pathlib import Path

import aiohttp
import pytest
from tests.serve.rest.certificates import make
from tests.serve.rest.server import Port, with_port

from tfport.errors import Error
from tfport.serve import auth_tokens as auth
from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.tls import server_context

ASK = "POST", "/v1/models/half:predict", {"inputs": [0]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make(folder, "authority")
    make(folder, "server", "authority")
    make(folder, "client", "authority")
    make(folder, "stranger")
    return folder


def client_context(folder: Path, name: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=folder / "authority.pem")
    if name:
        context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context


def options_with(folder: Path, client_ca: str = "") -> RestOptions:
    pair = [(folder / name).read_bytes() for name in ("server.pem", "server.key")]
    authority = (folder / client_ca).read_bytes() if client_ca else b""
    return RestOptions(port=0, tls=server_context(*pair, authority, verify=bool(client_ca)))


def test_tls(folder):
    async def check(port: Port) -> None:
        assert await port.ask(*ASK, ssl=client_context(folder)) == (200, {"outputs": [2.0]})
        with pytest.raises(aiohttp.ClientError):
            await port.ask(*ASK)  # a client that does not know the authority
        with pytest.raises(aiohttp.ClientError):
            async with aiohttp.request("GET", f"http://127.0.0.1:{port.port}/v1/models"):
                pass

    with_port(check, options_with(folder))


def test_mutual_tls(folder):
    async def check(port: Port) -> None:
        assert (await port.ask(*ASK, ssl=client_context(folder, "client")))[0] == 200
        for name in (None, "stranger"):
            with pytest.raises((aiohttp.ClientError, OSError)):
                await port.ask(*ASK, ssl=client_context(folder, name))

    with_port(check, options_with(folder, "authority.pem"))


def test_wrong_certificates_are_one_sentence(folder):
    read = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(Error, match="do not match"):
        server_context(read["server.pem"], read["client.key"])
    with pytest.raises(Error, match="cannot read the certificate authority for clients"):
        server_context(read["server.pem"], read["server.key"], b"nonsense", verify=True)
    with pytest.raises(Error, match="no certificate authority"):
        server_context(read["server.pem"], read["server.key"], verify=True)


def test_a_token_is_required_except_for_health_checks(tmp_path):
    (tmp_path / "tokens").write_text("first\n\nsecond\n")

    async def check(port: Port) -> None:
        refused = {"error": "A valid bearer token is required"}
        for header in (None, "Bearer third", "Basic first", "first", "Bearer", "Bearer first second"):
            headers = {"Authorization": header} if header else {}
            assert await port.ask(*ASK, headers=headers) == (401, refused)
        for header in ("Bearer first", "bearer second", "Bearer  second "):
            assert (await port.ask(*ASK, headers={"Authorization": header}))[0] == 200
        for path, status in {
            "/v1/health/live": 200,
            "/v1/health/ready": 200,
            "/v2/health/live": 404,  # needs no token either
            "/v1/models": 401,
            "/openapi.json": 401,
            "/else": 401,
        }.items():
            assert (await port.ask("GET", path))[0] == status

    with_port(check, RestOptions(port=0, tokens=AuthTokens(str(tmp_path / "tokens"))))


def test_tokens_are_replaced_while_the_server_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(auth, "_CHECK_INTERVAL", 0.0)
    path = tmp_path / "tokens"
    path.write_text("old")
    tokens = AuthTokens(str(path))
    path.write_text("new")
    os.utime(path, ns=(1, 1))
    assert (tokens.allow("Bearer old"), tokens.allow("Bearer new")) == (False, True)


def _emptied(path):
    path.write_text("")


def _blank(path):
    path.write_text("\n \n")


def _not_text(path):
    path.write_bytes(b"\xff\xfe")


def _a_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("change", [_emptied, _blank, Path.unlink, _not_text, _a_folder])
def test_a_token_is_valid_only_while_the_file_contains_it(tmp_path, monkeypatch, caplog, change):
    monkeypatch.setattr(auth, "_CHECK_INTERVAL", 0.0)
    path = tmp_path / "tokens"
    path.write_text("secret")
    tokens = AuthTokens(str(path))
    assert tokens.allow("Bearer secret")
    change(path)
    for _ in range(3):
        assert not tokens.allow("Bearer secret")
        assert not tokens.allow("Bearer ")
    assert caplog.text.count("no request is allowed") == 1
    if path.is_dir():
        path.rmdir()
    path.write_text("secret")
    assert tokens.allow("Bearer secret")


def test_a_file_that_is_replaced_with_the_same_time_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(auth, "_CHECK_INTERVAL", 0.0)
    path, other = tmp_path / "tokens", tmp_path / "other"
    for file, text in ((path, "old"), (other, "new")):
        file.write_text(text)
        os.utime(file, ns=(1, 1))
    tokens = AuthTokens(str(path))
    other.rename(path)
    assert (tokens.allow("Bearer old"), tokens.allow("Bearer new")) == (False, True)


def test_a_file_without_tokens_is_refused(tmp_path):
    (tmp_path / "tokens").write_text("\n")
    with pytest.raises(Error, match="no token"):
        AuthTokens(str(tmp_path / "tokens"))
    with pytest.raises(Error, match="No such file"):
        AuthTokens(str(tmp_path / "absent"))
