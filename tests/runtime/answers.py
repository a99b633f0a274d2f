"""TensorFlow's answers to cases, in one compressed file per family: arrays as they are, strings packed."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

EXPECTED = Path(__file__).parent.parent / "expected"


@functools.cache
def recorded_answers(family: str) -> dict[str, Any]:
    """By case: a list of arrays, or the text of an error."""
    path = EXPECTED / f"{family}.npz"
    if not path.exists():
        return {}
    with np.load(path) as file:
        told = json.loads(file["told"].tobytes())
        pool = file["pool"]
    found: dict[str, Any] = {}
    for name, said in told["cases"].items():
        found[name] = (
            said if isinstance(said, str) else [_unpacked(pool, *one) if one else None for one in said]
        )
    return found


def write_answers(family: str, answers: dict[str, Any], version: str) -> None:
    pool, told, at = bytearray(), {}, 0
    for name, given in answers.items():
        if isinstance(given, str):
            told[name] = given
            continue
        rows = []
        for array in given:
            if array is None:
                rows.append(None)
                continue
            raw = _packed(array)
            rows.append([str(array.dtype), list(array.shape), at, len(raw)])
            pool += raw
            at += len(raw)
        told[name] = rows
    index = json.dumps({"tensorflow": version, "cases": told}, separators=(",", ":"), sort_keys=True)
    EXPECTED.mkdir(exist_ok=True)
    np.savez_compressed(
        EXPECTED / f"{family}.npz",
        told=np.frombuffer(index.encode(), np.uint8),
        pool=np.frombuffer(bytes(pool), np.uint8),
    )


def _packed(array: Any) -> bytes:
    if array.dtype == object:
        flat = array.reshape(-1).tolist()
        return b"".join(len(s).to_bytes(4, "little") + s for s in flat)
    return np.ascontiguousarray(array).tobytes()


def _unpacked(pool: Any, dtype: str, shape: list[int], at: int, size: int) -> Any:
    raw = pool[at : at + size].tobytes()
    if dtype != "object":
        kind = np.dtype(getattr(ml_dtypes, dtype)) if hasattr(ml_dtypes, dtype) else np.dtype(dtype)
        return np.frombuffer(raw, kind).reshape(shape)
    found, place = [], 0
    while place < len(raw):
        length = int.from_bytes(raw[place : place + 4], "little")
        found.append(raw[place + 4 : place + 4 + length])
        place += 4 + length
    out = np.empty(len(found), object)
    out[:] = found
    return out.reshape(shape)
