"""Compare what a runner answered for the rewritten model with what was expected, trial by trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.fix.certify.compare import OutputDifference, Tolerance, compare
from tfport.fix.certify.failed_trial import FailedTrial
from tfport.fix.certify.runners import TrialOutcome
from tfport.fix.certify.trials import Trial
from tfport.fix.certify.verification import AnswerComparison, Verification, over_runs
from tfport.startup.dataclass import replace

RunAgain = Callable[[Trial], list[TrialOutcome]]
"""Runs the original on a trial in two new sessions; none if it has nothing that could answer otherwise."""


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
    ) -> None:
        """Compare all outputs of each run; `again` runs the original twice more, to find random outputs."""
        for signature in self.verification.signatures:
            comparisons = []
            for answers in runs:
                comparisons.append(comparison := AnswerComparison(signature, runner, reference))
                for trial, answer, wanted in zip(trials, answers, expected, strict=True):
                    if trial.signature == signature and answer.ran and wanted.ran:
                        self._add(comparison, trial, answer, wanted, again)
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
            table[name] = so_far + difference
            if difference.alike or name in comparison.random:
                continue
            if self._is_random(comparison, trial, name, again):
                comparison.random.append(name)
            elif trial.finite:
                _keep_worst(comparison, replace(failed, output=name, difference=difference))

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


def _keep_worst(comparison: AnswerComparison, failed: FailedTrial) -> None:
    if comparison.failed is None or failed.excess > comparison.failed.excess:
        comparison.failed = failed
