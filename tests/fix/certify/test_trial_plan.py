"""Trials that the original refuses are replaced by others, and are not run elsewhere."""

from __future__ import annotations

import sys

from tests.fix.certify.models import frozen

from tfport.fix.certify.runners import RunnerResult
from tfport.fix.certify.tensorflow_runner import TensorFlow
from tfport.fix.certify.verification import ALIKE
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
