"""Compare the verdicts of `tfport check` with what real interpreters did with the same .tflite files.

    python tools/truth/lite/compare_outcomes.py OUTCOMES.json [--failures] [--json OUT.json]

The outcomes are those of record_outcomes.py, with paths relative to their file. A verdict agrees if `runs`
means that the interpreter loaded the file and allocated its tensors. Without delegates, models with Flex ops
are left out: the interpreter keeps the Flex delegate.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import tfport

DELEGATES = {"default": None, "plain": "none"}


def targets_of(rows: dict[str, Any], way: str) -> dict[str, str]:
    """The environments that were asked in a way, as targets of `check`."""
    names = [key.removesuffix(f" {way}") for key in rows if key.endswith(f" {way}")]
    return {name: "==".join(name.rsplit("-", 1)) for name in names}


def verdicts(path: str, rows: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The verdict and the codes of `check`, by environment and way."""
    made: dict[str, tuple[str, str]] = {}
    try:
        model = tfport.load(path)
    except tfport.Error as error:
        return dict.fromkeys(rows, ("unreadable", str(error)[:200]))
    for way, delegate in DELEGATES.items():
        targets = targets_of(rows, way)
        if not targets or (way == "plain" and any(c.flex_op for c in model.lite.operator_codes)):
            continue
        report = tfport.check(model, list(targets.values()), delegate=delegate)
        for name, result in zip(targets, report.results, strict=True):
            codes = " ".join(sorted({finding.code for finding in result.findings}))
            made[f"{name} {way}"] = (result.verdict, codes)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("outcomes", type=Path)
    parser.add_argument("--failures", action="store_true", help="print what does not agree")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong = []
    for path, rows in json.loads(options.outcomes.read_text()).items():
        for key, (verdict, codes) in verdicts(str(options.outcomes.parent / path), rows).items():
            real = rows[key]
            way = key.rsplit(" ", 1)[1]
            kind = "agrees" if verdict == ("runs" if real["ok"] else "fails") else verdict
            counts[f"{way}: {'loads' if real['ok'] else 'refused at ' + real['step']}, {kind}"] += 1
            if kind != "agrees":
                wrong.append([Path(path).name, key, verdict, codes, real["step"], real.get("text", "")[:300]])
    for name, count in sorted(counts.items()):
        print(f"{count:6} {name}")
    agreed = sum(count for name, count in counts.items() if name.endswith("agrees"))
    print(f"{agreed} of {sum(counts.values())} agree")
    if options.failures:
        for row in wrong:
            print(*(str(part).replace("\n", " ") for part in row), sep=" | ")
    if options.json:
        options.json.write_text(json.dumps(wrong, indent=1))


if __name__ == "__main__":
    main()
