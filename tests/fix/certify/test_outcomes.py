"""Differences by rounding errors that a model amplifies are told from others."""

import numpy as np
import pytest

from tfport.fix.certify.compare import Tolerance
from tfport.fix.certify.outcomes import MOST_UNSTABLE, ROUNDING, OutcomeComparer
from tfport.fix.certify.runners import TrialOutcome
from tfport.fix.certify.trials import GENERATED, Trial, nudged_trial
from tfport.fix.certify.verification import ALIKE, DIFFERS, Verification

TRIALS = [Trial("s", f"trial {i}", GENERATED, {"x": np.ones(3, np.float32)}) for i in range(9)]
WANTED = TrialOutcome({"y": np.ones(3, np.float32)})
ERROR = 0.01


def compared(different: int, own: float | None):
    """The comparison if some answers differ, and the last bit of the inputs changes the original so much."""
    wrong = TrialOutcome({"y": np.full(3, 1 + ERROR, np.float32)})
    answers = [wrong if i < different else WANTED for i in range(len(TRIALS))]
    nudged = [] if own is None else [TrialOutcome({"y": np.full(3, 1 + own, np.float32)})]
    verification = Verification(["s"])
    comparer = OutcomeComparer(verification, Tolerance())
    expected = [WANTED] * len(TRIALS)
    comparer.compare("a", "b", TRIALS, expected, [answers], lambda trial: [], lambda trial: nudged)
    return verification


def test_a_model_that_changes_as_much_itself_is_alike():
    verification = compared(1, ERROR)
    (comparison,) = verification.comparisons
    assert (verification.verdict, comparison.unstable) == (ALIKE, {"y": ["trial 0"]})
    assert any("rounding errors" in caveat for caveat in verification.caveats)
    assert comparison.outputs["y"].trials == len(TRIALS)


@pytest.mark.parametrize(
    ("different", "own"),
    [(1, None), (1, 0.0), (1, ERROR / ROUNDING / 2), (len(TRIALS) // MOST_UNSTABLE + 1, ERROR)],
    ids=["not asked", "no change", "a small change", "too many trials"],
)
def test_other_differences_count(different, own):
    verification = compared(different, own)
    assert verification.verdict == DIFFERS
    assert verification.failed is not None


def test_a_nudged_trial_differs_in_the_last_bit():
    trial = Trial("s", "t", GENERATED, {"x": np.linspace(1, 2, 50, dtype=np.float32), "n": np.arange(3)})
    nudged = nudged_trial(trial, 0)
    assert set(np.abs(nudged.inputs["x"].view(np.int32) - trial.inputs["x"].view(np.int32))) == {1}
    assert nudged.inputs["n"].tolist() == [0, 1, 2]
