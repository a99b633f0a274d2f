"""Audits of buckets by gcsfs and adlfs, with local servers of Google's and Azure's protocols.

Azure's server is azurite, of npm: `npm install azurite`, with its folder `node_modules/.bin` in PATH.
"""

import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from tests.audit.stores import NEW, small_store

from tfport.audit.audit import audit_store
from tfport.audit.database import AuditDatabase
from tfport.audit.examine import AuditQuestions
from tfport.audit.workers import WorkerLimits
from tfport.errors import Error

pytestmark = pytest.mark.filterwarnings("default")
STARTS_WITHIN = 300
"""Seconds."""
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The key of azurite's only account, which its documentation states."""


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


@contextmanager
def server(port, *command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for left in reversed(range(STARTS_WITHIN)):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert left, f"{command[0]} does not answer"
                time.sleep(1)
        yield
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def google(monkeypatch):
    pytest.importorskip("gcsfs")
    pytest.importorskip("gcp_storage_emulator")
    port = free_port()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    options = f"--port={port}", "--in-memory", "--default-bucket=models"
    with server(port, sys.executable, "-m", "gcp_storage_emulator", "start", *options):
        yield "gs"


@pytest.fixture
def azure(monkeypatch):
    adlfs = pytest.importorskip("adlfs")
    if (azurite := shutil.which("azurite-blob")) is None:
        pytest.skip("npm install azurite")
    port = free_port()
    monkeypatch.setenv(
        "AZURE_STORAGE_CONNECTION_STRING",
        f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={AZURITE_KEY};"
        f"BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;",
    )
    options = "--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--blobPort", str(port)
    with server(port, azurite, *options):
        adlfs.AzureBlobFileSystem().mkdir("models")
        yield "az"


@pytest.mark.parametrize("protocol", ["google", "azure"])
def test_an_audit_of_a_bucket(protocol, request, tmp_path):
    import fsspec

    scheme = request.getfixturevalue(protocol)
    bucket, store = f"{scheme}://models", small_store(tmp_path)
    for path in store.rglob("*"):
        if path.is_file():
            with fsspec.open(f"{bucket}/{path.relative_to(store)}", "wb") as file:
                file.write(path.read_bytes())
    found = [audited(address, tmp_path / f"{i}.sqlite") for i, address in enumerate((str(store), bucket))]
    assert len(found[0]) == 5
    assert found[0] == found[1]
    with pytest.raises(Error, match=f"{bucket}/nothing: no such folder"):
        audited(f"{bucket}/nothing", tmp_path / "nothing.sqlite")


def audited(address, output):
    """Each model, without the address of its store, and what became of it."""
    database = AuditDatabase(str(output))
    audit_store([address], AuditQuestions((NEW,)), database, WorkerLimits(1, 120, 4 << 30))
    rows = database.connection.execute(
        "SELECT path, status, version, bytes, verdict "
        "FROM models LEFT JOIN results USING (path) ORDER BY path"
    )
    return [(path.removeprefix(address), *rest) for path, *rest in rows.fetchall()]
