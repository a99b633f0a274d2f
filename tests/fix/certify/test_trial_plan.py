"""Trials that the original refuses are replaced by others, and are not run elsewhere."""

from __future__ import annotations

import sys

import pytest
from tests.fix.certify.models import frozen

from tfport.fix.certify import trial_plan
from tfport.fix.certify.runners import RunnerResult
from tfport.fix.certify.tensorflow_runner import TensorFlow
from tfport.fix.certify.verification import ALIKE, DIFFERS
from tfport.fix.certify.verify import verify

ONE_VALUE_AT_MOST = """
    s = Placeholder() {dtype=string, shape=(?,)}
    names = Const() {dtype=string, value=string(0,)[]}
    key = Const() {dtype=string, value=string()["words"]}
    p = ParseExample(s, names, key) {Nsparse=1, Ndense=0, sparse_types=[int64], Tdense=[], dense_shapes=[]}
    n = Size(s) {T=string, out_type=int64}
    one = Const() {dtype=int64, value=int64()[1]}
    shape = Pack(n, one) {N=2, T=int64, axis=0}
    zero = Const() {dtype=int64, value=int64()[0]}
    y = SparseToDense(p:0, shape, p:1, zero) {T=int64, Tindices=int64, validate_indices=true}
"""


def test_examples_have_fewer_values_if_the_original_refuses_more():
    verification = verify(frozen(ONE_VALUE_AT_MOST), frozen(ONE_VALUE_AT_MOST), fetches=["y"])
    assert verification.verdict == ALIKE
    assert {trial.original for trial in verification.trials} == {"answered"}
    assert verification.comparisons[0].answered == 14


REFUSES_NAN = """
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    y = CheckNumerics(x) {T=float32, message="no"}
"""


class Listener(TensorFlow):
    """Another runner, which only records the trials that it gets."""

    asked: tuple[str, ...] = ()

    def ask(self, sides, trials):
        self.asked = tuple(trial.name for trial in trials)
        return [RunnerResult(why="it only listens") for _ in sides]


def test_inputs_that_the_original_refuses_are_not_run_elsewhere():
    listener = Listener(sys.executable)
    verification = verify(frozen(REFUSES_NAN), frozen(REFUSES_NAN), targets=[listener], live=False)
    refused = [trial.name for trial in verification.trials if trial.original == "refused"]
    assert len(refused) == 1
    assert refused[0].startswith("not finite")
    assert len(listener.asked) == len(verification.trials) - 1
    assert refused[0] not in listener.asked


LARGE = """
    x = Placeholder() {dtype=float32, shape=(?, 20000)}
    two = Const() {dtype=float32, value=float32()[2]}
    y = Mul(x, two) {T=float32}
"""
OTHERWISE = LARGE.replace("Mul(x, two)", "AddV2(x, x)")


def test_large_inputs_are_few_if_both_models_are_the_same_program():
    same = verify(frozen(LARGE), frozen(LARGE.replace("two", "factor")), live=False)
    other = verify(frozen(LARGE), frozen(OTHERWISE), live=False)
    assert same.verdict == other.verdict == ALIKE
    assert same.comparisons[0].answered == 2
    assert other.comparisons[0].answered > 10
    assert [c for c in same.caveats if "the same program" in c]
    assert not [c for c in other.caveats if "the same program" in c]


def test_other_runners_get_all_inputs_of_models_that_are_the_same_program():
    listener = Listener(sys.executable)
    verify(frozen(LARGE), frozen(LARGE), targets=[listener], live=False)
    assert len(listener.asked) > 10


WEIGHTS = ", ".join(f"{(7 * i % 36 - 17) / 12:.3f}" for i in range(36))
NETWORK = """
    x = Placeholder() {dtype=float32, shape=(?, 8, 8, 2)}
    w = Const() {dtype=float32, value=float32(3, 3, 2, 2)[WEIGHTS]}
    c = Conv2D(x, w) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
    b = Const() {dtype=float32, value=float32(2,)[0.5, -0.25]}
    s = BiasAdd(c, b) {T=float32}
    r = Relu(s) {T=float32}
    p = MaxPool(r) {T=float32, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"}
    axes = Const() {dtype=int32, value=int32(2,)[1, 2]}
    m = Mean(p, axes) {T=float32, Tidx=int32, keep_dims=false}
    e = Square(p) {T=float32}
    q = Mean(e, axes) {T=float32, Tidx=int32, keep_dims=false}
    little = Const() {dtype=float32, value=float32()[0.001]}
    v = AddV2(q, little) {T=float32}
    z = Rsqrt(v) {T=float32}
    n = Mul(m, z) {T=float32}
    y = Softmax(n) {T=float32}
""".replace("WEIGHTS", WEIGHTS)
WRONG = (
    ("Relu(s)", "Relu6(s)"), ("Relu(s)", "Elu(s)"), ("Relu(s)", "Identity(s)"), ("Relu(s)", "Softplus(s)"),
    ("MaxPool(r)", "AvgPool(r)"), ("[0.5, -0.25]", "[0.5, -0.24]"), ("[0.001]", "[0.00001]"),
    ("Rsqrt(v)", "Rsqrt(q)"), ("[-1.417,", "[-1.407,"), ("Mul(m, z)", "Identity(m)"),
    ("Conv2D(x, w)", "Conv2D(a, w)"), ("Square(p)", "Abs(p)"), ("Softmax(n)", "Sigmoid(n)"),
)  # fmt: skip
"""Parts of the network, and something else that a wrong rewrite could have written."""
POSITIVE = "a = Abs(x) {T=float32}\nc = Conv2D("


@pytest.mark.parametrize(("part", "other"), WRONG, ids=[other for _, other in WRONG])
def test_few_inputs_find_what_all_find(part, other, monkeypatch):
    before = frozen(NETWORK)
    after = frozen(NETWORK.replace(part, other).replace("c = Conv2D(", POSITIVE))
    full = verify(before, after, live=False)
    monkeypatch.setattr(trial_plan, "FEW_VALUES", -1.0)
    few = verify(before, after, live=False)
    assert len(few.trials) <= len(full.trials) / 2
    assert few.verdict == full.verdict == DIFFERS
    assert any("for each kind of values" in reason for reason in few.left_out)


def test_few_inputs_have_the_values_of_many(monkeypatch):
    monkeypatch.setattr(trial_plan, "FEW_VALUES", -1.0)
    same = verify(frozen(NETWORK), frozen(NETWORK.replace("c = Conv2D(", POSITIVE)), live=False)
    assert same.verdict == ALIKE
    kinds = [trial.name.partition(",")[0] for trial in same.trials]
    assert list(dict.fromkeys(kinds)) == ["ordinary", "mixed", "zeros", "wide", "large"]


def test_few_sequences_are_padded_too(monkeypatch):
    monkeypatch.setattr(trial_plan, "FEW_VALUES", -1.0)
    text = "x = Placeholder() {dtype=float32, shape=(?, ?, 3)}\ny = Neg(x) {T=float32}"
    verification = verify(frozen(text), frozen(text), live=False)
    assert [trial.name for trial in verification.trials if trial.name.startswith("padded")]
