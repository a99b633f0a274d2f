"""`tfport serve s3://…` with a real S3 client and a mock S3 server.

Needs `s3fs` and `moto[server]`; skipped without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("s3fs", reason="pip install s3fs")
pytest.importorskip("moto.server", reason="pip install 'moto[server]'")
import boto3
from moto.server import ThreadedMotoServer
from tests.serve.models.exports import adder
from tests.serve.process import FREE, command, refused, until

Put = Callable[[str, bytes], object]


@pytest.fixture
def put(monkeypatch) -> Iterator[Put]:
    """Run a store with an empty bucket and return how to write to it; the environment points to it."""
    store = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    store.start()
    host, port = store.get_host_and_port()
    settings = {
        "ENDPOINT_URL": f"http://{host}:{port}",
        "ACCESS_KEY_ID": "x",
        "SECRET_ACCESS_KEY": "x",
        "DEFAULT_REGION": "us-east-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="models")
    yield lambda key, data: client.put_object(Bucket="models", Key=key, Body=data)
    store.stop()


def test_new_versions_in_an_object_store_are_served(put):
    put("m/1/saved_model.pb", adder(1))
    flags = ("--model_base_path=s3://models/m", "--model_name=m", "--max_num_load_retries=0")
    with command(*flags) as running:
        assert running.answers() == 1
        put("m/2/saved_model.pb", adder(2))
        until(lambda: running.answers() == 2)
        put("m/3/saved_model.pb", b"broken")
        until(lambda: running.statuses().get(3, ("", ""))[0] == "END")
        assert running.answers() == 2
        assert running.statuses()[3][1].startswith("models/m/3")
        assert running.end() == 0


def test_a_store_without_the_model_is_an_error(put):
    code, message = refused("--model_base_path=s3://models/none", "--model_name=m", *FREE)
    assert code == 2
    assert "s3://models/none" in message.splitlines()[-1]
