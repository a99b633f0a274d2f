"""The greeting of a server: examples that work as they are printed, written in one piece."""

import json
import shlex
import socket
import subprocess

from tests.recorded_models import MODELS
from tests.serve.models.exports import config_text, export, model
from tests.serve.process import COMMAND, FREE, PATIENCE, command, text_file, until

DEPENDENT = ("ragged", "sparse")
"""Models whose inputs are the parts of one tensor: their values depend on each other."""


def examples(lines: list[str]) -> list[tuple[str, dict]]:
    """Return the path and the body of each printed example."""
    words = [shlex.split(line) for line in lines if line.startswith("    curl ")]
    return [("/" + url.split("/", 3)[3], json.loads(body)) for _, _, body, url in words]


def greeting(*args: object) -> str:
    """Return what a server writes about itself: each packet of a datagram socket is one write."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.settimeout(PATIENCE)
    with ours, theirs, subprocess.Popen([*COMMAND, *map(str, args), *FREE], stderr=theirs) as server:
        try:
            while not (text := ours.recv(2**16).decode()).startswith("tfport serves"):
                pass
            return text
        finally:
            server.kill()


def test_the_greeting_is_written_in_one_piece(tmp_path):
    export(tmp_path / "m", 3)
    first, name, call = greeting(tmp_path / "m").splitlines()
    assert first.startswith("tfport serves gRPC at ")
    assert name == "  m, version 3"
    assert call.startswith("    curl -d '{\"instances\": [1.0]}' http://127.0.0.1:")


def test_examples_work_when_pasted(tmp_path):
    names = [path.name for path in sorted(MODELS.iterdir()) if (path / "saved_model.pb").exists()]
    chosen = [model(name, MODELS / name) for name in names if name not in DEPENDENT]
    file = text_file(tmp_path / "models.config", config_text(*chosen))
    with command(f"--model_config_file={file}") as server:
        until(lambda: "INFO signature model=" in server.output)  # logged after the greeting
        printed = examples(server.lines)
        assert len(printed) > 20
        for path, body in printed:
            status, answer = server.ask("POST", path, body)
            assert status == 200, (path, body, answer)
    first = dict(reversed(printed))
    assert first["/v1/models/half_plus_two:predict"] == {"instances": [[1.0]]}
    assert first["/v1/models/keras_sequential:predict"] == {"instances": [[1.0, 1.0, 1.0]]}
    assert first["/v1/models/random_numbers:predict"] == {"inputs": 1}
    assert not any("estimator" in path for path in first)  # its strings are encoded Examples
