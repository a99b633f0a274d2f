"""Compare what a runner answered for the rewritten model with what was expected, trial by trial.

A model may amplify rounding errors, usually with large inputs, until they are beyond any tolerance. Then its
own outputs change as much if its inputs change in the last bit. A difference of that size is not counted, if
it is small beside the numbers of the output, or most trials agree without it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.fix.certify.compare import OutputDifference, Tolerance, compare
from tfport.fix.certify.failed_trial import FailedTrial
from tfport.fix.certify.runners import TrialOutcome
from tfport.fix.certify.trials import Trial
from tfport.fix.certify.verification import AnswerComparison, Verification, over_runs
from tfport.startup.dataclass import replace

RunAgain = Callable[[Trial], list[TrialOutcome]]
"""Runs the original on a trial in two new sessions; none if it has nothing that could answer otherwise."""


Nudged = Callable[[Trial], list[TrialOutcome]]
"""Runs the original with inputs that are changed in the last bit; none if that says nothing."""
ROUNDING = 32.0
"""Rounding errors are larger by up to this factor than those of the inputs alone: four deviations, and what
`rounded_model` measured for sums, a part of the root of the number of products; here three thousand."""
SMALL = 1e-3
"""The part of the largest number of an output up to which rounding errors are small."""
MOST_UNSTABLE = 3
"""At most one of this many trials may differ by rounding errors that are not small."""


class OutcomeComparer:
    """Adds comparisons to a verification."""

    def __init__(self, verification: Verification, tolerance: Tolerance) -> None:
        self.verification = verification
        self.tolerance = tolerance
        self._again: dict[tuple[str, str], list[TrialOutcome]] = {}

    def compare(
        self,
        runner: str,
        reference: str,
        trials: Sequence[Trial],
        expected: Sequence[TrialOutcome],
        runs: Sequence[Sequence[TrialOutcome]],
        again: RunAgain,
        nudged: Nudged = lambda trial: [],
    ) -> None:
        """Compare all outputs of each run; `again` runs the original twice more, to find random outputs."""
        for signature in self.verification.signatures:
            comparisons = []
            finite = sum(trial.signature == signature and trial.finite for trial in trials)
            rounding = _RoundingErrors(nudged, finite // MOST_UNSTABLE)
            for answers in runs:
                comparisons.append(comparison := AnswerComparison(signature, runner, reference))
                for trial, answer, wanted in zip(trials, answers, expected, strict=True):
                    if trial.signature == signature and answer.ran and wanted.ran:
                        self._add(comparison, trial, answer, wanted, again, rounding)
            self.verification.comparisons.append(over_runs(comparisons))

    def agree(
        self, trials: Sequence[Trial], expected: Sequence[TrialOutcome], answers: Sequence[TrialOutcome]
    ) -> bool:
        """Whether all outputs are alike where both runners answer finite inputs."""
        return all(
            compare(answer.outputs[name], wanted, self.tolerance_of(trial.signature, name)).alike
            for trial, outcome, answer in zip(trials, expected, answers, strict=True)
            if trial.finite and outcome.outputs is not None and answer.outputs is not None
            for name, wanted in outcome.outputs.items()
        )

    def _add(
        self,
        comparison: AnswerComparison,
        trial: Trial,
        answer: TrialOutcome,
        expected: TrialOutcome,
        again: RunAgain,
        rounding: _RoundingErrors,
    ) -> None:
        if expected.outputs is None:
            if answer.outputs is None:
                comparison.refused += 1
            else:
                comparison.only_rewritten_answers.append(trial.name)
            return
        failed = FailedTrial(trial, comparison.runner, expected.outputs, answer.outputs, why=answer.why)
        if answer.outputs is None:
            comparison.only_rewritten_refuses.append((trial.name, answer.why))
            comparison.failed = comparison.failed or failed
            return
        comparison.answered += 1
        table = comparison.outputs if trial.finite else comparison.not_finite
        for name, wanted in expected.outputs.items():
            so_far = table.get(name, OutputDifference())
            tolerance = self.tolerance_of(trial.signature, name)
            difference = compare(answer.outputs[name], wanted, tolerance, so_far).in_trial(trial.name)
            if difference.alike or name in comparison.random:
                table[name] = so_far + difference
                continue
            if self._is_random(comparison, trial, name, again):
                comparison.random.append(name)
            elif trial.finite and rounding.explain(comparison, trial, name, difference, wanted):
                difference = replace(difference, beyond=0, worst=None)
            elif trial.finite:
                _keep_worst(comparison, replace(failed, output=name, difference=difference))

            table[name] = so_far + difference

    def tolerance_of(self, signature: str, output: str) -> Tolerance:
        """The tolerance of an output, by the narrowest type in which it is computed."""
        narrowest = self.verification.narrowest.get(signature, {}).get(output)
        return replace(self.tolerance, narrowest=narrowest)

    def _is_random(self, comparison: AnswerComparison, trial: Trial, name: str, again: RunAgain) -> bool:
        """Whether two fresh runs of the original differ in an output."""
        key = (comparison.runner, trial.signature)
        if key not in self._again:  # only for the first trial that differs: running again is slow
            self._again[key] = again(trial)
        if not self._again[key]:
            return False
        first, second = (outcome.outputs for outcome in self._again[key])
        if first is None or second is None:
            return False
        return not compare(first[name], second[name], self.tolerance_of(trial.signature, name)).alike


class _RoundingErrors:
    """Tells rounding errors that a model amplifies from other differences."""

    def __init__(self, nudged: Nudged, most: int) -> None:
        self._nudged = nudged
        self._most = most
        self._outcomes: dict[str, list[TrialOutcome]] = {}
        self._large: Counter[str] = Counter()

    def explain(
        self,
        comparison: AnswerComparison,
        trial: Trial,
        name: str,
        difference: OutputDifference,
        wanted: Any,
    ) -> bool:
        """Whether a difference may be one of rounding; the trial is noted."""
        is_large = difference.absolute > SMALL * difference.largest
        if difference.problem or difference.worst is None or (is_large and self._large[name] >= self._most):
            return False
        if trial.name not in self._outcomes:
            self._outcomes[trial.name] = self._nudged(trial)
        answers = [o.outputs[name] for o in self._outcomes[trial.name] if o.outputs is not None]
        largest = max((_excess(answer, wanted, difference) for answer in answers), default=0.0)
        if not difference.worst.excess <= ROUNDING * largest or math.isinf(largest):
            return False
        self._large[name] += is_large
        comparison.unstable.setdefault(name, []).append(trial.name)
        return True


def _excess(answer: Any, wanted: Any, difference: OutputDifference) -> float:
    """The largest difference of two outputs, divided by the tolerance; it may be less than one."""
    if isinstance(wanted, tuple) or np.shape(answer) != np.shape(wanted):
        return 0.0
    exact = np.complex128 if np.asarray(wanted).dtype.kind == "c" else np.float64
    a, b = (np.asarray(array).astype(exact) for array in (answer, wanted))
    excess = np.abs(a - b) / (difference.atol + difference.rtol * np.abs(b))
    return float(np.nanmax(excess, initial=0.0))


def _keep_worst(comparison: AnswerComparison, failed: FailedTrial) -> None:
    if comparison.failed is None or failed.excess > comparison.failed.excess:
        comparison.failed = failed
