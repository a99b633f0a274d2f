"""Compare what a runner answered for the rewritten model with what was expected, trial by trial.

A model may amplify rounding errors, usually with large inputs, until they are beyond any tolerance. Then its
own outputs change as much if its sums round otherwise and its inputs change in the last bit. Such a
difference is not counted if it is small beside the numbers of the output, and each element that differs is
one that changes; or if most trials agree without it, and as many elements change as much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.certify.compare import OutputDifference, Tolerance, compare, is_float
from tfport.fix.certify.failed_trial import FailedTrial
from tfport.fix.certify.runners import TrialOutcome
from tfport.fix.certify.trials import Trial
from tfport.fix.certify.verification import AnswerComparison, Verification, over_runs
from tfport.startup.dataclass import dataclass, field, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

RunAgain = Callable[[Trial], list[TrialOutcome]]
"""Runs the original on a trial in two new sessions; none if it has nothing that could answer otherwise."""

Rounded = Callable[[int, Sequence[Trial]], list[TrialOutcome]]
"""Runs the original on trials so that it rounds otherwise, another way for each number; none if that says
nothing."""
FACTOR = 4.0
"""How much more may differ than what rounding changes in a few runs: three times the deviation of such
changes, and the root of 2 for two runtimes that round."""
FEWEST, MOST = 2, 8
"""How often the original is run so; more than the fewest times if that may explain what is left."""
MOST_LEFT = 0.25
"""It may if at most this part of the elements that differ is left."""
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
        rounded: Rounded = lambda number, trials: [],
    ) -> None:
        """Compare all outputs of each run; `again` runs the original twice more, to find random outputs."""
        for signature in self.verification.signatures:
            comparisons = []
            finite = sum(trial.signature == signature and trial.finite for trial in trials)
            differing = list(self._differing(signature, trials, expected, runs))
            rounding = _RoundingErrors(rounded, differing, finite // MOST_UNSTABLE)
            for answers in runs:
                comparisons.append(comparison := AnswerComparison(signature, runner, reference))
                for trial, answer, wanted in zip(trials, answers, expected, strict=True):
                    if trial.signature == signature and answer.ran and wanted.ran:
                        self._add(comparison, trial, answer, wanted, again, rounding)
            self.verification.comparisons.append(over_runs(comparisons))

    def _differing(
        self,
        signature: str,
        trials: Sequence[Trial],
        expected: Sequence[TrialOutcome],
        runs: Sequence[Sequence[TrialOutcome]],
    ) -> Iterator[_Differing]:
        """The outputs of finite trials of a signature that are beyond the tolerance, in any of the runs."""
        for answers in runs:
            so_far: dict[str, OutputDifference] = {}
            for trial, answer, wanted in zip(trials, answers, expected, strict=True):
                if trial.signature != signature or not trial.finite or not answer.outputs:
                    continue
                for name, array in (wanted.outputs or {}).items():
                    tolerance, usual = (
                        self.tolerance_of(signature, name),
                        so_far.get(name, OutputDifference()),
                    )
                    difference = compare(answer.outputs[name], array, tolerance, usual)
                    so_far[name] = usual + difference
                    if difference.worst is not None:
                        yield from _differing_parts(
                            trial, name, answer.outputs[name], array, difference, tolerance
                        )

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
            elif trial.finite and rounding.explain(comparison, trial, name, difference):
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


@dataclass(slots=True)
class _Differing:
    """An output that is beyond the tolerance in a trial, and what rounding changes in it."""

    trial: Trial
    name: str
    answer: Any
    wanted: Any
    difference: OutputDifference
    part: int = 0
    """Which tensor of a composite tensor it is."""
    changes: NDArray[Any] | float = field(default=0.0)
    """By how much each element changes at most if the original rounds otherwise."""

    def add(self, outcome: TrialOutcome) -> None:
        """What changes in one more run of the original."""
        parts = () if outcome.outputs is None else _tensors(outcome.outputs[self.name])
        if self.part < len(parts) and np.shape(parts[self.part]) == np.shape(self.wanted):
            change = self._excess(parts[self.part])
            self.changes = np.maximum(self.changes, np.where(np.isfinite(change), change, 0.0))

    def left(self) -> float:
        """The part of the elements beyond the tolerance that rounding does not explain.

        A small difference comes from the element itself. A large one may be a jump, of whichever elements are
        near it: their number and how far they jump count.
        """
        excess = self._excess(self.answer)
        changes = np.broadcast_to(self.changes, excess.shape)
        if _is_large(self.difference):
            excess, changes = (np.sort(array, axis=None)[::-1] for array in (excess, changes))
        beyond = excess > 1
        return float(np.count_nonzero(excess[beyond] > FACTOR * changes[beyond]) / np.count_nonzero(beyond))

    def _excess(self, answer: Any) -> NDArray[Any]:
        """The difference of each element, divided by the tolerance."""
        exact = np.complex128 if np.asarray(self.wanted).dtype.kind == "c" else np.float64
        a, b = (np.asarray(array).astype(exact) for array in (answer, self.wanted))
        with np.errstate(all="ignore"):
            apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
            size = np.where(np.isfinite(b), np.abs(b), 0.0)
            excess = apart / (self.difference.atol + self.difference.rtol * size)
        return np.where(np.isnan(excess), np.inf, excess)


def _tensors(output: Any) -> tuple[Any, ...]:
    """The tensors of an output: several if it is a composite tensor."""
    return output if isinstance(output, tuple) else (output,)


def _differing_parts(
    trial: Trial, name: str, answer: Any, wanted: Any, difference: OutputDifference, tolerance: Tolerance
) -> Iterator[_Differing]:
    """The tensors of an output that are beyond the tolerance; none if one of them is not of floats."""
    pairs = list(zip(_tensors(answer), _tensors(wanted), strict=True))
    differences = [difference] if len(pairs) == 1 else [compare(a, b, tolerance) for a, b in pairs]
    beyond = [part for part, each in enumerate(differences) if each.worst is not None]
    if all(is_float(np.asarray(pairs[part][1]).dtype) for part in beyond):
        for part in beyond:
            yield _Differing(trial, name, *pairs[part], differences[part], part)


class _RoundingErrors:
    """Tells rounding errors that a model amplifies from other differences."""

    def __init__(self, rounded: Rounded, differing: Sequence[_Differing], most: int) -> None:
        self._most = most
        self._large: Counter[str] = Counter()
        _run_rounded(rounded, differing)
        left = {(each.trial.name, each.name) for each in differing if each.left()}
        self._explained = {(each.trial.name, each.name) for each in differing} - left

    def explain(
        self, comparison: AnswerComparison, trial: Trial, name: str, difference: OutputDifference
    ) -> bool:
        """Whether a difference may be one of rounding; the trial is noted."""
        is_large = _is_large(difference)
        if (trial.name, name) not in self._explained or (is_large and self._large[name] >= self._most):
            return False
        self._large[name] += is_large
        comparison.unstable.setdefault(name, []).append(trial.name)
        return True


def _run_rounded(rounded: Rounded, differing: Sequence[_Differing]) -> None:
    """Run the original on trials so that it rounds otherwise, until that explains what differs in them."""
    for number in range(MOST):
        trials = {each.trial.name: each.trial for each in differing}
        outcomes = rounded(number, list(trials.values())) if trials else []
        if not outcomes:
            return
        by_trial = dict(zip(trials, outcomes, strict=True))
        for each in differing:
            each.add(by_trial[each.trial.name])
        if number + 1 >= FEWEST:
            differing = [each for each in differing if 0 < each.left() <= MOST_LEFT]


def _is_large(difference: OutputDifference) -> bool:
    return difference.absolute > SMALL * difference.largest


def _keep_worst(comparison: AnswerComparison, failed: FailedTrial) -> None:
    if comparison.failed is None or failed.excess > comparison.failed.excess:
        comparison.failed = failed
