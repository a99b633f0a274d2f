"""Two models asked the same things: does the rewritten one answer as the original did?

`verify(before, after)` makes up inputs that the original takes, adds those that were given or that
the model's author left, and lets every runner answer: tfport's own runtime always, TensorFlow where
it is installed, and each Python that the caller names. What is made of it on paper: `certificate`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tfport.errors import Error, UnreadableFile
from tfport.fix.certify.arrays import ORDINARY
from tfport.fix.certify.compare import OutputDifference, Tolerance, compare
from tfport.fix.certify.model_pair import answerable, both_sides
from tfport.fix.certify.runners import (
    Answers,
    ModelSide,
    OwnSession,
    TensorFlow,
    TrialOutcome,
    live_tensorflow,
)
from tfport.fix.certify.trials import Sizing, Trial, TrialBuilder, given_trials, warmup_trials
from tfport.fix.certify.verification import ANSWERED, REFUSED, AnswerComparison, Tried, Verification
from tfport.fix.certify.version import own_name
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.saved_model.warmup import WarmupRequest, read_warmup
from tfport.graph.model import Model
from tfport.runtime.custom.registry import Registry
from tfport.runtime.select_signature import DEFAULT

Progress = Callable[[str], None]
SECONDS = 120.0
"""For the made-up trials of a signature; those that no time is left for are left out, and told."""
ENOUGH = 3
"""Sizes that the original takes, before unusual ones need not be tried."""


def verify(
    before: Model,
    after: Model,
    *,
    given: Mapping[str, Any] | None = None,
    signatures: Iterable[str] | None = None,
    fetches: Sequence[str] = (),
    only_answers: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    pythons: Sequence[str] = (),
    registry: Registry | None = None,
    progress: Progress = lambda doing: None,
) -> Verification:
    """Compare the answers of a model before and after it was rewritten.

    `fetches` are what a graph without signatures answers with; with `only_answers` those of them
    that the original does not answer are left out, and told.
    """
    sides = both_sides(before, after, signatures, fetches)
    others = [TensorFlow(python) for python in pythons]  # refuses what is no program before the work begins
    _fits_somewhere(given, sides[0])
    verification = Verification(list(sides[0].entrances), rtol=rtol, atol=atol)
    if not before.signatures and (only_answers or not fetches):
        sides, verification.left_out = answerable(sides, registry)
    verifier = _Verifier(sides, verification, Tolerance(rtol, atol), registry, progress)
    verifier.own(given)
    live = live_tensorflow()
    for runner in [*([live] if live else []), *others]:
        verifier.foreign(runner)
    return verification


def _fits_somewhere(given: Mapping[str, Any] | None, side: ModelSide) -> None:
    if given is None or any(any(given_trials(one, given)) for one in side.entrances.values()):
        return
    wanted = "; ".join(f"{name} takes {', '.join(one.inputs)}" for name, one in side.entrances.items())
    raise Error(f"the given inputs are {', '.join(given) or 'none'}: they fit no signature; {wanted}")


class _Verifier:
    """The work on one verification."""

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
        """What the original answered, by who ran it, to each of the trials."""
        self._again: dict[tuple[str, str], list[TrialOutcome]] = {}

    def own(self, given: Mapping[str, Any] | None) -> None:
        """Make the trials and let tfport's runtime answer them, one after the other on both sides."""
        original, rewritten = (OwnSession(side, self.registry) for side in (self.before, self.after))
        outcomes: list[TrialOutcome] = []
        answers: list[TrialOutcome] = []
        for trial, take in self._planned(given):
            self.progress(f"{trial.signature}: {trial.name}")
            outcome = original.ask(trial)
            take(outcome)
            self.trials.append(trial)
            outcomes.append(outcome)
            answers.append(rewritten.ask(trial))
            told = ANSWERED if outcome.outputs is not None else REFUSED
            self.verification.trials.append(
                Tried(trial.signature, trial.name, trial.origin, trial.finite, told, outcome.why)
            )
        whys = [one.why for one in [*outcomes, *answers] if not one.ran]
        if whys:
            self.verification.not_asked.append((own_name(), whys[0]))
        if any(one.ran for one in outcomes):
            self.references[own_name()] = outcomes
        self._compare(own_name(), own_name(), outcomes, answers, self._ask_own)

    def foreign(self, runner: TensorFlow) -> None:
        """Let another process answer the trials, for the original as far as it loads there."""
        self.progress(f"asking {runner.python}")
        first = runner.ask(self.before, self.trials)
        second = runner.ask(self.after, self.trials)
        if second.why:
            self._stopped(runner, second.why)
            return
        if not first.why:
            self.references[runner.name] = first.outcomes
        reference = runner.name if not first.why else self._best_reference()
        if reference is None:
            self.verification.not_asked.append((runner.name, f"nobody could run the original: {first.why}"))
            return
        again = self._ask_own if first.why else lambda trial: _first(runner.ask(self.before, [trial]))
        self._compare(runner.name, reference, self.references[reference], second.outcomes, again)

    def _ask_own(self, trial: Trial) -> TrialOutcome:
        return OwnSession(self.before, self.registry).ask(trial)

    def _stopped(self, runner: TensorFlow, why: str) -> None:
        """A rewritten model that does not load: a failure on the target, and a fact about any other."""
        if runner.own:
            self.verification.not_asked.append((runner.name, f"it does not load the rewritten model: {why}"))
            return
        for signature in self.verification.signatures:
            self.verification.comparisons.append(AnswerComparison(signature, runner.name, "", stopped=why))

    def _best_reference(self) -> str | None:
        """TensorFlow before tfport: the target is one too."""
        return min(self.references, key=lambda name: name == own_name(), default=None)

    def _planned(
        self, given: Mapping[str, Any] | None
    ) -> Iterator[tuple[Trial, Callable[[TrialOutcome], None]]]:
        """Trials, each with whom to tell what the original said to it."""
        requests = self._warmup()
        for signature in self.before.entrances.values():
            real = [*given_trials(signature, given), *warmup_trials(signature, requests, DEFAULT)]
            yield from ((trial, _nobody) for trial in real)
            try:
                yield from self._made_up(TrialBuilder(self.before.model, signature))
            except Error as error:  # a type or size of which nothing can be made up
                self.verification.left_out.append(f"made-up inputs of {signature.name}: {error}")

    def _warmup(self) -> list[WarmupRequest]:
        """What the author left; a file that cannot be read is no reason to give up."""
        if self.before.model.format is not SAVED_MODEL:
            return []
        try:
            return read_warmup(self.before.model.files)
        except UnreadableFile as error:
            self.verification.left_out.append(f"the warm-up requests: {error}")
            return []

    def _made_up(self, maker: TrialBuilder) -> Iterator[tuple[Trial, Callable[[TrialOutcome], None]]]:
        end = time.monotonic() + SECONDS
        taken: list[Sizing] = []
        usual, unusual = maker.sizings()
        for sizing in [*usual, *unusual]:
            if len(taken) >= ENOUGH and sizing not in usual:
                break
            if time.monotonic() > end:
                self.verification.left_out.append(f"{maker.signature.name}: further sizes, for want of time")
                break
            said: list[TrialOutcome] = []
            yield maker.made(sizing, ORDINARY), said.append
            if said[0].outputs is not None or not said[0].ran:
                taken.append(sizing)
        for profile in maker.profiles() if maker.signature.inputs else ():
            if time.monotonic() > end:
                self.verification.left_out.append(
                    f"{maker.signature.name}: `{profile.name}`, for want of time"
                )
                continue
            yield maker.made((taken or usual)[min(1, len(taken or usual) - 1)], profile), _nobody

    def _compare(
        self,
        runner: str,
        reference: str,
        expected: Sequence[TrialOutcome],
        answers: Sequence[TrialOutcome],
        again: Callable[[Trial], TrialOutcome],
    ) -> None:
        """Compare all answers; `again` asks the original afresh, to see whether it agrees with itself."""
        for signature in self.verification.signatures:
            found = AnswerComparison(signature, runner, reference)
            for trial, a, b in zip(self.trials, answers, expected, strict=True):
                if trial.signature == signature and a.ran and b.ran:
                    self._add(found, trial, a, b, again)
            self.verification.comparisons.append(found)

    def _add(
        self,
        found: AnswerComparison,
        trial: Trial,
        answer: TrialOutcome,
        expected: TrialOutcome,
        again: Callable[[Trial], TrialOutcome],
    ) -> None:
        if expected.outputs is None:
            if answer.outputs is None:
                found.refused += 1
            else:
                found.only_rewritten_answers.append(trial.name)
            return
        if answer.outputs is None:
            found.only_rewritten_refuses.append((trial.name, answer.why))
            return
        found.answered += 1
        table = found.outputs if trial.finite else found.not_finite
        for name, wanted in expected.outputs.items():
            so_far = table.get(name, OutputDifference())
            difference = compare(answer.outputs[name], wanted, self.tolerance, so_far)
            table[name] = so_far + difference
            if (
                not difference.alike
                and name not in found.random
                and self._is_random(found, trial, name, again)
            ):
                found.random.append(name)

    def _is_random(
        self, found: AnswerComparison, trial: Trial, name: str, again: Callable[[Trial], TrialOutcome]
    ) -> bool:
        """Whether two fresh runs of the original differ in an output."""
        key = (found.runner, trial.signature)
        if key not in self._again:  # on the first trial that shows a difference: asking again takes long
            self._again[key] = [again(trial), again(trial)]
        one, other = (outcome.outputs for outcome in self._again[key])
        if one is None or other is None:
            return False
        return not compare(one[name], other[name], self.tolerance).alike


def _first(answers: Answers) -> TrialOutcome:
    return next(iter(answers.outcomes), TrialOutcome(why=answers.why, ran=False))


def _nobody(outcome: TrialOutcome) -> None:
    """Who need not be told."""
