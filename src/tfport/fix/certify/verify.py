"""Compare a rewritten model with its original on the same inputs.

`verify(before, after)` generates inputs that the original accepts, adds the user's inputs and the
model's warm-up requests, and runs both models on every runner: tfport's own runtime, TensorFlow if
it is installed, and each Python that the caller names. `certificate` presents the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tfport.errors import Error, UnreadableFile
from tfport.fix.certify.arrays import ORDINARY
from tfport.fix.certify.compare import OutputDifference, Tolerance, compare
from tfport.fix.certify.constant_outputs import constant_outputs
from tfport.fix.certify.input_records import input_records
from tfport.fix.certify.model_pair import answerable, both_sides, with_outputs
from tfport.fix.certify.other_runner import OtherRunner
from tfport.fix.certify.runner_facts import own_facts
from tfport.fix.certify.runners import ModelSide, OwnSession, RunnerResult, TrialOutcome
from tfport.fix.certify.tensorflow_runner import TensorFlow, live_tensorflow
from tfport.fix.certify.trials import Sizing, Trial, TrialBuilder, user_trials, warmup_trials
from tfport.fix.certify.verification import (
    ANSWERED,
    REFUSED,
    AnswerComparison,
    TrialRecord,
    Verification,
    over_runs,
)
from tfport.fix.certify.version import own_name
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.saved_model.warmup import WarmupRequest, read_warmup
from tfport.graph.model import Model
from tfport.runtime.custom.registry import Registry
from tfport.runtime.select_signature import DEFAULT

Progress = Callable[[str], None]
RunAgain = Callable[[Trial], list[TrialOutcome]]
"""Runs the original on a trial in two new sessions."""
SECONDS = 120.0
"""The time for the generated trials of a signature; trials beyond it are skipped and reported."""
ENOUGH = 3
"""If the original accepts this many sizes, unusual ones are not tried."""


def verify(
    before: Model,
    after: Model,
    *,
    inputs: Mapping[str, Any] | None = None,
    signatures: Iterable[str] | None = None,
    fetches: Sequence[str] = (),
    feeds: Sequence[str] = (),
    only_answers: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    steps: int = 0,
    pythons: Sequence[str] = (),
    others: Sequence[OtherRunner] | None = None,
    registry: Registry | None = None,
    progress: Progress = lambda doing: None,
) -> Verification:
    """Compare the outputs of a model before and after a rewrite.

    `fetches` are the outputs of a graph without signatures, and `feeds` its inputs besides the
    placeholders; with `only_answers`, those that the
    original cannot compute are skipped and reported. Quantized outputs may differ by `steps`.
    `others` are the runners besides tfport (default: TensorFlow if it is installed, and `pythons`).
    """
    sides = both_sides(before, after, signatures, fetches, feeds)
    if others is None:
        live = live_tensorflow()
        named = [TensorFlow(python) for python in pythons]  # fails early for what is not a program
        others = [*([live] if live else []), *named]
    _fits_somewhere(inputs, sides[0])
    sides, left_out = with_outputs(sides)
    if not before.signatures and (only_answers or not fetches):
        sides, left_out = answerable(sides, registry)
    verification = Verification(list(sides[0].entrances), left_out=left_out, rtol=rtol, atol=atol)
    verification.settings = {
        "signatures": None if signatures is None else list(signatures),
        "fetches": list(fetches),
        "feeds": list(feeds),
        "only_answers": only_answers,
        "steps": steps,
    }
    verifier = _Verifier(sides, verification, Tolerance(rtol, atol, steps), registry, progress)
    verifier.own(inputs)
    for runner in others:
        verifier.foreign(runner)
    verifier.note_constants()
    return verification


def _fits_somewhere(inputs: Mapping[str, Any] | None, side: ModelSide) -> None:
    if inputs is None or any(any(user_trials(signature, inputs)) for signature in side.entrances.values()):
        return
    wanted = "; ".join(
        f"{name} takes {', '.join(signature.inputs)}" for name, signature in side.entrances.items()
    )
    raise Error(f"the inputs {', '.join(inputs) or '(none)'} match no signature; {wanted}")


class _Verifier:
    """Runs one verification."""

    def __init__(
        self,
        sides: tuple[ModelSide, ModelSide],
        verification: Verification,
        tolerance: Tolerance,
        registry: Registry | None,
        progress: Progress,
    ) -> None:
        self.before, self.after = sides
        self.verification = verification
        self.tolerance = tolerance
        self.registry = registry
        self.progress = progress
        self.trials: list[Trial] = []
        self.references: dict[str, list[TrialOutcome]] = {}
        """The outcomes of the original for all trials, by runner."""
        self._again: dict[tuple[str, str], list[TrialOutcome]] = {}

    def own(self, inputs: Mapping[str, Any] | None) -> None:
        """Generate the trials, and run both models on them in tfport's runtime."""
        original, rewritten = (OwnSession(side, self.registry) for side in (self.before, self.after))
        outcomes: list[TrialOutcome] = []
        answers: list[TrialOutcome] = []
        for trial, take in self._planned(inputs):
            self.progress(f"{trial.signature}: {trial.name}")
            outcome = original.ask(trial)
            take(outcome)
            self.trials.append(trial)
            outcomes.append(outcome)
            answers.append(rewritten.ask(trial))
            result = ANSWERED if outcome.outputs is not None else REFUSED
            self.verification.trials.append(
                TrialRecord(
                    trial.signature,
                    trial.name,
                    trial.origin,
                    trial.finite,
                    result,
                    outcome.why,
                    input_records(trial),
                    trial.seed,
                )
            )
        reasons = [answer.why for answer in [*outcomes, *answers] if not answer.ran]
        if reasons:
            self.verification.not_asked.append((own_name(), reasons[0]))
        if any(answer.ran for answer in outcomes):
            self.references[own_name()] = outcomes
        self.verification.runners_used.append(own_facts())
        self._compare(own_name(), own_name(), outcomes, [answers], self._ask_own)

    def foreign(self, runner: OtherRunner) -> None:
        """Run both models on the trials in other processes; the original if it loads there."""
        self.progress(f"running {runner.python}")
        first, results = self._ask(runner)
        crashes = sum(bool(result.crashes) for result in results)
        runner.facts = replace(runner.facts, runs=len(results), crashes=crashes)
        self.verification.runners_used.append(runner.facts)
        if why := _refusal(results, crashes):
            self._stopped(runner, why)
            return
        if not first.why:
            self.references[runner.name] = first.outcomes
        reference = runner.name if not first.why else self._best_reference()
        if reference is None:
            self.verification.not_asked.append(
                (runner.name, f"no runner could run the original: {first.why}")
            )
            return
        again = self._ask_own if first.why else lambda trial: self._ask_twice(runner, trial)
        answers = [result.outcomes for result in results]
        self._compare(runner.name, reference, self.references[reference], answers, again)

    def _ask(self, runner: OtherRunner) -> tuple[RunnerResult, list[RunnerResult]]:
        """The original, and the runs of the rewritten model: each in a new process if there are several."""
        if runner.facts.runs == 1:
            first, second = runner.ask([self.before, self.after], self.trials)
            return first, [second]
        (first,) = runner.ask([self.before], self.trials)
        results: list[RunnerResult] = []
        for number in range(1, runner.facts.runs + 1):
            self.progress(f"{runner.name}: run {number} of {runner.facts.runs}")
            results += runner.ask([self.after], self.trials)
            if results[-1].why and not results[-1].crashes:  # refused: it would be again
                break
        return first, results

    def note_constants(self) -> None:
        """Note the outputs of the original that never varied."""
        if (reference := self._best_reference()) is not None:
            outcomes = self.references[reference]
            self.verification.constant += constant_outputs(self.before, self.trials, outcomes)

    def _ask_own(self, trial: Trial) -> list[TrialOutcome]:
        return [OwnSession(self.before, self.registry).ask(trial) for _ in range(2)]

    def _ask_twice(self, runner: OtherRunner, trial: Trial) -> list[TrialOutcome]:
        return [_first(result) for result in runner.ask([self.before, self.before], [trial])]

    def _stopped(self, runner: OtherRunner, why: str) -> None:
        """Record a rewritten model that does not load: a failure on the target, a caveat elsewhere."""
        if runner.own:
            self.verification.not_asked.append((runner.name, f"it does not load the rewritten model: {why}"))
            return
        for signature in self.verification.signatures:
            self.verification.comparisons.append(AnswerComparison(signature, runner.name, "", stopped=why))

    def _best_reference(self) -> str | None:
        """The runner of the original to compare with: TensorFlow before tfport."""
        return min(self.references, key=lambda name: name == own_name(), default=None)

    def _planned(
        self, inputs: Mapping[str, Any] | None
    ) -> Iterator[tuple[Trial, Callable[[TrialOutcome], None]]]:
        """The trials, each with a callback for the outcome of the original."""
        requests = self._warmup()
        for signature in self.before.entrances.values():
            real = [*user_trials(signature, inputs), *warmup_trials(signature, requests, DEFAULT)]
            yield from ((trial, _ignore) for trial in real)
            try:
                yield from self._generated(TrialBuilder(self.before.model, signature))
            except Error as error:  # a dtype or size for which no inputs can be generated
                self.verification.left_out.append(f"generated inputs of {signature.name}: {error}")

    def _warmup(self) -> list[WarmupRequest]:
        """The warm-up requests of the model; an unreadable file is a caveat, not an error."""
        if self.before.model.format is not SAVED_MODEL:
            return []
        try:
            return read_warmup(self.before.model.files)
        except UnreadableFile as error:
            self.verification.left_out.append(f"the warm-up requests: {error}")
            return []

    def _generated(self, builder: TrialBuilder) -> Iterator[tuple[Trial, Callable[[TrialOutcome], None]]]:
        end = time.monotonic() + SECONDS
        taken: list[Sizing] = []
        usual, unusual = builder.sizings()
        for sizing in [*usual, *unusual]:
            if len(taken) >= ENOUGH and sizing not in usual:
                break
            if time.monotonic() > end:
                self.verification.left_out.append(f"{builder.signature.name}: more sizes (out of time)")
                break
            outcomes: list[TrialOutcome] = []
            yield builder.made(sizing, ORDINARY), outcomes.append
            if outcomes[0].outputs is not None or not outcomes[0].ran:
                taken.append(sizing)
        for profile in builder.profiles() if builder.signature.inputs else ():
            if time.monotonic() > end:
                self.verification.left_out.append(f"{builder.signature.name}: `{profile.name}` (out of time)")
                continue
            yield builder.made((taken or usual)[min(1, len(taken or usual) - 1)], profile), _ignore

    def _compare(
        self,
        runner: str,
        reference: str,
        expected: Sequence[TrialOutcome],
        runs: Sequence[Sequence[TrialOutcome]],
        again: RunAgain,
    ) -> None:
        """Compare all outputs of each run; `again` runs the original twice more, to find random outputs."""
        for signature in self.verification.signatures:
            comparisons = []
            for answers in runs:
                comparisons.append(comparison := AnswerComparison(signature, runner, reference))
                for trial, a, b in zip(self.trials, answers, expected, strict=True):
                    if trial.signature == signature and a.ran and b.ran:
                        self._add(comparison, trial, a, b, again)
            self.verification.comparisons.append(over_runs(comparisons))

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
        if answer.outputs is None:
            comparison.only_rewritten_refuses.append((trial.name, answer.why))
            return
        comparison.answered += 1
        table = comparison.outputs if trial.finite else comparison.not_finite
        for name, wanted in expected.outputs.items():
            so_far = table.get(name, OutputDifference())
            difference = compare(answer.outputs[name], wanted, self.tolerance, so_far)
            table[name] = so_far + difference
            if (
                not difference.alike
                and name not in comparison.random
                and self._is_random(comparison, trial, name, again)
            ):
                comparison.random.append(name)

    def _is_random(
        self,
        comparison: AnswerComparison,
        trial: Trial,
        name: str,
        again: RunAgain,
    ) -> bool:
        """Whether two fresh runs of the original differ in an output."""
        key = (comparison.runner, trial.signature)
        if key not in self._again:  # only for the first trial that differs: running again is slow
            self._again[key] = again(trial)
        first, second = (outcome.outputs for outcome in self._again[key])
        if first is None or second is None:
            return False
        return not compare(first[name], second[name], self.tolerance).alike


def _refusal(results: Sequence[RunnerResult], crashes: int) -> str:
    """Why the rewritten model does not run: it is refused, or crashes in some of the runs."""
    why = next((result.why for result in results if result.why), "")
    if why and len(results) > 1:
        return f"the process crashed in {crashes} of {len(results)} runs: {why}" if crashes else why
    return why


def _first(answers: RunnerResult) -> TrialOutcome:
    return next(iter(answers.outcomes), TrialOutcome(why=answers.why, ran=False))


def _ignore(outcome: TrialOutcome) -> None:
    """Ignore the outcome of a trial."""
