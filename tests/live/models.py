"""Every model that live TensorFlow writes for the tests: a name, a builder, and the file to open.

    MODELS = [(function, file)]       `function(folder)` writes the model; `file` is "" for the folder

The shapes of things are in `models_v1` (graphs and sessions) and `models_v2` (functions and objects).
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.live import models_v1, models_v2

MODELS = models_v1.MODELS + models_v2.MODELS


def in_a_process_of_its_own(work: Callable[[], None], folder: Path) -> bool:
    """Run `work` in a copy of this process, in `folder`: TensorFlow's counters and switches start afresh."""
    sys.stdout.flush()
    if child := os.fork():
        return os.waitpid(child, 0)[1] == 0
    status = 1
    try:
        os.chdir(folder)
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def write(name: str, out: Path) -> Path:
    """Write the model of this name into `out`, whose parent becomes the current folder; the path to open."""
    build, file = {f.__name__: (f, file) for f, file in MODELS}[name]
    build(Path(out.name))
    return Path(out.name) / file
