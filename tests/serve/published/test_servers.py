"""TensorFlow Serving's published cases that need a server of their own: configurations, reloads, warm-up."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import text_format
from tests.serve.process import Command, command, refused, text_file, until
from tests.serve.published.asking import check
from tests.serve.published.cases import Row, rows, steps
from tests.serve.published.models import VERSION, write_models

from tfport.formats.encoding.tfrecord import record
from tfport.formats.proto import serving_pb2
from tfport.formats.saved_model.warmup import WARMUP

ROWS = [pytest.param(row, id=row["name"]) for row in rows("servers.toml")]
DEFAULT = (
    'model_config_list { config { name: "m" base_path: "{half_plus_two}" model_platform: "tensorflow" } }'
)
WARMED = """model_config_list { config { name: "m" base_path: "{half_plus_two}" model_platform: "tensorflow" }
                                config { name: "w" base_path: "{warmed}" model_platform: "tensorflow" } }"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("models")
    folders = write_models(base)
    batching = (
        "max_batch_size { value: 128 } batch_timeout_micros { value: 0 } num_batch_threads { value: 8 }"
    )
    folders["batching"] = text_file(base / "batching.config", batching)
    folders["monitoring"] = text_file(base / "monitoring.config", "prometheus_config { enable: true }")
    return folders


class Place:
    """Folders of models by name, and the texts of rows with them."""

    def __init__(self, row: Row, folders: dict[str, Path], scratch: Path) -> None:
        self.folders = {**folders, "socket": scratch / "grpc.sock", "warmed": scratch / "warmed"}
        self.file = scratch / "models.config"
        if is_warmed := any(name.startswith("warm_up") for name in row):
            shutil.copytree(folders["half_plus_two"], self.folders["warmed"])
            file = self.folders["warmed"] / VERSION / WARMUP
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(warm_up_of(row))
        self.write(row.get("config", WARMED if is_warmed else DEFAULT))
        own = ["--max_num_load_retries=0"] if is_warmed else []
        self.flags = [f"--model_config_file={self.file}", *own, *map(self.fill, row.get("flags", []))]

    def fill(self, text: str) -> str:
        for name, folder in self.folders.items():
            text = text.replace(f"{{{name}}}", str(folder))
        return text

    def write(self, config: str) -> None:
        text_file(self.file, self.fill(config))


def warm_up_of(row: Row) -> bytes:
    """The warm-up file of a row: logs as text protos, records as text, or the whole file as text."""
    if "warm_up_bytes" in row:
        return str(row["warm_up_bytes"]).encode()
    if "warm_up_records" in row:
        return b"".join(record(text.encode()) for text in row["warm_up_records"])
    logs = [text_format.Parse(text, serving_pb2.PredictionLog()) for text in row["warm_up"]]
    return b"".join(record(log.SerializeToString()) for log in logs) * row.get("times", 1)


@pytest.mark.parametrize("row", ROWS)
def test_servers_behave_as_tensorflow_serving(tmp_path, folders, row: Row):
    place = Place(row, folders, tmp_path)
    with deviating(row):
        if "fails" in row and "deviates" in row:
            with command(*place.flags):
                raise AssertionError("it starts")
        if "fails" in row:
            code, output = refused(*place.flags, "--port=-1", "--rest_api_port=-1")
            assert code == 2
            assert row["fails"] in output
            return
        with command(*place.flags) as server:
            for step in steps(row):
                take(server, place, step)


@contextmanager
def deviating(row: Row) -> Iterator[None]:
    """Expect that a case fails if its row says so."""
    if "deviates" not in row:
        yield
        return
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        yield


def take(server: Command, place: Place, step: Row) -> None:
    if "reload" in step:
        config = f"config {{ model_config_list {{ {place.fill(step['reload'])} }} }}"
        check(server, {**step, "call": "HandleReloadConfigRequest", "request": config})
    elif "write" in step:
        place.write(step["write"])
    elif "wait" in step:
        wanted = {int(version): state for version, state in step["wait"]["states"].items()}
        until(lambda: states(server, step["wait"]["model"]) == wanted)
    elif "ended" in step:
        until(lambda: states(server, "w").get(123) == "END")
        (status,) = server.ask("GET", "/v1/models/w")[1]["model_version_status"]
        assert status["status"]["error_code"] == step["ended"]
        message = status["status"]["error_message"]
        assert message == step["error_is"] if "error_is" in step else step["error"] in message
    else:
        check(
            server,
            step,
            grpc.insecure_channel(f"unix:{place.folders['socket']}") if "over_socket" in step else None,
        )


def states(server: Command, model: str) -> dict[int, Any]:
    status, answer = server.ask("GET", f"/v1/models/{model}")
    versions = answer["model_version_status"] if status == 200 else []
    return {int(version["version"]): version["state"] for version in versions}
