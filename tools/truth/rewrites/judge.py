"""The outcome of a rewritten model in a real release, from the answers of all runs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from compare import relative
from jobs import Answer, Crash

from tfport.fix.certify.compare import NOTHING, OutputDifference, Tolerance, compare, is_float

SAME, DIFFERS, REFUSED, CRASHED = "same", "differs", "refused there", "crashed"
CANNOT, UNKNOWN = "not rewritten", "unknown"
WORST_FIRST = (CRASHED, DIFFERS, REFUSED, SAME)


@dataclass(frozen=True)
class Outcome:
    """What all runs of a pair of model and release come to."""

    outcome: str
    says: str = ""
    outputs: dict[str, OutputDifference] = field(default_factory=dict)
    """The largest difference of each output from the expected one, over all runs."""
    runs: int = 0
    failed: int = 0
    """How many of the runs had this outcome, if it is not the expected one."""
    varies: float = 0.0
    """The largest difference between two runs of the same inputs, divided by the largest number."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def judged(
    runs: Sequence[Sequence[Answer]], expected: Sequence[dict], tolerances: Mapping[str, Tolerance]
) -> Outcome:
    """The worst outcome of any run; `runs` has the answers to all inputs, for each run."""
    each = [one_run(answers, expected, tolerances) for answers in runs]
    outcome = next(what for what in WORST_FIRST if any(run.outcome == what for run in each))
    bad = [run for run in each if run.outcome == outcome != SAME]
    measured = [run.outputs for run in each if run.outputs]
    outputs = {name: sum((m[name] for m in measured), NOTHING) for name in measured[0]} if measured else {}
    says = bad[0].says if bad else ""
    if 0 < len(bad) < len(each) or outcome == CRASHED:
        says = f"{len(bad)} of {len(each)}: {says}"
    return Outcome(outcome, says, outputs, len(each), len(bad), between(runs))


def one_run(
    answers: Sequence[Answer], expected: Sequence[dict], tolerances: Mapping[str, Tolerance]
) -> Outcome:
    if crash := next((a for a in answers if isinstance(a, Crash)), None):
        return Outcome(CRASHED, str(crash))
    if message := next((a for a in answers if isinstance(a, str)), None):
        return Outcome(REFUSED, message)
    outputs = {}
    for name in expected[0]:
        so_far, tolerance = NOTHING, tolerances.get(name, Tolerance())
        for answer, wanted in zip(answers, expected, strict=True):
            if name not in answer:
                return Outcome(DIFFERS, f"{name}: missing")
            so_far += compare(answer[name], wanted[name], tolerance, so_far)
        if so_far.problem:
            return Outcome(DIFFERS, f"{name}: {so_far.problem}")
        outputs[name] = so_far
    far = [f"{name}: {d.worst}" for name, d in outputs.items() if not d.alike]
    return Outcome(DIFFERS if far else SAME, "; ".join(far), outputs)


def between(runs: Sequence[Sequence[Answer]]) -> float:
    """How far answers are from those of the first run that answered; 1 if strings or integers differ."""
    answered = [run for run in runs if not any(isinstance(answer, str) for answer in run)]
    pairs = [(a, b) for run in answered[1:] for a, b in zip(run, answered[0], strict=True)]
    return max((distance(a[name], b[name]) for a, b in pairs for name in b), default=0.0)


def distance(answer: np.ndarray, other: np.ndarray) -> float:
    measured = compare(answer, other)
    if measured.problem or not is_float(other.dtype):
        return float(bool(measured.problem or measured.unequal))
    return relative(measured)
