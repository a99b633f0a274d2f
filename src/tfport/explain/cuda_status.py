"""Look up what a status of CUDA or cuDNN means."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

from tfport.atlas.target import Target
from tfport.explain.cuda import cuda_on_target
from tfport.explain.lookup import Meaning, MessageMatch

TABLE = Path(__file__).with_name("cuda_status.toml")
SUCCESS = "SUCCESS"
LENGTH = 200
"""How many characters of a message may contain its status."""


def cudnn_status(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What a status of cuDNN means; None for SUCCESS."""
    status = match.names["status"]
    if status == SUCCESS:
        return None
    ways = ["set `TF_FORCE_GPU_ALLOW_GROWTH=true`; nvidia-smi shows which process uses the memory"]
    ways.append("look for `Loaded runtime CuDNN library` and the first CUDA error in the log")
    return Meaning(_fact("cudnn", status), ways, cuda_on_target(target))


def driver_status(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What a status of the CUDA driver means; None for SUCCESS."""
    status = match.names["status"]
    return None if status == SUCCESS else Meaning(_fact("driver", status), on_target=cuda_on_target(target))


def runtime_status(match: MessageMatch, target: Target | None) -> Meaning:
    """What the words of CUDA's runtime mean."""
    text = match.text[:LENGTH]
    row = next(row for row in _table()["runtime"] if row["says"] in text)
    return Meaning(row["means"], row["ways_out"], cuda_on_target(target))


def _fact(product: str, status: str) -> list[str]:
    meaning = _table()[product].get(status)
    return [f"This means that {meaning}."] if meaning else []


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))
