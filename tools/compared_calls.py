"""Calls of a model in another runtime, compared with its answers in tfport as certificates compare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfport.fix.certify.compare import Tolerance
from tfport.fix.certify.model_pair import both_sides
from tfport.fix.certify.outcomes import OutcomeComparer
from tfport.fix.certify.runners import OwnSession, TrialOutcome
from tfport.fix.certify.trial_plan import TrialPlan
from tfport.fix.certify.trials import Trial, nudged_trial
from tfport.fix.certify.verification import ALIKE, Verification
from tfport.graph.model import Model
from tfport.runtime.engines.rounded_model import RoundedRuntime
from tfport.startup.dataclass import replace

Arrays = Mapping[str, Any]
RTOL, ATOL = 1e-3, 1e-4


class ComparedCalls:
    """The trials of a signature, with the answers of a runtime and of tfport."""

    def __init__(self, model: Model, signature: str) -> None:
        self._side, _ = both_sides(model, model, [signature], ())
        self._signature = signature
        self._called: list[tuple[Trial, Arrays, Arrays]] = []
        self._first_wrong = ""

    def trials(self) -> Iterator[Trial]:
        """Finite inputs that the model accepts, or the first of those that it refuses."""
        session = OwnSession(self._side, None)
        plan = TrialPlan(self._side, session.ask, [], Verification([self._signature]), session.words())
        for trial, _ in plan.trials():
            if trial.finite and trial.inputs:
                yield trial

    def add(self, trial: Trial, outputs: Arrays, expected: Arrays, call: str) -> None:
        self._called.append((replace(trial, name=call), outputs, expected))
        if not self._first_wrong and (different := differences(outputs, expected)):
            self._first_wrong = f"{call}: wrong: {different}"

    def wrong(self) -> str:
        """The first call whose answers differ, unless they do by rounding errors that the model amplifies."""
        if not self._first_wrong:
            return ""
        verification = Verification([self._signature])
        comparer = OutcomeComparer(verification, Tolerance(rtol=RTOL, part=ATOL))
        trials, outputs, expected = zip(*self._called, strict=True)
        sides = [[TrialOutcome(each) for each in side] for side in (expected, outputs)]
        comparer.compare("runtime", "tfport", trials, sides[0], [sides[1]], lambda _: [], self._rounded)
        return "" if verification.verdict == ALIKE else self._first_wrong

    def _rounded(self, number: int, trials: Sequence[Trial]) -> list[TrialOutcome]:
        session = OwnSession(self._side, None, RoundedRuntime(number))
        return [session.ask(nudged_trial(trial, number)) for trial in trials]


def differences(outputs: Arrays, expected: Arrays) -> str:
    if set(outputs) != set(expected):
        return f"outputs {sorted(outputs)}, not {sorted(expected)}"
    for name, value in expected.items():
        ours, theirs = np.asarray(outputs[name]), np.asarray(value)
        ours = ours.reshape(()) if not theirs.ndim and ours.shape == (1,) else ours  # Triton has no scalars
        if ours.shape != theirs.shape:
            return f"`{name}` is {ours.shape}, not {theirs.shape}"
        if theirs.dtype.kind in "OSU":
            same = ours.tolist() == theirs.tolist()
        elif theirs.dtype.kind in "iub":
            same = np.array_equal(ours.astype(np.float64), theirs.astype(np.float64))
        else:
            kind = np.complex128 if theirs.dtype.kind == "c" else np.float64
            a, b = ours.astype(kind), theirs.astype(kind)
            scale = max((float(np.abs(b[np.isfinite(b)]).max(initial=0.0)), 0.0))
            same = np.allclose(a, b, rtol=RTOL, atol=max(ATOL, RTOL * scale / 10), equal_nan=True)
        if not same:
            return f"`{name}`{_distance(ours, theirs)}"
    return ""


def _distance(ours: NDArray[Any], theirs: NDArray[Any]) -> str:
    if theirs.dtype.kind not in "fiu":
        return ""
    with np.errstate(invalid="ignore"):
        far = np.abs(ours.astype(float) - theirs.astype(float))
        return f", {np.nanmax(far, initial=0):.3g} of {np.nanmax(np.abs(theirs), initial=0):.3g}"
