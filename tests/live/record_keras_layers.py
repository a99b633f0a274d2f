"""Record the answers of Keras releases to the cases of `tests/frontends/keras/layer_cases.py`.

    python -m tests.live.record_keras_layers [FAMILY] NAME=PYTHON…      from the root of the repository

NAME is `keras-3.15.1` or `tensorflow-2.4.4`, PYTHON the interpreter of an environment that has it. Other
releases and families stay as they are recorded. Answers that several releases gave are stored once.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.frontends.keras.layer_cases import named_cases
from tests.frontends.keras.recorded_layers import PREFIX, RECORDED

WORKER = Path(__file__).with_name("answer_keras_layers.py")
Arrays = dict[str, Any]
LEFT_OUT = {
    "keras-3.0.5": re.compile(r"rms_scaling|Transpose .*output_padding"),
    "keras-3.5.0": re.compile(r"Transpose .*output_padding"),
}
"""Cases with an option that a release does not store: no one can know it from its files."""


def main(arguments: list[str]) -> None:
    arrays: Arrays = dict(np.load(RECORDED)) if RECORDED.exists() else {}
    family = next((f"{argument}: " for argument in arguments if "=" not in argument), "")
    for entry in [argument for argument in arguments if "=" in argument]:
        name, _, python = entry.partition("=")
        add_release(name, answered(name, python, family), arrays, family)
        np.savez_compressed(RECORDED, **used(arrays))


def used(arrays: Arrays) -> Arrays:
    """The arrays without answers that no release gives any more."""
    releases = {key: facts for key, facts in arrays.items() if key.startswith(PREFIX)}
    records = [json.loads(bytes(facts))["cases"].values() for facts in releases.values()]
    answers = {record["answer"] for cases in records for record in cases}
    return {key: array for key, array in arrays.items() if key in releases or key in answers}


def answered(name: str, python: str, family: str) -> Arrays:
    """What a release answers to the cases of its major version."""
    every = named_cases(1 if name.startswith("keras-1.") else 3)
    cases = {case: layers for case, layers in every.items() if case.startswith(family)}
    with tempfile.TemporaryDirectory() as folder:
        questions, answers = Path(folder) / "cases.json", Path(folder) / "answers.npz"
        questions.write_text(json.dumps(cases))
        command = [python, str(WORKER), str(questions), str(answers), name.partition("-")[0]]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return dict(np.load(answers))


def add_release(name: str, answers: Arrays, arrays: Arrays, family: str) -> None:
    """Add a release, or one family of it: its configurations, and the answers that no other release gave."""
    facts = json.loads(bytes(answers.pop("answered")))
    skipped = {case: record["error"] for case, record in facts["cases"].items() if "error" in record}
    if name in LEFT_OUT:
        skipped |= {case: "left out" for case in facts["cases"] if LEFT_OUT[name].search(case)}
    facts["cases"] = {case: record for case, record in facts["cases"].items() if case not in skipped}
    for case, record in facts["cases"].items():
        record["answer"] = _stored(case, answers[case], arrays)
    before = json.loads(bytes(arrays[PREFIX + name]))["cases"] if PREFIX + name in arrays else {}
    others = {case: record for case, record in before.items() if not case.startswith(family)}
    facts["cases"] = {**others, **facts["cases"]}
    arrays[PREFIX + name] = np.frombuffer(json.dumps(facts, separators=(",", ":")).encode(), "u1")
    print(f"{name}: Keras {facts['version']} answers {len(facts['cases'])} cases, not {len(skipped)}")
    for case, error in skipped.items():
        print(f"    {case}: {error.splitlines()[0]}")


def _stored(case: str, answer: Any, arrays: Arrays) -> str:
    """The key of an answer; that of an equal one if there is one."""
    number = 0
    while (key := f"{case} {number}") in arrays:
        known = arrays[key]
        if known.shape == answer.shape and np.allclose(known, answer, rtol=1e-6, atol=1e-7, equal_nan=True):
            return key
        number += 1
    arrays[key] = answer
    return key


if __name__ == "__main__":
    main(sys.argv[1:])
