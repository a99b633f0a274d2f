"""Read and write the outcomes of rewritten models: docs/truth/fix.json.xz, and its tables in fix.md.

An entry is what one case did on one target. A new entry replaces only the one of the same case and target.
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
"""Entries by case and target."""
HEAD = """# What rewritten models answer in real old releases

Written by `make truth-fix`; [fix.json.xz](fix.json.xz) has more of each output. Each model was rewritten by
`tfport fix`, run in the real binary of the target through TensorFlow's C API, and compared with the answers
of the original model. *relative* is the largest difference relative to the largest expected number, *ulps*
is the distance in units of the output's dtype, *varies* is how much the expected answers to different inputs
differ, relative to the largest number too. Releases round differently, even if a rewrite keeps every bit.
"""
COLUMNS = "case | written by | target | original there | rewritten | absolute | relative | ulps | varies"
LONGEST = 90


def read(file: Path) -> Records:
    return read_json(file) if file.exists() else {}


def write(file: Path, new: Records, cases: dict[str, Iterable[str]]) -> Records:
    """Merge new entries into the file; drop cases and targets that no longer exist."""
    old, merged = read(file), {}
    for case, targets in cases.items():
        entries = old.get(case, {}) | new.get(case, {})
        if kept := {target: entries[target] for target in targets if target in entries}:
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
        f"{summary(e['outcome'] for _, _, e in entries)}\n",
        f"By tfport {', '.join(sorted({e['tfport'] for _, _, e in entries}))}.\n",
        table([*COLUMNS.split(" | "), "rules"], rows),
        "## The binaries\n",
        table(["release", "wheel", "SHA-256"], [[b, f"`{w}`", f"`{s}`"] for b, w, s in wheels]),
        "## References\n",
        table(["case", "reference"], sorted({(case, e["reference"]) for case, _, e in entries})),
    ]
    return "\n".join(sections)


def summary(outcomes: Iterable[str]) -> str:
    counted = Counter(outcomes)
    return ", ".join(f"{outcome}: {count}" for outcome, count in sorted(counted.items())) or "nothing yet"


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(columns)
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def row(case: str, target: str, entry: Record) -> list[str]:
    outcome = entry["outcome"] + (f": {cell(entry['says'])}" if entry["says"] else "")
    found = [number(largest(entry, key)) for key in ("absolute", "relative", "ulps", "spread")]
    original = cell(entry["original"]) or "answers"
    name = cell(target.removeprefix("tensorflow=="))
    return [case, cell(entry["written_by"]), name, original, outcome, *found, rules(entry["rules"])]


def largest(entry: Record, key: str) -> float | None:
    found = (output[key] for output in entry["outputs"].values())
    return max((value for value in found if value is not None), default=None)


def number(value: float | None) -> str:
    if value is None:
        return ""
    return "0" if not value else f"{value:.0f}" if value >= 1 and math.isfinite(value) else f"{value:.1e}"


def rules(applied: list[dict]) -> str:
    return ", ".join(f"{r['name']} ({r['promise']}, {times(r['times'])})" for r in applied)


def times(count: int) -> str:
    return f"{count} times" if count > 1 else "once"


def cell(text: str) -> str:
    """A text that a cell of a table can hold."""
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
