"""Record an old TensorFlow's answers to cases (`OLD_CASES`) of ops that newer ones do not have.

    python -m tests.live.record_old_ops OLD_PYTHON FAMILY…      from the root of the repository

OLD_PYTHON is the interpreter of an environment that has the old TensorFlow:

    ~/.pyenv/versions/3.8.18/bin/python -m venv /tmp/tf24 && /tmp/tf24/bin/pip install tensorflow==2.4.4
"""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.runtime.answers import write_answers

WORKER = Path(__file__).with_name("answer_old_ops.py")
ROOT = Path(__file__).parents[2]
OPS = ROOT / "tests/runtime/ops"


def packed(array: Any) -> tuple[str, tuple[int, ...], Any]:
    if array.dtype == object:
        return "object", array.shape, array.reshape(-1).tolist()
    return str(array.dtype), array.shape, array.tobytes()


def unpacked(kind: str, shape: tuple[int, ...], data: Any) -> Any:
    if kind != "object":
        return np.frombuffer(data, kind).reshape(shape)
    out = np.empty(len(data), object)
    out[:] = data
    return out.reshape(shape)


def serialize(c: Any) -> tuple[bytes, dict[str, Any], list[str]]:
    graph_def, feeds = c.model("fed")
    return graph_def.SerializeToString(), {name: packed(array) for name, array in feeds.items()}, c.outputs()


def main(python: str, families: list[str]) -> None:
    for family in families:
        (path,) = OPS.rglob(f"test_{family}.py")
        cases = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)).OLD_CASES
        with tempfile.TemporaryDirectory() as folder:
            request, response = Path(folder) / "requests", Path(folder) / "answers"
            request.write_bytes(pickle.dumps([serialize(c) for c in cases], protocol=4))
            subprocess.run([python, WORKER, request, response], check=True, stderr=subprocess.DEVNULL)
            version, answers = pickle.loads(response.read_bytes())
        recorded = {}
        for c, answer in zip(cases, answers, strict=True):
            if isinstance(answer, str) != c.fails:
                print(f"{family}: {c}: {answer if isinstance(answer, str) else 'answers'}")
            recorded[str(c)] = answer if isinstance(answer, str) else [a and unpacked(*a) for a in answer]
        write_answers(family, recorded, version)
        print(f"recorded {family}: {len(recorded)} cases, {version}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
