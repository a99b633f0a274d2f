"""The outcome of a rewritten model in a real release, from the answers of all runs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from compare import Difference, difference, rounds, worst
from jobs import Answer, Crash

SAME, DIFFERS, REFUSED, CRASHED = "same", "differs", "refused there", "crashed"
CANNOT, UNKNOWN = "not rewritten", "unknown"
WORST_FIRST = (CRASHED, DIFFERS, REFUSED, SAME)


@dataclass(frozen=True)
class Outcome:
    """What all runs of a pair of model and release come to."""

    outcome: str
    says: str = ""
    outputs: dict[str, Difference] = field(default_factory=dict)
    """The largest difference of each output from the expected one, over all runs."""
    runs: int = 0
    failed: int = 0
    """How many of the runs had this outcome, if it is not the expected one."""
    varies: float = 0.0
    """The largest difference between two runs of the same inputs, divided by the largest number."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def judged(runs: Sequence[Sequence[Answer]], expected: Sequence[dict], tolerance: float) -> Outcome:
    """The worst outcome of any run; `runs` has the answers to all inputs, for each run."""
    each = [one_run(answers, expected, tolerance) for answers in runs]
    outcome = next(what for what in WORST_FIRST if any(run.outcome == what for run in each))
    bad = [run for run in each if run.outcome == outcome != SAME]
    measured = [run.outputs for run in each if run.outputs]
    outputs = {name: worst(m[name] for m in measured) for name in measured[0]} if measured else {}
    says = bad[0].says if bad else ""
    if 0 < len(bad) < len(each) or outcome == CRASHED:
        says = f"{len(bad)} of {len(each)}: {says}"
    return Outcome(outcome, says, outputs, len(each), len(bad), between(runs))


def one_run(answers: Sequence[Answer], expected: Sequence[dict], tolerance: float) -> Outcome:
    if crash := next((a for a in answers if isinstance(a, Crash)), None):
        return Outcome(CRASHED, str(crash))
    if message := next((a for a in answers if isinstance(a, str)), None):
        return Outcome(REFUSED, message)
    outputs = {}
    for name in expected[0]:
        pairs = zip(answers, expected, strict=True)
        each = [difference(a[name], wanted[name]) if name in a else "missing" for a, wanted in pairs]
        if wrong := next((d for d in each if isinstance(d, str)), None):
            return Outcome(DIFFERS, f"{name}: {wrong}")
        outputs[name] = worst(d for d in each if isinstance(d, Difference))
    far = [name for name, output in outputs.items() if not output.within(tolerance)]
    if far:
        return Outcome(DIFFERS, f"{', '.join(far)}: too far apart", outputs)
    return Outcome(SAME, outputs=outputs)


def between(runs: Sequence[Sequence[Answer]]) -> float:
    """How far answers are from those of the first run that answered; 1 if strings or integers differ."""
    answered = [run for run in runs if not any(isinstance(answer, str) for answer in run)]
    pairs = [(a, b) for run in answered[1:] for a, b in zip(run, answered[0], strict=True)]
    return max((distance(a[name], b[name]) for a, b in pairs for name in b), default=0.0)


def distance(answer: np.ndarray, other: np.ndarray) -> float:
    measured = difference(answer, other)
    if isinstance(measured, str):
        return 1.0
    return measured.relative if rounds(measured.dtype) else float(measured.differ > 0)
