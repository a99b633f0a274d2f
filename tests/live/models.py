"""All models that TensorFlow writes for the tests: a name, a builder, and the file to open.

    MODELS = [(function, file)]       `function(folder)` writes the model; `file` is "" for the folder

The builders are in `models_v1` (graphs and sessions), `models_v2` (functions and objects) and
`models_serving` (models as in TensorFlow Serving's tests).
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

from tests.live import models_serving, models_v1, models_v2

MODELS = models_v1.MODELS + models_v2.MODELS + models_serving.MODELS

# A fork server that has imported TensorFlow but not used it: its copies start fast and with fresh state.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.live.facts", "tests.live.loads", "tests.live.models"])


def in_own_process(folder: Path, work: Callable[..., None], *args: object) -> bool:
    """Do the work in a new process, with fresh TensorFlow state, in `folder`; return whether it succeeded."""
    process = processes.Process(target=in_folder, args=(folder, work, *args))
    process.start()
    process.join()
    return process.exitcode == 0


def in_folder(folder: Path, work: Callable[..., None], *args: object) -> None:
    os.chdir(folder)
    work(*args)


def write(name: str, out: Path) -> Path:
    """Write a model to `out`, relative to the current folder; return the path to open."""
    build, file = {f.__name__: (f, file) for f, file in MODELS}[name]
    build(Path(out.name))
    return Path(out.name) / file
