"""Read and write the recorded answers of TensorFlow: one compressed file per family."""

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
    """For each case a list of arrays, or the text of an error."""
    path = EXPECTED / f"{family}.npz"
    if not path.exists():
        return {}
    with np.load(path) as file:
        index = json.loads(file["told"].tobytes())
        pool = file["pool"]
    return {
        name: entry if isinstance(entry, str) else [_unpacked(pool, *row) if row else None for row in entry]
        for name, entry in index["cases"].items()
    }


def write_answers(family: str, answers: dict[str, Any], version: str) -> None:
    pool, cases, at = bytearray(), {}, 0
    for name, answer in answers.items():
        if isinstance(answer, str):
            cases[name] = answer
            continue
        rows = []
        for array in answer:
            if array is None:
                rows.append(None)
                continue
            raw = _packed(array)
            rows.append([str(array.dtype), list(array.shape), at, len(raw)])
            pool += raw
            at += len(raw)
        cases[name] = rows
    index = json.dumps({"tensorflow": version, "cases": cases}, separators=(",", ":"), sort_keys=True)
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
    values, place = [], 0
    while place < len(raw):
        length = int.from_bytes(raw[place : place + 4], "little")
        values.append(raw[place + 4 : place + 4 + length])
        place += 4 + length
    out = np.empty(len(values), object)
    out[:] = values
    return out.reshape(shape)
