"""Does `tfport check` say what real releases did with the models that other people shipped?

    python tools/truth/agree.py

Holds the outcomes in tests/truth/real against predictions, pair by pair. The models are
those that `tools/real_models.py` brings. They were fed zeros and empty strings, so a run
that stops at what it was fed, and not at an op, an attribute, a kernel or a device, counts
as one: it is told apart in the last column.
"""

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from real_questions import QUESTIONS

import tfport
from tfport.atlas.target import resolve_targets
from tfport.check.check import check_on
from tfport.check.checked_model import CheckedModel
from tfport.check.explain.find import MessageFinder

REAL = Path(__file__).parents[2] / "tests/truth/real"
SAME, UNKNOWN, FED, OTHERWISE = "the same", "unknown", "stops at what it was fed", "otherwise"
ABOUT_VALUES = ("TFP305",)
"""Codes under which `explain` knows messages of kernels that also refuse values."""


def main() -> None:
    questions = json.loads(QUESTIONS.read_text())
    subjects: dict[str, CheckedModel] = {}
    counted: Counter[str] = Counter()
    releases, models = set(), set()
    for path in sorted(REAL.glob("*.json")):
        record = json.loads(path.read_text())
        (target,) = resolve_targets(f"{record['package']}=={record['version']}", device="cpu")
        for case, by_loader in record["said"].items():
            if case not in subjects:
                model = tfport.load(questions[case]["path"])
                asked = [name for name in questions[case]["signatures"] if name in model.signatures]
                subjects[case] = CheckedModel(model, asked or None)
            for loader, said in by_loader.items():
                found = compare(
                    subjects[case], target, loader, said, asked=bool(questions[case]["signatures"])
                )
                counted[found] += 1
                releases.add(record["version"])
                models.add(case)
                if found == OTHERWISE:
                    print(f"{path.stem} {loader}: {case}: {said}")
    print(f"{len(models)} models, {len(releases)} releases, {counted.total()} pairs")
    print("\n".join(f"{count:6} {what}" for what, count in counted.most_common()))


def compare(subject: CheckedModel, target, loader: str, said: dict, *, asked: bool) -> str:
    (result,) = check_on(subject, target, [loader])
    stage = said["stage"]
    if not asked and (result.verdict, result.stage) == ("fails", "run"):
        return SAME if stage is None else OTHERWISE  # loaded, and not asked to run
    if (result.verdict, result.stage) == ("fails" if stage else "runs", stage):
        return SAME
    if result.verdict == "unknown":
        return UNKNOWN
    return FED if stage == "run" and result.verdict == "runs" and is_about_values(said["says"]) else OTHERWISE


def is_about_values(says: str) -> bool:
    """Whether a message names none of the troubles that `check` looks for."""
    codes = {found.message.code for found in MessageFinder().read(says.splitlines(keepends=True))}
    return not {code for code in codes if code} - set(ABOUT_VALUES)


if __name__ == "__main__":
    main()
