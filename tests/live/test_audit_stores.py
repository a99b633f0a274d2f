"""`tfport audit` of a bucket and of an MLflow registry, with the real clients.

Needs `s3fs` and `moto[server]`, or `mlflow-skinny` with `sqlalchemy` and `alembic`; skipped without them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.audit.stores import NEW, small_store
from tests.recorded_models import path_of

from tfport.cli.main import main


def test_a_bucket_is_audited_like_the_folder(tmp_path, monkeypatch, capsys):
    pytest.importorskip("s3fs", reason="pip install s3fs")
    pytest.importorskip("moto.server", reason="pip install 'moto[server]'")
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in (("ENDPOINT_URL", f"http://{host}:{port}"), ("ACCESS_KEY_ID", "x"),
                        ("SECRET_ACCESS_KEY", "x"), ("DEFAULT_REGION", "us-east-1")):  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", value)
    client, store = boto3.client("s3"), small_store(tmp_path)
    client.create_bucket(Bucket="models")
    for path in filter(Path.is_file, store.rglob("*")):
        client.put_object(Bucket="models", Key=str(path.relative_to(store)), Body=path.read_bytes())
    output = str(tmp_path / "audit.sqlite")
    remote, local = (_audit(address, output, capsys) for address in ("s3://models", str(store)))
    for key in ("models", "statuses", "formats", "targets", "causes", "bytes"):
        assert remote[key] == local[key], key
    server.stop()


def test_a_registry_names_versions_and_owners(tmp_path, monkeypatch, capsys):
    mlflow = pytest.importorskip("mlflow", reason="pip install mlflow-skinny sqlalchemy")
    pytest.importorskip("alembic")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    client = mlflow.MlflowClient()
    client.create_registered_model("half")
    for model in ("half_plus_two", "strings"):
        folder = tmp_path / model / "data/model"
        shutil.copytree(path_of(model), folder)
        client.create_model_version("half", f"file://{tmp_path}/{model}")
    summary = _audit("models:/half", str(tmp_path / "audit.sqlite"), capsys)
    assert summary["models"] == 2
    (change,) = summary["signature_changes"]
    assert (change["name"], change["before"], change["after"]) == ("half", "1", "2")


def _audit(store, output, capsys):
    main(["audit", store, "--on", NEW, "--jobs", "1", "-o", output, "--json"])
    return json.loads(capsys.readouterr().out)
