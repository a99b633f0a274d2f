"""The result of comparing two models: trials, differences for each runner, and the verdict.

The strongest verdict is that the outputs agree on the inputs that were tried. It does not claim
that they agree on other inputs.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.certify.compare import NarrowestType, OutputDifference, Tolerance
from tfport.fix.certify.failed_trial import FailedTrial
from tfport.fix.certify.trials import GIVEN, UNENDED, WARMUP, Trial
from tfport.startup.dataclass import dataclass, field
from tfport.words import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.fix.certify.provenance import RunnerFacts


ALIKE, DIFFERS, NOT_COMPARED = "alike", "differs", "not compared"
ANSWERED, REFUSED = "answered", "refused"
REAL = {GIVEN: "the user's inputs", WARMUP: "a warm-up request"}


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A trial, and the outcome of the original."""

    signature: str
    name: str
    origin: str
    finite: bool
    original: str
    """`answered`, or `refused`."""
    why: str = ""
    inputs: Sequence[InputRecord] = ()
    seed: int | None = None
    """The seed that makes the inputs; None for real inputs."""

    @classmethod
    def of(cls, trial: Trial, is_answered: bool, why: str) -> TrialRecord:
        result = ANSWERED if is_answered else REFUSED
        inputs = input_records(trial)
        return cls(trial.signature, trial.name, trial.origin, trial.finite, result, why, inputs, trial.seed)


@dataclass(slots=True)
class AnswerComparison:
    """The rewritten model on one runner, compared with the original on the same or another runner."""

    signature: str
    runner: str
    reference: str
    """The runner of the original."""
    outputs: dict[str, OutputDifference] = field(default_factory=dict)
    not_finite: dict[str, OutputDifference] = field(default_factory=dict)
    """The differences on inputs with NaN or infinities; they are reported, but do not affect the verdict."""
    answered: int = 0
    """Trials that both answered."""
    refused: int = 0
    """Trials that both refused."""
    only_rewritten_answers: list[str] = field(default_factory=list)
    only_rewritten_refuses: list[tuple[str, str]] = field(default_factory=list)
    """Names of trials, and why."""
    random: list[str] = field(default_factory=list)
    """Outputs that differ between two runs of the original."""
    unstable: dict[str, list[str]] = field(default_factory=dict)
    """Trials by output that differ by no more than rounding: the original's own output changes as much if its
    inputs change in the last bit."""
    stopped: str = ""
    """Why the rewritten model does not run on the target."""
    runs: int = 1
    """How often the rewritten model was run, each time in a new process."""
    failed: FailedTrial | None = None
    """The trial with the largest difference beyond the tolerance."""

    @property
    def verdict(self) -> str:
        judged = [difference for name, difference in self.outputs.items() if name not in self.random]
        if self.stopped or self.only_rewritten_refuses or not all(difference.alike for difference in judged):
            return DIFFERS
        return ALIKE if self.answered and judged else NOT_COMPARED

    @property
    def first_different(self) -> str | None:
        return next((n for n, d in self.outputs.items() if not d.alike and n not in self.random), None)


def over_runs(runs: Sequence[AnswerComparison]) -> AnswerComparison:
    """One comparison for several runs of the rewritten model: what any of them showed."""
    first = runs[0]
    return AnswerComparison(
        first.signature,
        first.runner,
        first.reference,
        outputs=_added([run.outputs for run in runs]),
        not_finite=_added([run.not_finite for run in runs]),
        answered=min(run.answered for run in runs),
        refused=min(run.refused for run in runs),
        only_rewritten_answers=list(dict.fromkeys(t for run in runs for t in run.only_rewritten_answers)),
        only_rewritten_refuses=list(
            {t: (t, why) for run in runs for t, why in run.only_rewritten_refuses}.values()
        ),
        random=list(dict.fromkeys(name for run in runs for name in run.random)),
        unstable={
            name: list(dict.fromkeys(t for run in runs for t in run.unstable.get(name, ())))
            for name in dict.fromkeys(name for run in runs for name in run.unstable)
        },
        runs=len(runs),
        failed=next((run.failed for run in runs if run.failed is not None), None),
    )


def _added(runs: Sequence[dict[str, OutputDifference]]) -> dict[str, OutputDifference]:
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: reduce(add, [run[name] for run in runs if name in run]) for name in names}


@dataclass(slots=True)
class Verification:
    """All trials and comparisons."""

    signatures: list[str]
    trials: list[TrialRecord] = field(default_factory=list)
    comparisons: list[AnswerComparison] = field(default_factory=list)
    not_asked: list[tuple[str, str]] = field(default_factory=list)
    """Runners that could not be used, and why."""
    needed: list[str] = field(default_factory=list)
    """What the target needs besides the package that was named."""
    left_out: list[str] = field(default_factory=list)
    """Trials that were skipped, and why."""
    runners_used: list[RunnerFacts] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)
    """A sentence for each output that never varied."""
    same_as: dict[str, str] = field(default_factory=dict)
    """Signatures that compute the same as one that was compared, in both models."""
    rtol: float | None = None
    atol: float | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """The arguments of `verify` that another comparison needs to try the same."""
    narrowest: dict[str, dict[str, NarrowestType]] = field(default_factory=dict)
    """By signature and output: the type inside the model whose tolerances hold for a wider output."""

    @property
    def failed(self) -> FailedTrial | None:
        """The trial to look at first if the outputs differ."""
        return next((c.failed for c in self.comparisons if c.verdict == DIFFERS and c.failed), None)

    @property
    def verdict(self) -> str:
        """`alike` if no runner found a difference, and every signature was compared."""
        if any(comparison.verdict == DIFFERS for comparison in self.comparisons):
            return DIFFERS
        if self.not_proven:
            return NOT_COMPARED
        compared = {comparison.signature for comparison in self.comparisons if comparison.verdict == ALIKE}
        return ALIKE if self.signatures and compared >= set(self.signatures) else NOT_COMPARED

    @property
    def not_proven(self) -> list[AnswerComparison]:
        """Comparisons in the target itself that compared nothing: no input was answered by both models."""
        targets = {facts.name for facts in self.runners_used if facts.is_target}
        return [c for c in self.comparisons if c.runner in targets and not c.answered]

    @property
    def not_compared(self) -> list[str]:
        """Signatures that no runner could compare."""
        compared = {
            comparison.signature for comparison in self.comparisons if comparison.verdict != NOT_COMPARED
        }
        return [name for name in self.signatures if name not in compared]

    @property
    def runners(self) -> list[str]:
        return list(
            dict.fromkeys(comparison.runner for comparison in self.comparisons if comparison.answered)
        )

    @property
    def statement(self) -> str:
        """The one sentence that the verification supports."""
        if self.verdict == ALIKE:
            answered = min(self._answered(name) for name in self.signatures)
            each = " for each signature" if len(self.signatures) > 1 else ""
            most = "at least " if len(self.signatures) > 1 else ""
            return (
                f"outputs agree on {most}{count(answered, 'input')}{each}, compared in {self._runner_names()}"
            )
        if self.verdict == DIFFERS:
            return f"outputs differ: {self._first_difference()}"
        if self.not_proven and not self.not_compared:
            names = ", ".join(comparison.signature for comparison in self.not_proven)
            runner = self.not_proven[0].runner
            return f"not compared in {runner}: {names} (both models answered none of the inputs)"
        why = self._why_not()
        return f"not compared: {', '.join(self.not_compared) or 'no signature'}{f' ({why})' if why else ''}"

    @property
    def caveats(self) -> list[str]:
        """What a reader should know in addition to the statement."""
        return list(dict.fromkeys(self._caveats()))

    def _caveats(self) -> Iterable[str]:
        yield from self.needed
        for comparison in self.comparisons:
            signature, runner = comparison.signature, comparison.runner
            if comparison.random:
                yield f"{signature}: {', '.join(comparison.random)} is random and cannot be compared"
            odd = [
                name
                for name, d in comparison.not_finite.items()
                if not d.alike and name not in comparison.random
            ]
            if odd:
                yield f"{signature}: {', '.join(odd)} differs on NaN or infinite inputs ({runner})"
            for name, inputs in comparison.unstable.items():
                listed = ", ".join(f"`{trial}`" for trial in inputs)
                yield (
                    f"{signature}: {name} differs with inputs {listed} ({runner}) by rounding errors: the "
                    "original changes about as much if its last bits do"
                )
            if comparison.only_rewritten_answers:
                trials = count(len(comparison.only_rewritten_answers), "input")
                yield f"{signature}: accepts {trials} that the original refuses ({runner})"
            for name, difference in comparison.outputs.items():
                if difference.rows and name not in comparison.random:
                    yield f"{signature}: {_loss(name, difference)} ({runner})"
        for signature, outputs in self.narrowest.items():
            yield from (f"{signature}: {self._judged(signature, name)}" for name in outputs)
        for trial in self.trials:
            if trial.origin in REAL and trial.original == REFUSED:
                yield f"{trial.signature}: the original refuses {REAL[trial.origin]}: {trial.why}"
        for facts in self.runners_used:
            if facts.expected and facts.version and facts.version != facts.expected:
                yield f"{facts.name} was run as the target, which is {facts.expected}"
            if facts.crashes:
                yield f"{facts.name}: the process crashed in {facts.crashes} of {count(facts.runs, 'run')}"
        yield from (f"{runner} was not used: {why}" for runner, why in self.not_asked)
        yield from self.constant
        yield from (f"skipped: {what}" for what in self.left_out)

    def _answered(self, signature: str) -> int:
        return max(
            comparison.answered
            for comparison in self.comparisons
            if comparison.signature == signature and comparison.verdict == ALIKE
        )

    def _runner_names(self) -> str:
        names = ["tfport's runtime" if name.startswith("tfport") else name for name in self.runners]
        return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

    def _first_difference(self) -> str:
        comparison = next(comparison for comparison in self.comparisons if comparison.verdict == DIFFERS)
        signature, runner = comparison.signature, comparison.runner
        if comparison.stopped:
            return f"{signature} does not run on {runner}: {comparison.stopped}"
        if comparison.only_rewritten_refuses:
            trial, why = comparison.only_rewritten_refuses[0]
            return f"{signature} refuses `{trial}` on {runner}, which the original accepts: {why}"
        name = comparison.first_different or ""
        difference = comparison.outputs[name]
        if difference.problem:
            return f"{name} of {signature} on {runner}: {difference.problem}"
        beyond = f"{difference.beyond:,} of {difference.elements:,} elements beyond the tolerance"
        worst = f"; with inputs `{difference.worst.trial}`, {difference.worst}" if difference.worst else ""
        return f"{name} of {signature} on {runner}: {beyond}{worst}"

    def _judged(self, signature: str, output: str) -> str:
        """The tolerances of an output that is computed in a narrower type, and why."""
        narrowest = self.narrowest[signature][output]
        words = Tolerance(self.rtol, self.atol, narrowest=narrowest).words(narrowest.dtype)
        return (
            f"`{output}` is judged as {narrowest} ({words}), because `{narrowest.node}` computes in "
            f"{narrowest}"
        )

    def _why_not(self) -> str:
        if self.not_asked:
            return self.not_asked[0][1]
        refused = [trial for trial in self.trials if trial.signature in self.not_compared and trial.why]
        if not refused:
            return "; ".join(self.left_out)
        why, times = Counter(trial.why for trial in refused).most_common(1)[0]
        if unended := next((trial for trial in refused if trial.why.startswith(UNENDED)), None):
            return f"the comparison did not finish: with inputs `{unended.name}`, {unended.why}"
        inputs = (
            "the user's inputs" if refused[0].origin == GIVEN else f"{times:,} of {len(refused):,} inputs"
        )
        return f"the original refuses {inputs}: {why}"


def _loss(name: str, difference: OutputDifference) -> str:
    """How much of an output a lossy conversion changed."""
    part = difference.absolute / difference.largest if difference.largest else 0.0
    return (
        f"`{name}` differs by up to {difference.absolute:.3g}, {part:.2%} of its largest number; the largest "
        f"element is the same in {difference.same_argmax:,} of {count(difference.rows, 'row')}"
    )


# The inputs of a trial in a certificate: dtype, shape and SHA-256 of each.

HOW = (
    "The SHA-256 of an input is that of its elements in row-major order, little-endian, as "
    "numpy's tobytes() returns them; before each string its length as 8 bytes."
)


@dataclass(frozen=True, slots=True)
class InputRecord:
    """One input of a trial; a composite input has one record for each part."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str


def input_records(trial: Trial) -> list[InputRecord]:
    return [_record(name, np.asarray(array)) for name, array in _parts(trial)]


def _parts(trial: Trial) -> Iterator[tuple[str, Any]]:
    for name, array in trial.inputs.items():
        if isinstance(array, tuple):
            yield from ((f"{name}[{i}]", part) for i, part in enumerate(array))
        else:
            yield name, array


def _record(name: str, array: NDArray[Any]) -> InputRecord:
    is_text = array.dtype.kind in "OSU"
    sha256 = hashlib.sha256()
    if is_text:
        for element in array.reshape(-1).tolist():
            text = element if isinstance(element, bytes) else str(element).encode(errors="surrogateescape")
            sha256.update(len(text).to_bytes(8, "little") + text)
    else:
        sha256.update(np.ascontiguousarray(array).tobytes())
    return InputRecord(name, "string" if is_text else array.dtype.name, array.shape, sha256.hexdigest())
