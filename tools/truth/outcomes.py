"""Turn answers of the probes into outcomes: the form recorded in tests/truth/outcomes.json.xz.

An outcome has `stage` (null if every signature ran, else "load" or "run"), `message`
(what TensorFlow reported), the `signature` whose run failed, and `loader_log`: the
verdict that the real C++ loader logged, if it differs from that of the simulated one.
`tests/truth_outcomes.py` reads and writes the file.
"""

import re
import socket
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

from tests.truth_outcomes import read_outcomes, write_record

ROOT = Path(__file__).parents[2]
LONGEST = 300
VERDICT = re.compile(
    r"SavedModel load for tags \{.*?\}; Status: (?P<status>.*?)\. Took"
    r"|Loading SavedModel: (?P<before>\w+)\. Took",  # until 1.5
    re.S,
)
UNREADABLE = "as text proto"
VARYING = [
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: "), ""),
    (re.compile(r"\b([FEWI])\d{4} \d\d:\d\d:\d+\.\d+ +\d+ "), r"\1 "),
    (re.compile(r"goo\.gle/debug\w+"), "goo.gle/debug…"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x…"),
    (re.compile(r"(?<=time = )\w{3} \w{3} +\d+ [\d:]{8} \d{4}"), "…"),
]
"""Text that differs from run to run, and its replacement."""
ATTRS = re.compile(r"(?<=with these attrs: \[).*(?=\]$)", re.M)
"""The attributes of a node, in any order."""
ATTR = re.compile(r", (?=\w+=)")

Outcomes = dict[str, dict[str, Any]]
"""Outcomes by case and loader."""


def update_outcomes(name: str, header: dict[str, str], outcomes: Outcomes, cases: set[str]) -> Outcomes:
    """Merge outcomes into the record of this name; drop cases that no longer exist.

    Other cases and other loaders of the record stay. Return all its outcomes.
    """
    merged = read_outcomes().get(name, {}).get("outcomes", {})
    for case, by_loader in outcomes.items():
        merged[case] = merged.get(case, {}) | by_loader
    merged = {case: by_loader for case, by_loader in merged.items() if case in cases}
    write_record(name, {**header, "outcomes": merged})
    return merged


def capi_outcomes(answers: dict[str, dict], model: Path) -> dict[str, Any]:
    """Return the outcomes of both C API loaders for one model."""
    capi = answers["capi"]
    if "serving" not in answers or UNREADABLE in capi["message"]:
        answers["serving"] = capi  # nothing to simulate: both read the file in the same way
    outcomes = {loader: capi_outcome(answer, model) for loader, answer in answers.items()}
    verdict = VERDICT.search(capi["log"])
    logged = (verdict["status"] or verdict["before"]) if verdict else None
    if logged and logged.startswith("success") != (answers["serving"]["stage"] != "load"):
        outcomes["serving"]["loader_log"] = normalize(logged, model)[:LONGEST]
    return outcomes


def capi_outcome(answer: dict, model: Path) -> dict[str, Any]:
    outcome = {"stage": answer["stage"], "message": normalize(answer["message"], model)[:LONGEST]}
    return outcome | ({"signature": answer["signature"]} if answer["stage"] == "run" else {})


def normalize(message: str, model: Path) -> str:
    """Remove from a message what is specific to this machine or this run."""
    message = message.replace(str(model), "MODEL").replace(socket.gethostname(), "HOST")
    for pattern, replacement in VARYING:
        message = pattern.sub(replacement, message)
    return ATTRS.sub(lambda match: ", ".join(sorted(ATTR.split(match[0]))), message)


def summary(outcomes: Outcomes) -> str:
    """Count the outcomes by loader and stage, in one line."""
    stages = [
        (loader, outcome["stage"] or "runs")
        for by_loader in outcomes.values()
        for loader, outcome in by_loader.items()
    ]
    counts = ", ".join(
        f"{loader} {stage} {stages.count((loader, stage))}" for loader, stage in sorted(set(stages))
    )
    differ = sum("loader_log" in by_loader.get("serving", {}) for by_loader in outcomes.values())
    return f"{len(outcomes)} cases: {counts}" + (f"; {differ} logged differently" if differ else "")
