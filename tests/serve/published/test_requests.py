"""TensorFlow Serving's published cases, one request each, to servers with models as in its tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.serve.process import Command, command, text_file
from tests.serve.published.asking import check
from tests.serve.published.cases import Row, rows, steps
from tests.serve.published.models import write_models

FILES = [
    "json_tensors.toml",
    "examples_json.toml",
    "rest_api.toml",
    "predict.toml",
    "classify.toml",
    "regress.toml",
    "multi_inference.toml",
    "metadata_and_status.toml",
]
ROWS = [pytest.param(row, id=f"{file}: {row['name']}") for file in FILES for row in rows(file)]
LABELS = {"half_plus_two": {"Version_Label": 123}, "two_versions": {"one": 123, "two": 124}}


def config_of(name: str, folder: object) -> str:
    labels = "".join(f'version_labels {{ key: "{k}" value: {v} }} ' for k, v in LABELS.get(name, {}).items())
    return (
        f'config {{ name: "{name}" base_path: "{folder}" model_platform: "tensorflow" '
        f"model_version_policy {{ all {{ }} }} {labels}}}"
    )


class Servers:
    """A server for each set of flags, started when it is first needed."""

    def __init__(self, config: object) -> None:
        self.config, self.running = config, {}

    def of(self, flags: list[str]) -> Command:
        key = tuple(flags)
        if key not in self.running:
            opened = command(
                f"--model_config_file={self.config}", "--allow_version_labels_for_unavailable_models", *flags
            )
            self.running[key] = opened, opened.__enter__()
        return self.running[key][1]

    def close(self) -> None:
        for opened, _ in self.running.values():
            opened.__exit__(None, None, None)


@pytest.fixture(scope="module")
def servers(tmp_path_factory) -> Iterator[Servers]:
    base = tmp_path_factory.mktemp("models")
    folders = {name: path for name, path in write_models(base).items() if name not in ("damaged", "lite")}
    models = " ".join(config_of(name, path) for name, path in sorted(folders.items()))
    all_servers = Servers(text_file(base / "models.config", f"model_config_list {{ {models} }}"))
    yield all_servers
    all_servers.close()


@pytest.mark.parametrize("row", ROWS)
def test_requests_are_answered_as_by_tensorflow_serving(servers: Servers, row: Row):
    server = servers.of(row.get("flags", []))
    if "deviates" in row:
        with pytest.raises(AssertionError):
            check(server, row)
        return
    for step in steps(row):
        check(server, step)
