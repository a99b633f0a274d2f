"""Files of a version that somebody overwrites in place, as `cp` does, while it is loaded or served."""

import asyncio
import os
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.serve.models.exports import adder, export, serving
from tests.serve.models.exports import until as become
from tests.serve.models.weighted import SIGNATURES, weighted
from tests.serve.process import Command, command, until

from tfport.serve.model_catalog import VersionState
from tfport.serve.models.config import one_model
from tfport.serve.models.loading import session_opener

DATA = "variables/variables.data-00000-of-00001"
ROUNDS = 40
"""Together they take longer than until the next look for versions, and a load."""


def answers(server: Command) -> dict[str, float]:
    """Return the value of the weights that each signature answers with."""
    values = {}
    for signature in SIGNATURES:
        request = {"signature_name": signature, "instances": [1299, 0]}
        status, body = server.ask("POST", "/v1/models/m:predict", request)
        assert status == 200, body
        first, second = body["predictions"]
        assert first == second
        values[signature] = first
    return values


def overwrite(file: Path, new: Path) -> None:
    shutil.copyfile(new, file)  # in place: truncated, then written


OVERWRITES = {
    "a smaller file": lambda file, folder: overwrite(file, weighted(folder, 2, rows=10) / DATA),
    "a file of the same size": lambda file, folder: overwrite(file, weighted(folder, 2) / DATA),
    "an empty file": lambda file, folder: os.truncate(file, 0),
    "no file": lambda file, folder: file.unlink(),
}


@pytest.mark.parametrize("name", OVERWRITES)
def test_a_loaded_version_answers_as_it_was_loaded(tmp_path, name):
    weighted(tmp_path / "m" / "1", 1)
    with command(tmp_path / "m") as server:
        OVERWRITES[name](tmp_path / "m" / "1" / DATA, tmp_path / "new")
        assert answers(server) == dict.fromkeys(SIGNATURES, 1.0)
        assert server.end(signal.SIGTERM) == 0


def test_overwriting_a_version_while_it_loads_under_load(tmp_path):
    weighted(tmp_path / "m" / "1", 1)
    small, whole = weighted(tmp_path / "small", 2, rows=10), weighted(tmp_path / "whole", 2)
    over = threading.Event()

    def ask() -> set[float]:
        values: set[float] = set()
        while not over.is_set():
            values.update(answers(server).values())
        return values

    with command(tmp_path / "m") as server, ThreadPoolExecutor(2) as pool:
        clients = [pool.submit(ask) for _ in range(2)]
        try:
            shutil.copytree(whole, tmp_path / "m" / "2")  # in place, too
            for _ in range(ROUNDS):
                overwrite(tmp_path / "m" / "2" / DATA, small / DATA)  # it does not fit the index
                for file in ("saved_model.pb", DATA):
                    overwrite(tmp_path / "m" / "2" / file, whole / file)
                time.sleep(0.05)
            until(lambda: answers(server) == dict.fromkeys(SIGNATURES, 2.0))
        finally:
            over.set()
        assert set().union(*(client.result() for client in clients)) <= {1.0, 2.0}
        assert server.end(signal.SIGTERM) == 0


def test_a_change_during_the_load_is_a_failed_load_and_tried_again(tmp_path):
    export(tmp_path, 1)
    attempts = []

    def opened(folder, settings):
        session = session_opener()(folder, settings)
        attempts.append(folder)
        if len(attempts) == 1:
            Path(folder, "saved_model.pb").write_bytes(adder(22))
        return session

    async def run():
        failed = []
        async with serving(one_model("m", str(tmp_path)), load=opened, on_attempt=failed.append) as served:
            await become(lambda: served.status(1).state is VersionState.AVAILABLE)
            assert await served.ask() == 22
        first = failed[0].message
        assert first == (
            f"{tmp_path}/1/saved_model.pb: changed while the model was loaded; "
            "write the files of a model elsewhere and rename their folder"
        )

    asyncio.run(run())
