"""Compare a rewritten model with its original on the same inputs.

`verify(before, after)` uses the user's inputs, or generates inputs that the original accepts and adds
the model's warm-up requests, and runs both models on every runner: tfport's own runtime, TensorFlow if
it is installed, and each Python that the caller names. `certificate` presents the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from tfport.errors import Error
from tfport.fix.certify.compare import Tolerance
from tfport.fix.certify.constant_outputs import constant_outputs
from tfport.fix.certify.model_pair import answerable, both_sides, with_outputs, without_repeats
from tfport.fix.certify.narrowest import narrowest_types
from tfport.fix.certify.other_runner import OtherRunner
from tfport.fix.certify.outcomes import OutcomeComparer
from tfport.fix.certify.provenance import own_facts, own_name
from tfport.fix.certify.runners import ModelSide, OwnSession, RunnerResult, TrialOutcome
from tfport.fix.certify.tensorflow_runner import live_tensorflow
from tfport.fix.certify.trial_plan import TrialPlan, Tried
from tfport.fix.certify.trials import GENERATED, Trial, nudged_trial, user_trials
from tfport.fix.certify.verification import AnswerComparison, TrialRecord, Verification
from tfport.graph.model import Model
from tfport.graph.reach import called_by, needed_by
from tfport.progress_step import ProgressStep
from tfport.runtime.custom.registry import Registry
from tfport.runtime.effect_order import READS
from tfport.runtime.program import DRAWS
from tfport.runtime.same_program import compute_the_same
from tfport.startup.dataclass import replace

Progress = Callable[[str], None]
UserInputs = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def verify(
    before: Model,
    after: Model,
    *,
    inputs: UserInputs | None = None,
    signatures: Iterable[str] | None = None,
    fetches: Sequence[str] = (),
    feeds: Sequence[str] = (),
    only_answers: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    steps: int = 0,
    part: float | None = None,
    targets: Sequence[OtherRunner] = (),
    live: bool = True,
    registry: Registry | None = None,
    progress: Progress = lambda doing: None,
) -> Verification:
    """Compare the outputs of a model before and after a rewrite.

    `inputs` are arrays by name, or several such mappings. A signature that they fit is compared on them
    only; any other, on generated inputs. `fetches` are the outputs of a graph without signatures, and
    `feeds` its inputs besides the placeholders; with `only_answers`, those that the original cannot
    compute are skipped and reported. Quantized outputs may differ by `steps`, and
    others by this `part` of their largest number.
    `targets` are runners of the target; with `live`, TensorFlow runs both models too if it is installed.
    tfport's runtime runs the original, and the rewritten model unless the runner of the target is enough.
    """
    sides = both_sides(before, after, signatures, fetches, feeds)
    installed = live_tensorflow() if live else None
    user_inputs = [] if inputs is None else [inputs] if isinstance(inputs, Mapping) else list(inputs)
    _fit_somewhere(user_inputs, sides[0])
    sides, left_out = with_outputs(sides)
    if not before.signatures and (only_answers or not fetches):
        sides, left_out = answerable(sides, registry)
    sides, same_as = without_repeats(sides)
    verification = Verification(list(sides[0].signatures), left_out=left_out, rtol=rtol, atol=atol)
    verification.same_as = same_as
    verification.settings = {
        "signatures": None if signatures is None else list(signatures),
        "fetches": list(fetches),
        "feeds": list(feeds),
        "only_answers": only_answers,
        "steps": steps,
    }
    if part is not None:
        verification.settings["part"] = part
    verifier = _Verifier(sides, verification, Tolerance(rtol, atol, steps, part=part), registry, progress)
    others = [*([installed] if installed else []), *targets]
    verifier.run_original(user_inputs, alone=not others)
    if not any(runner.is_enough for runner in targets):
        verifier.compare_own()
    verifier.keep_answered()
    for runner in others:
        verifier.foreign(runner)
    if not verifier.is_compared():
        verifier.compare_own()
    verifier.note_constants()
    return verification


def _fit_somewhere(user_inputs: Sequence[Mapping[str, Any]], side: ModelSide) -> None:
    """Raise for inputs of the user that no signature takes."""
    signatures = side.signatures.values()
    for inputs in user_inputs:
        if any(True for signature in signatures for _ in user_trials(signature, [inputs])):
            continue
        wanted = "; ".join(f"{s.name} takes {', '.join(s.inputs)}" for s in signatures)
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
        self.comparer = OutcomeComparer(verification, tolerance)
        self.registry = registry
        self.progress = progress
        self.trials: list[Trial] = []
        self.own_outcomes: list[TrialOutcome] = []
        """Those of the original for all trials, in tfport's runtime."""
        self.references: dict[str, list[TrialOutcome]] = {}
        """The outcomes of the original for all trials, by runner."""
        for signature in self.before.signatures.values():
            if narrowest := narrowest_types(self.before.model, signature):
                verification.narrowest[signature.name] = narrowest

    @cached_property
    def rewritten(self) -> OwnSession:
        """tfport's runtime with the rewritten model loaded."""
        return OwnSession(self.after, self.registry)

    def run_original(self, user_inputs: Sequence[Mapping[str, Any]], *, alone: bool) -> None:
        """Generate the trials, and run the original on them in tfport's runtime.

        One signature at a time: the plan of each has its own copy of the weights. `alone`: no other runner
        needs the trials.
        """
        original = OwnSession(self.before, self.registry)

        def ask(trial: Trial) -> TrialOutcome:
            self.progress(f"{trial.signature}: {trial.name}")
            return original.ask(trial)

        def is_same(signature: str) -> bool:
            if not alone:
                return False
            first, second = original.program(signature), self.rewritten.program(signature)
            return first is not None and second is not None and compute_the_same(first, second)

        plan = TrialPlan(self.before, ask, user_inputs, self.verification, original.words(), is_same)
        for _, planned in itertools.groupby(plan.trials(), key=_signature_of):
            for trial, outcome in planned:
                self._record(trial, outcome)
                self.trials.append(trial)
                self.own_outcomes.append(outcome)
            original.release_memory()
        self._note_not_run(self.own_outcomes)
        if any(outcome.ran for outcome in self.own_outcomes):
            self.references[own_name()] = self.own_outcomes
        self.verification.runners_used.append(own_facts())

    def compare_own(self) -> None:
        """Run the rewritten model in tfport's runtime, one signature at a time, and compare the outputs."""
        answers: list[TrialOutcome] = []
        pairs = list(zip(self.trials, self.own_outcomes, strict=True))
        for name, tried in itertools.groupby(pairs, key=_signature_of):
            of_signature = list(tried)
            for done, (trial, outcome) in enumerate(of_signature):
                doing = f"{name}: {trial.name}, rewritten"
                self.progress(ProgressStep(doing, done, len(of_signature)))
                answers.append(self.rewritten.ask(trial, keeps=outcome.outputs is not None))
            self.rewritten.release_memory()
        self._note_not_run(answers)
        outcomes = self.own_outcomes
        self.comparer.compare(own_name(), own_name(), self.trials, outcomes, [answers], self._ask_own)

    def is_compared(self) -> bool:
        """Whether tfport or another runner compared every signature."""
        compared = {c.signature for c in self.verification.comparisons if c.answered}
        own = any(c.runner == own_name() for c in self.verification.comparisons)
        return own or compared >= set(self.verification.signatures)

    def _note_not_run(self, outcomes: Sequence[TrialOutcome]) -> None:
        """Note the reason why tfport does not run a model, if so."""
        reasons = [outcome.why for outcome in outcomes if not outcome.ran]
        if reasons and own_name() not in dict(self.verification.not_asked):
            self.verification.not_asked.append((own_name(), reasons[0]))

    def keep_answered(self) -> None:
        """Drop generated trials that the original refuses, if it answers others: releases crash on some."""
        pairs = list(zip(self.trials, self.own_outcomes, strict=True))
        answered = {trial.signature for trial, outcome in pairs if outcome.outputs is not None}
        kept = [
            (trial, outcome)
            for trial, outcome in pairs
            if outcome.outputs is not None or trial.origin != GENERATED or trial.signature not in answered
        ]
        self.trials = [trial for trial, _ in kept]
        self.own_outcomes[:] = [outcome for _, outcome in kept]

    def _record(self, trial: Trial, outcome: TrialOutcome) -> None:
        record = TrialRecord.of(trial, outcome.outputs is not None, outcome.why)
        self.verification.trials.append(record)

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
        reference = self._reference_for(runner, first)
        if reference is None:
            self.verification.not_asked.append(
                (runner.name, f"no runner could run the original: {first.why}")
            )
            return
        own = reference != runner.name
        again = self._ask_own_in_turn if own else lambda trial: self._ask_twice(runner, trial)
        answers = [result.outcomes for result in results]
        expected = self.references[reference]
        rounded = self._ask_rounded if reference == own_name() else lambda number, trials: []
        self.comparer.compare(runner.name, reference, self.trials, expected, answers, again, rounded)

    def _reference_for(self, runner: OtherRunner, original: RunnerResult) -> str | None:
        """The runner of the original to compare with: the same, unless a target reads it otherwise.

        Some targets load a model and answer otherwise than others do, which a rewrite corrects.
        """
        elsewhere = self._best_reference()
        if original.why:
            return elsewhere
        if runner.facts.is_target and elsewhere is not None:
            expected = self.references[elsewhere]
            if not self.comparer.agree(self.trials, expected, original.outcomes):
                return elsewhere
        self.references[runner.name] = original.outcomes
        return runner.name

    def _ask(self, runner: OtherRunner) -> tuple[RunnerResult, list[RunnerResult]]:
        """The original, and the runs of the rewritten model: each in a new process if there are several."""
        if runner.facts.runs == 1:
            first, second = runner.ask([self.before, self.after], self.trials)
            return first, [second]
        (first,) = runner.ask([self.before], self.trials)
        results: list[RunnerResult] = []
        for number in range(1, runner.facts.runs + 1):
            doing = f"{runner.name}: run {number} of {runner.facts.runs}"
            self.progress(ProgressStep(doing, number - 1, runner.facts.runs))
            results += runner.ask([self.after], self.trials)
            if results[-1].why and not results[-1].crashes:  # refused: it would be again
                break
        return first, results

    def note_constants(self) -> None:
        """Note the outputs of the original that never varied."""
        if (reference := self._best_reference()) is not None:
            outcomes = self.references[reference]
            self.verification.constant += constant_outputs(
                self.before, self.trials, outcomes, self.comparer.tolerance_of
            )

    def _ask_own(self, trial: Trial) -> list[TrialOutcome]:
        if _is_repeatable(self.before):
            return []
        return [OwnSession(self.before, self.registry).ask(trial) for _ in range(2)]

    def _ask_rounded(self, number: int, trials: Sequence[Trial]) -> list[TrialOutcome]:
        """The original with sums that round otherwise, and inputs that are changed in the last bit."""
        from tfport.runtime.engines.rounded_model import RoundedRuntime  # few comparisons need it

        if not _is_repeatable(self.before):
            return []
        session = OwnSession(self.before, self.registry, RoundedRuntime(number))
        outcomes = [session.ask(nudged_trial(trial, number)) for trial in trials]
        session.release_memory()
        return outcomes

    def _ask_own_in_turn(self, trial: Trial) -> list[TrialOutcome]:
        """For a runner whose generators do not go on from one trial to the next, as those of a session do."""
        graph = self.before.model.graph
        graphs = (graph, *graph.library.functions.values())
        if _is_repeatable(self.before) or not any(each.has_any(DRAWS) for each in graphs):
            return self._ask_own(trial)
        session = OwnSession(self.before, self.registry)
        return [session.ask(trial) for _ in range(2)]

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


def _signature_of(tried: Tried) -> str:
    return tried[0].signature


def _refusal(results: Sequence[RunnerResult], crashes: int) -> str:
    """Why the rewritten model does not run: it is refused, or crashes in some of the runs."""
    why = next((result.why for result in results if result.why), "")
    if why and len(results) > 1:
        return f"the process crashed in {crashes} of {len(results)} runs: {why}" if crashes else why
    return why


def _is_repeatable(side: ModelSide) -> bool:
    """Whether a model only computes, or reads variables and tables, so that a second run is the same."""
    ends = {value.node for s in side.signatures.values() for value in side.model.ends_of(s)}
    nodes = needed_by(ends)
    inner = (node for function in called_by(nodes).values() for node in function)
    return not any(node.is_stateful and node.op not in _REPEATABLE for node in (*nodes, *inner))


_REPEATABLE = READS | {"VarHandleOp", "HashTableV2", "StatefulPartitionedCall", "Assert"}
"""Stateful ops that change nothing."""


def _first(answers: RunnerResult) -> TrialOutcome:
    return next(iter(answers.outcomes), TrialOutcome(why=answers.why, ran=False))
