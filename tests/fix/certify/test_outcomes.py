"""Differences by rounding errors that a model amplifies are told from others."""

import numpy as np
import pytest
from tests.fix.certify.models import frozen

from tfport.fix.certify.compare import Tolerance
from tfport.fix.certify.model_pair import both_sides
from tfport.fix.certify.outcomes import FACTOR, MOST_UNSTABLE, OutcomeComparer
from tfport.fix.certify.runners import OwnSession, TrialOutcome
from tfport.fix.certify.trials import GENERATED, Trial, nudged_trial
from tfport.fix.certify.verification import ALIKE, DIFFERS, Verification
from tfport.runtime.engines.rounded_model import RoundedRuntime

TRIALS = [Trial("s", f"trial {i}", GENERATED, {"x": np.ones(3, np.float32)}) for i in range(9)]
ELEMENTS = 64
LARGE, SMALL = 0.01, 5e-4


def outcome(error) -> TrialOutcome:
    """Ones with an error, for all elements or each of them."""
    return TrialOutcome({"y": (1 + np.zeros(ELEMENTS) + error).astype(np.float32)})


def ragged(error, last: int = 2) -> TrialOutcome:
    """The same as the values of a ragged tensor."""
    return TrialOutcome({"y": (outcome(error).outputs["y"], np.array([0, 1, last]))})


def compared(different: int, error, own, outcome=outcome):
    """The comparison if some answers have an error; `own` is what rounding changes in the original."""
    answers = [outcome(error if i < different else 0.0) for i in range(len(TRIALS))]
    verification = Verification(["s"])
    comparer = OutcomeComparer(verification, Tolerance())
    comparer.compare(
        "a",
        "b",
        TRIALS,
        [outcome(0.0)] * len(TRIALS),
        [answers],
        lambda trial: [],
        lambda number, trials: [] if own is None else [outcome(own)] * len(trials),
    )
    return verification


def at(*elements: int) -> np.ndarray:
    """One at these elements, zero elsewhere."""
    return np.isin(np.arange(ELEMENTS), elements).astype(np.float64)


FEW = at(0, 9)
ALL = len(TRIALS)


@pytest.mark.parametrize(
    ("different", "error", "own"),
    [
        (1, LARGE, LARGE),
        (ALL // MOST_UNSTABLE, LARGE * at(3), LARGE * at(5)),
        (ALL, SMALL, SMALL / FACTOR * 1.1),
        (ALL, SMALL * FEW, SMALL * FEW),
    ],
    ids=["large", "a jump of another element", "small", "small, of few elements"],
)
def test_a_model_that_changes_as_much_itself_is_alike(different, error, own):
    verification = compared(different, error, own)
    (comparison,) = verification.comparisons
    names = [trial.name for trial in TRIALS[:different]]
    assert (verification.verdict, comparison.unstable) == (ALIKE, {"y": names})
    assert any("rounding errors" in caveat for caveat in verification.caveats)
    assert comparison.outputs["y"].trials == len(TRIALS)


@pytest.mark.parametrize(
    ("different", "error", "own"),
    [
        (1, LARGE, None),
        (1, LARGE, 0.0),
        (1, LARGE, LARGE / FACTOR / 2),
        (ALL // MOST_UNSTABLE + 1, LARGE, LARGE),
        (1, LARGE, LARGE * FEW),
        (1, LARGE, np.inf),
        (ALL, SMALL, SMALL / FACTOR / 2),
        (ALL, SMALL * (1 - FEW), SMALL * FEW),
        (1, SMALL * at(3), SMALL * at(5)),
        (1, SMALL * (FEW + at(3)), SMALL * FEW),
    ],
    ids=[
        "not asked",
        "no change",
        "too small a change",
        "too many trials",
        "few elements change",
        "not finite",
        "small, beyond rounding",
        "other elements change",
        "another element changes",
        "one element more",
    ],
)
def test_other_differences_count(different, error, own):
    verification = compared(different, error, own)
    assert verification.verdict == DIFFERS
    assert verification.failed is not None


def test_values_of_a_ragged_tensor_may_round():
    assert compared(ALL, SMALL, SMALL, ragged).verdict == ALIKE
    assert compared(ALL, SMALL, 0.0, ragged).verdict == DIFFERS
    rows_differ = compared(1, SMALL, SMALL, lambda error: ragged(error, last=3 if np.any(error) else 2))
    assert rows_differ.verdict == DIFFERS


# Mutants of a model with a part that amplifies rounding errors

MODEL = """
x = Placeholder() {{dtype=float32, shape=(?, 8)}}
w = Const() {{dtype=float32, value=float32(8,8){weights}}}
m = MatMul(x, w) {{T=float32, transpose_a=false, transpose_b=false}}
v = Const() {{dtype=float32, value=float32(8,8){near}}}
n = MatMul(x, v) {{T=float32, transpose_a=false, transpose_b=false}}
less = Sub(n, m) {{T=float32}}
scale = Const() {{dtype=float32, value=float32()[{scale}]}}
amplified = Mul(less, scale) {{T=float32}}
stable = {activation}(m) {{T=float32}}
bias = Const() {{dtype=float32, value=float32()[{bias}]}}
plain = AddV2(stable, bias) {{T=float32}}
axis = Const() {{dtype=int32, value=int32()[1]}}
y = ConcatV2(amplified, plain, axis) {{N=2, T=float32, Tidx=int32}}
"""
WEIGHTS = np.round(np.random.default_rng(3).normal(size=64), 3)
NEAR = WEIGHTS + np.random.default_rng(4).normal(size=64) / 1000
FACTS = {"near": NEAR.tolist(), "scale": 1000.0, "activation": "Tanh", "bias": 0.5}


def model(wrong_weights=(), **facts):
    """The model, or a mutant: with other constants, or with numbers added to some weights."""
    weights = WEIGHTS.copy()
    for index, error in wrong_weights:
        weights[index] += error
    return frozen(MODEL.format(weights=weights.tolist(), **FACTS | facts))


def verdict(**mutation):
    """The verdict on a mutant of the model in a runtime that rounds otherwise."""
    before, after = both_sides(model(), model(**mutation), None, ["y"])
    random = np.random.default_rng(5)
    arrays = [random.normal(size=(n, 8)).astype(np.float32) for n in range(4, 10)]
    (signature,) = before.signatures
    trials = [Trial(signature, f"{len(array)} rows", GENERATED, {"x": array}) for array in arrays]

    def rounded(number, asked, side=before):
        session = OwnSession(side, None, RoundedRuntime(number))
        return [session.ask(nudged_trial(trial, number)) for trial in asked]

    verification = Verification([signature])
    comparer = OutcomeComparer(verification, Tolerance())
    expected = [OwnSession(before, None).ask(trial) for trial in trials]
    comparer.compare("a", "b", trials, expected, [rounded(99, trials, after)], lambda trial: [], rounded)
    (comparison,) = verification.comparisons
    return verification.verdict, bool(comparison.unstable)


def test_the_model_itself_differs_by_rounding_alone():
    assert verdict() == (ALIKE, True)


@pytest.mark.parametrize(
    "mutation",
    [
        {"bias": 0.5003},
        {"bias": 0.501},
        {"scale": 1003.0},
        {"scale": 1000.1, "bias": 0.501},
        {"activation": "Softsign"},
        {"activation": "Sigmoid"},
        {"wrong_weights": [(0, 0.01)]},
        {"wrong_weights": [(9, 0.003)]},
        {"wrong_weights": [(0, 0.01), (63, -0.01)]},
    ],
    ids=str,
)
def test_a_mutant_differs_by_more_than_rounding(mutation):
    assert verdict(**mutation)[0] == DIFFERS


def test_a_nudged_trial_differs_in_the_last_bit():
    trial = Trial("s", "t", GENERATED, {"x": np.linspace(1, 2, 50, dtype=np.float32), "n": np.arange(3)})
    nudged = nudged_trial(trial, 0)
    assert set(np.abs(nudged.inputs["x"].view(np.int32) - trial.inputs["x"].view(np.int32))) == {1}
    assert nudged.inputs["n"].tolist() == [0, 1, 2]
