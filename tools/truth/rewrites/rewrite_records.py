"""The recorded results: docs/truth/fix.json.xz, and the same as tables in fix.md.

A record is the outcome of one case on one target. A new record replaces only the old one of both.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3]))

from tests.compact_json import read_json, write_json

Record = dict[str, Any]
Records = dict[str, dict[str, Record]]
"""Records by case and target."""
Entry = tuple[str, str, Record]
HEAD = """# Rewritten models in real old releases

Written by `make evidence`; [fix.json.xz](fix.json.xz) has the details. `tfport fix` rewrote each
model, and the real binary of the target ran it through TensorFlow's C API: several times, each in a new
process and a session with the default options. Inputs come in several batch sizes; sequences of ids are
padded to different lengths. The outputs are compared with those of the original model, with the tolerances
of `tfport fix`: those of the narrowest type in which an output is computed.
"""
ABOUT_PAIRS = """*relative* is the largest difference of any run divided by the largest expected number,
*ulps* the distance in units in the last place, *varies* how much the expected outputs vary between inputs,
and *unsteady* how much the outputs vary between runs, both divided by the largest number. Releases round
differently, even if a rewrite keeps every bit.
"""
COLUMNS = (
    "case | written by | target | original there | rewritten | runs | absolute | relative | ulps | varies | "
    "unsteady | rules"
)
MEANINGS = {  # outcome: its column in the summary
    "same": "right",
    "not rewritten": "refused with a reason",
    "refused there": "rejected by the release",
    "differs": "different",
    "crashed": "crashed",
    "unknown": "not compared",
}
LONGEST, LONG = 90, 400


def read(file: Path) -> Records:
    return read_json(file) if file.exists() else {}


def write(file: Path, new: Records, cases: dict[str, Iterable[str]]) -> Records:
    """Merge new records into the file; records of removed cases and targets are dropped."""
    old, merged = read(file), {}
    for case, targets in cases.items():
        by_target = old.get(case, {}) | new.get(case, {})
        if kept := {target: by_target[target] for target in targets if target in by_target}:
            merged[case] = kept
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, merged)
    file.with_name(f"{file.name.partition('.')[0]}.md").write_text(page(merged))
    return merged


def page(records: Records) -> str:
    entries = [(case, target, e) for case, by_target in records.items() for target, e in by_target.items()]
    rows = [row(case, target, entry) for case, target, entry in entries]
    wheels = sorted({(e["binary"], e["wheel"], e["sha256"]) for _, _, e in entries if e["wheel"]})
    sections = [
        HEAD,
        f"{summary(entries)}\n",
        f"{repeated(entries)}\n",
        f"{by_release(entries)}\n",
        f"By tfport {', '.join(sorted({e['tfport'] for _, _, e in entries}))}.\n",
        "## Not right\n",
        table(["case", "target", "outcome"], [reason(*e) for e in entries if e[2]["outcome"] != "same"]),
        "## Pairs\n",
        ABOUT_PAIRS,
        table(COLUMNS.split(" | "), rows),
        "## Binaries\n",
        table(["release", "wheel", "SHA-256"], [[b, f"`{w}`", f"`{s}`"] for b, w, s in wheels]),
        "## References\n",
        table(["case", "reference"], sorted({(case, e["reference"]) for case, _, e in entries})),
    ]
    return "\n".join(sections)


def summary(entries: list[Entry]) -> str:
    runs = sum(e["runs"] for _, _, e in entries)
    counted = Counter(e["outcome"] for _, _, e in entries)
    outcomes = [f"{counted[o]} {meaning}" for o, meaning in MEANINGS.items() if counted[o]]
    models = len({case for case, _, _ in entries})
    return f"{models} models, {len(entries)} pairs, {runs} runs: {', '.join(outcomes)}."


def repeated(entries: list[Entry]) -> str:
    """How often pairs were run, and how many in an emulator."""
    counted = sorted(Counter(e["runs"] for _, _, e in entries if e["runs"]).items(), reverse=True)
    runs = [f"{pairs} pairs were run {times(often)}" for often, pairs in counted]
    emulated = sum(e["emulated"] for _, _, e in entries)
    machines = f" Of these, {emulated} ran in an x86-64 emulator." if emulated else ""
    return f"{', '.join(runs) or 'Nothing was run'}.{machines}"


def by_release(entries: list[Entry]) -> str:
    """How many pairs of each target have each outcome."""
    counted = {target: Counter[str]() for target in sorted({t for _, t, _ in entries}, key=release_order)}
    for _, target, entry in entries:
        counted[target][entry["outcome"]] += 1
    used = [o for o in MEANINGS if any(c[o] for c in counted.values())]
    rows = [
        [cell(short(target)), str(sum(c.values())), *(str(c[o]) for o in used)]
        for target, c in counted.items()
    ]
    return table(["target", "pairs", *(MEANINGS[o] for o in used)], rows)


def release_order(target: str) -> tuple[bool, list[int]]:
    header, _, release = target.rpartition("==")
    return "@" in header, [int(part) for part in release.split(".") if part.isdigit()]


def short(target: str) -> str:
    return target.removeprefix("tensorflow==")


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(columns)
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def reason(case: str, target: str, entry: Record) -> list[str]:
    """Why a pair is not right."""
    outcome = MEANINGS[entry["outcome"]]
    return [
        case,
        cell(short(target)),
        cell(f"{outcome}: {entry['says']}" if entry["says"] else outcome, LONG),
    ]


def row(case: str, target: str, entry: Record) -> list[str]:
    outcome = entry["outcome"] + (f": {cell(entry['says'])}" if entry["says"] else "")
    differences = [number(largest(entry, key)) for key in ("absolute", "relative", "ulps", "spread")]
    original = cell(entry["original"]) or "runs"
    runs = f"{entry['runs'] or ''}{' (emulated)' if entry['emulated'] else ''}"
    unsteady = number(entry["varies"] or None)
    start = [case, cell(entry["written_by"]), cell(short(target)), original, outcome, runs]
    return [*start, *differences, unsteady, rules(entry["rules"])]


def largest(entry: Record, key: str) -> float | None:
    values = (output[key] for output in entry["outputs"].values())
    return max((value for value in values if value is not None), default=None)


def number(value: float | None) -> str:
    if value is None:
        return ""
    return "0" if not value else f"{value:.0f}" if value >= 1 and math.isfinite(value) else f"{value:.1e}"


def rules(applied: list[dict]) -> str:
    return ", ".join(f"{r['name']} ({r['promise']}, {times(r['times'])})" for r in applied)


def times(count: int) -> str:
    return f"{count} times" if count > 1 else "once"


def cell(text: str, longest: int = LONGEST) -> str:
    """A text for a cell of a Markdown table."""
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
