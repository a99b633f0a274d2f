"""Compare the recorded answers of TensorFlow Text's ops with those of other releases.

    python -m tests.live.compare_text_releases PYTHON…      from the root of the repository

Each PYTHON has a release of tensorflow-text. Writes `tests/expected/text_releases.json`: for each release how
many of the cases in `tests/runtime/ops/text` have the recorded answer (2.21.1), how many the release cannot
run since it lacks the op or an attribute, and the names of those that it answers in another way.
"""

from __future__ import annotations

import importlib
import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.live.record_old_ops import ROOT, WORKER, serialize, unpacked
from tests.runtime.answers import recorded_answers

OUT = ROOT / "tests/expected/text_releases.json"
FAMILIES = ("sentencepiece", "text_decisions", "text_forms", "text_parts", "wordpiece")
ABSENT = ("Op type not registered", "NodeDef mentions attr", "not a valid", "Could not find device")


def answers(python: str, cases: list[Any]) -> tuple[str, list[Any]]:
    with tempfile.TemporaryDirectory() as folder:
        request, response = Path(folder) / "requests", Path(folder) / "answers"
        request.write_bytes(pickle.dumps([serialize(c) for c in cases], protocol=4))
        subprocess.run([python, WORKER, request, response], check=True, stderr=subprocess.DEVNULL)
        version, found = pickle.loads(response.read_bytes())
        return str(version), found


def is_absent(answer: Any) -> bool:
    return isinstance(answer, str) and any(words in answer for words in ABSENT)


def is_same(answer: Any, expected: Any) -> bool:
    if isinstance(answer, str) or isinstance(expected, str):
        return isinstance(answer, str) and isinstance(expected, str)
    pairs = zip((a and unpacked(*a) for a in answer), expected, strict=True)
    return all(np.array_equal(a, b) and np.shape(a) == np.shape(b) for a, b in pairs)


def compared(python: str) -> tuple[str, dict[str, Any]]:
    rows = []
    for family in FAMILIES:
        cases = importlib.import_module(f"tests.runtime.ops.text.test_{family}").OLD_CASES
        version, found = answers(python, cases)
        rows += [
            (c, answer, recorded_answers(family)[str(c)]) for c, answer in zip(cases, found, strict=True)
        ]
    present = [row for row in rows if not is_absent(row[1])]
    others = {
        str(c): answer[:200] if isinstance(answer, str) else "answers otherwise"
        for c, answer, expected in present
        if not is_same(answer, expected)
    }
    same = len(present) - len(others)
    return version, {"same": same, "absent": len(rows) - len(present), "others": others}


def main() -> None:
    known = json.loads(OUT.read_text()) if OUT.exists() else {}
    for python in sys.argv[1:]:
        version, row = compared(python)
        known[version] = row
        OUT.write_text(json.dumps(known, indent=1) + "\n")
        print(version, row["same"], row["absent"], json.dumps(row["others"], indent=1)[:3000], flush=True)


if __name__ == "__main__":
    main()
