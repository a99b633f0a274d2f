"""What comes of comparing two models: trials, differences for each runner, and what may be said of them.

The strongest verdict is that both answered alike on the inputs that were tried. Nothing here says
that they are equal: nobody has looked at the inputs that were not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tfport.check.console import count
from tfport.fix.certify.compare import OutputDifference

ALIKE, DIFFERS, NOT_COMPARED = "alike", "differs", "not compared"
ANSWERED, REFUSED = "answered", "refused"
GIVEN, WARMUP, MADE_UP = "given", "warm-up", "made up"
"""Where the inputs of a trial come from."""
REAL = {GIVEN: "given", WARMUP: "left for warming up"}


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial, and what the original said to it."""

    signature: str
    name: str
    origin: str
    finite: bool
    original: str
    """`answered`, or `refused`."""
    why: str = ""


@dataclass(slots=True)
class AnswerComparison:
    """The rewritten model on one runner beside the original, on that runner or another."""

    signature: str
    runner: str
    reference: str
    """Who ran the original."""
    outputs: dict[str, OutputDifference] = field(default_factory=dict)
    not_finite: dict[str, OutputDifference] = field(default_factory=dict)
    """The same for inputs with NaN or infinities; they are told and do not decide."""
    answered: int = 0
    """Trials that both answered."""
    refused: int = 0
    """Trials that both refused."""
    only_rewritten_answers: list[str] = field(default_factory=list)
    only_rewritten_refuses: list[tuple[str, str]] = field(default_factory=list)
    """Names of trials, and why."""
    random: list[str] = field(default_factory=list)
    """Outputs in which the original does not even agree with itself."""
    stopped: str = ""
    """Why the rewritten model does not run where it should."""

    @property
    def verdict(self) -> str:
        judged = [one for name, one in self.outputs.items() if name not in self.random]
        if self.stopped or self.only_rewritten_refuses or not all(one.alike for one in judged):
            return DIFFERS
        return ALIKE if self.answered and judged else NOT_COMPARED

    @property
    def first_different(self) -> str | None:
        return next((n for n, d in self.outputs.items() if not d.alike and n not in self.random), None)


@dataclass(slots=True)
class Verification:
    """All that was tried."""

    signatures: list[str]
    trials: list[Tried] = field(default_factory=list)
    comparisons: list[AnswerComparison] = field(default_factory=list)
    not_asked: list[tuple[str, str]] = field(default_factory=list)
    """Runners that could not take part, and why."""
    left_out: list[str] = field(default_factory=list)
    """Trials that were not made, and why."""
    rtol: float | None = None
    atol: float | None = None

    @property
    def verdict(self) -> str:
        """Alike where nobody saw a difference and every signature was compared by somebody."""
        if any(one.verdict == DIFFERS for one in self.comparisons):
            return DIFFERS
        compared = {one.signature for one in self.comparisons if one.verdict == ALIKE}
        return ALIKE if self.signatures and compared >= set(self.signatures) else NOT_COMPARED

    @property
    def not_compared(self) -> list[str]:
        """Signatures of which nothing can be said."""
        compared = {one.signature for one in self.comparisons if one.verdict != NOT_COMPARED}
        return [name for name in self.signatures if name not in compared]

    @property
    def runners(self) -> list[str]:
        return list(dict.fromkeys(one.runner for one in self.comparisons if one.answered))

    @property
    def statement(self) -> str:
        """The one sentence that the verification supports."""
        if self.verdict == ALIKE:
            answered = min(self._answered(name) for name in self.signatures)
            each = " for each signature" if len(self.signatures) > 1 else ""
            most = "at least " if len(self.signatures) > 1 else ""
            return f"answers alike on {most}{count(answered, 'input')}{each}, compared by {self._who()}"
        if self.verdict == DIFFERS:
            return f"answers differently: {self._first_problem()}"
        why = self._why_not()
        return f"not compared: {', '.join(self.not_compared) or 'no signature'}{f' ({why})' if why else ''}"

    @property
    def caveats(self) -> list[str]:
        """What a reader should know beside the statement."""
        return list(dict.fromkeys(self._caveats()))

    def _caveats(self) -> Iterable[str]:
        for one in self.comparisons:
            if one.random:
                yield f"{one.signature}: {', '.join(one.random)} cannot be compared, being random"
            odd = [name for name, d in one.not_finite.items() if not d.alike and name not in one.random]
            if odd:
                yield f"{one.signature}: {', '.join(odd)} differs on NaN or infinite inputs ({one.runner})"
            if one.only_rewritten_answers:
                trials = count(len(one.only_rewritten_answers), "input")
                yield f"{one.signature}: answers {trials} that the original refuses ({one.runner})"
        for trial in self.trials:
            if trial.origin in REAL and trial.original == REFUSED:
                yield f"{trial.signature}: the original refuses what was {REAL[trial.origin]}: {trial.why}"
        yield from (f"{runner} was not asked: {why}" for runner, why in self.not_asked)
        yield from (f"left out: {what}" for what in self.left_out)

    def _answered(self, signature: str) -> int:
        return max(
            one.answered for one in self.comparisons if one.signature == signature and one.verdict == ALIKE
        )

    def _who(self) -> str:
        names = ["tfport's runtime" if name.startswith("tfport") else name for name in self.runners]
        return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

    def _first_problem(self) -> str:
        one = next(one for one in self.comparisons if one.verdict == DIFFERS)
        if one.stopped:
            return f"{one.signature} does not run on {one.runner}: {one.stopped}"
        if one.only_rewritten_refuses:
            trial, why = one.only_rewritten_refuses[0]
            return f"{one.signature} refuses `{trial}` on {one.runner}, which the original answers: {why}"
        name = one.first_different or ""
        difference = one.outputs[name]
        if difference.problem:
            return f"{name} of {one.signature} on {one.runner}: {difference.problem}"
        beyond = f"{difference.beyond:,} of {difference.elements:,} elements"
        return f"{name} of {one.signature} on {one.runner}: {beyond} beyond the tolerance"

    def _why_not(self) -> str:
        if self.not_asked:
            return self.not_asked[0][1]
        reasons = Counter(one.why for one in self.trials if one.signature in self.not_compared and one.why)
        return reasons.most_common(1)[0][0] if reasons else ""
