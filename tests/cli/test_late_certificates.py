"""TLS contexts that read the certificates of the system when they are used."""

import ssl
import subprocess
import sys

import pytest
from tests.serve.rest.certificates import make

from tfport.cli.late_certificates import certificates_read_later

PROGRAM = """
import sys
from tfport.cli.main import main
main(sys.argv[1:])
from aiohttp.connector import _SSL_CONTEXT_VERIFIED, _SSL_CONTEXT_UNVERIFIED
print(type(_SSL_CONTEXT_VERIFIED).__name__, type(_SSL_CONTEXT_UNVERIFIED).__name__)
"""
WITHOUT_MODEL = (["serve"], ["ui", "missing", "--no-browser"])


@pytest.fixture
def trusted(tmp_path, monkeypatch):
    """Let the system trust one certificate."""
    certificate, _ = make(tmp_path, "authority")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))


def names(context):
    return [subject[0][0][1] for subject in (ca["subject"] for ca in context.get_ca_certs())]


@pytest.mark.usefixtures("trusted")
def test_a_context_has_the_certificates_when_it_connects():
    with certificates_read_later():
        context = ssl.create_default_context()
    assert names(context) == []
    context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    assert names(context) == ["authority"]
    assert type(context) is ssl.SSLContext


@pytest.mark.usefixtures("trusted")
def test_later_contexts_read_them_at_once():
    with certificates_read_later():
        pass
    assert names(ssl.create_default_context()) == ["authority"]


@pytest.mark.parametrize("command", WITHOUT_MODEL, ids=["serve", "ui"])
def test_a_server_does_not_read_them_to_import_aiohttp(command):
    program = [sys.executable, "-c", PROGRAM, *command]
    printed = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["LateCertificates"] * 2
