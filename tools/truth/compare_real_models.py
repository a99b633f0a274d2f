"""Compare `tfport check` with what real releases did with models that other people published.

    python tools/truth/compare_real_models.py

Compares the outcomes of the group `real` with predictions, pair by pair. The models are
those that `tools/real_models.py` downloads. They were fed zeros and empty strings, so a run
may fail because of its inputs and not because of an op, an attribute, a kernel or a device:
such pairs are counted separately.
"""

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from outcomes import read_outcomes
from real_questions import QUESTIONS

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.check import check_on
from tfport.check.checked_model import CheckedModel
from tfport.explain.find import MessageFinder

SAME, UNKNOWN, BAD_INPUT, DIFFERENT = "the same", "unknown", "fails because of its inputs", "different"
ABOUT_VALUES = ("TFP305",)
"""Codes of messages that kernels also print when they reject values."""


def main() -> None:
    questions = json.loads(QUESTIONS.read_text())
    subjects: dict[str, CheckedModel] = {}
    counted: Counter[str] = Counter()
    releases, models = set(), set()
    for name, record in read_outcomes().items():
        if not name.startswith("real/"):
            continue
        device = "gpu" if "-gpu" in name else "cpu"
        (target,) = resolve_targets(f"{record['package']}=={record['version']}", device=device)
        for case, by_loader in record["outcomes"].items():
            if case not in subjects:
                model = tfport.load(questions[case]["path"])
                asked = [name for name in questions[case]["signatures"] if name in model.signatures]
                subjects[case] = CheckedModel(model, asked or None)
            ran = bool(questions[case]["signatures"])
            for loader, outcome in by_loader.items():
                soft = name.endswith("-gpu_soft") or None
                comparison = compare(subjects[case], target, loader, outcome, ran=ran, soft=soft)
                counted[comparison] += 1
                releases.add(record["version"])
                models.add(case)
                if comparison == DIFFERENT:
                    print(f"{name} {loader}: {case}: {outcome}")
    print(f"{len(models)} models, {len(releases)} releases, {counted.total()} pairs")
    print("\n".join(f"{count:6} {what}" for what, count in counted.most_common()))


def compare(
    subject: CheckedModel, target, loader: str, outcome: dict, *, ran: bool, soft: bool | None = None
) -> str:
    (result,) = check_on(subject, target, [loader], soft_placement=soft)
    stage = outcome["stage"]
    if not ran and (result.verdict, result.stage) == ("fails", "run"):
        return SAME if stage is None else DIFFERENT  # only loaded
    if (result.verdict, result.stage) == ("fails" if stage else "runs", stage):
        return SAME
    if result.verdict == "unknown":
        return UNKNOWN
    bad_input = stage == "run" and result.verdict == "runs" and is_about_values(outcome["message"])
    return BAD_INPUT if bad_input else DIFFERENT


def is_about_values(message: str) -> bool:
    """Whether a message is about none of the problems that `check` looks for."""
    codes = {match.message.code for match in MessageFinder().read(message.splitlines(keepends=True))}
    return not {code for code in codes if code} - set(ABOUT_VALUES)


if __name__ == "__main__":
    main()
