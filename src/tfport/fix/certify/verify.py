"""Compare a rewritten model with its original on the same inputs.

`verify(before, after)` uses the user's inputs, or generates inputs that the original accepts and adds
the model's warm-up requests, and runs both models on every runner: tfport's own runtime, TensorFlow if
it is installed, and each Python that the caller names. `certificate` presents the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.fix.certify.compare import Tolerance, compare, is_float
from tfport.fix.certify.model_pair import answerable, both_sides, with_outputs, without_repeats
from tfport.fix.certify.narrowest import narrowest_types
from tfport.fix.certify.other_runner import OtherRunner
from tfport.fix.certify.outcomes import OutcomeComparer
from tfport.fix.certify.provenance import own_facts, own_name
from tfport.fix.certify.runners import ModelSide, OwnSession, RunnerResult, TrialOutcome
from tfport.fix.certify.tensorflow_runner import live_tensorflow
from tfport.fix.certify.trial_plan import TrialPlan
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
    verifier.own(user_inputs, alone=not others)
    for runner in others:
        verifier.foreign(runner)
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
        self.references: dict[str, list[TrialOutcome]] = {}
        """The outcomes of the original for all trials, by runner."""
        for signature in self.before.signatures.values():
            if narrowest := narrowest_types(self.before.model, signature):
                verification.narrowest[signature.name] = narrowest

    def own(self, user_inputs: Sequence[Mapping[str, Any]], *, alone: bool) -> None:
        """Generate the trials, and run both models on them in tfport's runtime.

        One model and one signature at a time: the plan of each has its own copy of the weights. `alone`: no
        other runner needs the trials.
        """
        original, rewritten = (OwnSession(side, self.registry) for side in (self.before, self.after))
        outcomes: list[TrialOutcome] = []
        answers: list[TrialOutcome] = []

        def ask(trial: Trial) -> TrialOutcome:
            self.progress(f"{trial.signature}: {trial.name}")
            return original.ask(trial)

        def is_same(signature: str) -> bool:
            first, second = original.program(signature), rewritten.program(signature)
            return alone and first is not None and second is not None and compute_the_same(first, second)

        plan = TrialPlan(self.before, ask, user_inputs, self.verification, original.words(), is_same)
        for _, planned in itertools.groupby(plan.trials(), key=lambda pair: pair[0].signature):
            tried = list(planned)
            for trial, outcome in tried:
                self._record(trial, outcome)
            original.release_memory()
            for done, (trial, outcome) in enumerate(tried):
                doing = f"{trial.signature}: {trial.name}, rewritten"
                self.progress(ProgressStep(doing, done, len(tried)))
                answers.append(rewritten.ask(trial, keeps=outcome.outputs is not None))
            rewritten.release_memory()
            self.trials += [trial for trial, _ in tried]
            outcomes += [outcome for _, outcome in tried]
        reasons = [answer.why for answer in [*outcomes, *answers] if not answer.ran]
        if reasons:
            self.verification.not_asked.append((own_name(), reasons[0]))
        if any(answer.ran for answer in outcomes):
            self.references[own_name()] = outcomes
        self.verification.runners_used.append(own_facts())
        self.comparer.compare(own_name(), own_name(), self.trials, outcomes, [answers], self._ask_own)
        self._keep_answered(outcomes)

    def _keep_answered(self, outcomes: Sequence[TrialOutcome]) -> None:
        """Drop generated trials that the original refuses, if it answers others: releases crash on some."""
        pairs = list(zip(self.trials, outcomes, strict=True))
        answered = {trial.signature for trial, outcome in pairs if outcome.outputs is not None}
        kept = [
            (trial, outcome)
            for trial, outcome in pairs
            if outcome.outputs is not None or trial.origin != GENERATED or trial.signature not in answered
        ]
        self.trials = [trial for trial, _ in kept]
        if own_name() in self.references:
            self.references[own_name()] = [outcome for _, outcome in kept]

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


# Outputs that never vary: a comparison says little about them.


def constant_outputs(
    side: ModelSide,
    trials: Sequence[Trial],
    outcomes: Sequence[TrialOutcome],
    tolerance_of: Callable[[str, str], Tolerance],
) -> Iterator[str]:
    """A sentence for each output of the original that does not vary, or is always NaN or empty.

    An output that is the same, within the tolerance, for every input of its size may depend on a part of the
    model that the inputs do not reach: a model that ignores its inputs would agree too. One that is always
    NaN agrees with any other NaN, and one that is always empty has nothing to compare.
    """
    for name, signature in side.signatures.items():
        answers = [
            (trial, outcome.outputs)
            for trial, outcome in zip(trials, outcomes, strict=True)
            if trial.signature == name and trial.finite and outcome.outputs is not None
        ]
        if len(answers) < 2 or not signature.inputs:
            continue
        for output in signature.outputs:
            values = [(_shapes(trial), outputs[output]) for trial, outputs in answers]
            yield from _sentence(f"{name}: {output}", values, tolerance_of(name, output))


def _sentence(output: str, answers: Sequence[tuple[Any, Any]], tolerance: Tolerance) -> Iterator[str]:
    """A sentence about an output, from the shapes of the inputs and its values."""
    arrays = [np.asarray(part) for _, value in answers for part in _parts(value)]
    if not any(array.size for array in arrays):
        yield f"{output} was empty for all {len(answers)} inputs, so nothing in it was compared"
    elif all(is_float(array.dtype) and bool(np.isnan(array).all()) for array in arrays):
        yield f"{output} was NaN for all {len(answers)} inputs, so the comparison says nothing about it"
    elif _never_varies(answers, tolerance):
        yield (
            f"{output} never varied: it was the same for all inputs of a size, so the comparison says "
            "little about it"
        )


def _never_varies(answers: Sequence[tuple[Any, Any]], tolerance: Tolerance) -> bool:
    """Whether the answers to inputs of the same sizes are the same, and there are some of the same sizes."""
    first: dict[Any, Any] = {}
    for shapes, value in answers:
        if not compare(value, first.setdefault(shapes, value), tolerance).alike:
            return False
    return len(first) < len(answers)


def _shapes(trial: Trial) -> tuple[Any, ...]:
    return tuple(np.shape(part) for value in trial.inputs.values() for part in _parts(value))


def _parts(output: Any) -> Sequence[Any]:
    return output if isinstance(output, tuple) else (output,)
