"""What a release said, in the form that is kept: tests/truth/said/PACKAGE-RELEASE.json.

A line for each case and loader: `stage` (null where it ran, else "load" or "run"),
`says`, the `signature` whose run failed, and `loader_log`, the verdict that the real
C++ loader logged where the load that is enacted ended otherwise.
"""

import json
import re
import socket
from pathlib import Path
from typing import Any

LONGEST = 300
VERDICT = re.compile(
    r"SavedModel load for tags \{.*?\}; Status: (?P<status>.*?)\. Took"
    r"|Loading SavedModel: (?P<before>\w+)\. Took",  # until 1.5
    re.S,
)
UNREADABLE = "as text proto"
VARIES = [
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: "), ""),
    (re.compile(r"\b([FEWI])\d{4} \d\d:\d\d:\d+\.\d+ +\d+ "), r"\1 "),
    (re.compile(r"goo\.gle/debug\w+"), "goo.gle/debug…"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x…"),
    (re.compile(r"(?<=time = )\w{3} \w{3} +\d+ [\d:]{8} \d{4}"), "…"),
]
"""What differs from run to run, and what stands for it."""
ATTRS = re.compile(r"(?<=with these attrs: \[).*(?=\]$)", re.M)
"""The attributes of a node, in any order."""
ATTR = re.compile(r", (?=\w+=)")

Said = dict[str, dict[str, Any]]
"""By case and loader."""


def told(answers: dict[str, dict], model: Path) -> dict[str, Any]:
    """The answers of both loaders about one model, as they are kept."""
    real = answers["capi"]
    if "serving" not in answers or UNREADABLE in real["says"]:
        answers["serving"] = real  # nothing to enact: both read the file alike
    out = {loader: kept(answer, model) for loader, answer in answers.items()}
    verdict = VERDICT.search(real["log"])
    logged = (verdict["status"] or verdict["before"]) if verdict else None
    if logged and logged.startswith("success") != (answers["serving"]["stage"] != "load"):
        out["serving"]["loader_log"] = nameless(logged, model)[:LONGEST]
    return out


def kept(answer: dict, model: Path) -> dict[str, Any]:
    out = {"stage": answer["stage"], "says": nameless(answer["says"], model)[:LONGEST]}
    return out | ({"signature": answer["signature"]} if answer["stage"] == "run" else {})


def nameless(message: str, model: Path) -> str:
    """The message without what only this machine, or this run, says."""
    message = message.replace(str(model), "MODEL").replace(socket.gethostname(), "HOST")
    for pattern, name in VARIES:
        message = pattern.sub(name, message)
    return ATTRS.sub(lambda found: ", ".join(sorted(ATTR.split(found[0]))), message)


def write(out: Path, head: dict[str, str], said: Said) -> None:
    rows = [f"{json.dumps(case)}: {{\n{lines(by_loader)}}}" for case, by_loader in sorted(said.items())]
    out.parent.mkdir(exist_ok=True)
    start = json.dumps(head, indent=0).removesuffix("\n}")
    out.write_text(start + ',\n"said": {\n' + ",\n".join(rows) + "\n}}\n")


def lines(by_loader: dict[str, Any]) -> str:
    return ",\n".join(
        f" {json.dumps(loader)}: {json.dumps(answer, ensure_ascii=False)}"
        for loader, answer in sorted(by_loader.items())
    )


def summary(said: Said) -> str:
    stages = [
        (loader, a["stage"] or "runs") for by_loader in said.values() for loader, a in by_loader.items()
    ]
    counted = {stage: stages.count(stage) for stage in sorted(set(stages))}
    counts = ", ".join(f"{loader} {stage} {count}" for (loader, stage), count in counted.items())
    differ = sum("loader_log" in by_loader["serving"] for by_loader in said.values())
    return f"{len(said)} cases: {counts}; {differ} logged otherwise"
