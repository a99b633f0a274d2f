"""TensorFlow itself as the runner of a verification: the one that is installed, for both models."""

from __future__ import annotations

import sys

import pytest
from tests.fix.certify.models import frozen
from tests.recorded_models import load

from tfport.fix.certify.inputs.arrays import ORDINARY
from tfport.fix.certify.tensorflow_runner import TensorFlow
from tfport.fix.certify.trials import Sizing, TrialBuilder
from tfport.fix.certify.verification import ALIKE, DIFFERS
from tfport.fix.certify.verify import verify
from tfport.formats.proto import serving_pb2

X = "x = Placeholder() {dtype=float32, shape=(?, 3)}\n"
TWICE = X + "two = Const() {dtype=float32, value=float32()[2]}\ny = Mul(x, two) {T=float32}"


@pytest.mark.parametrize("name", ["keras_functional", "estimator", "ragged", "strings"])
def test_tensorflow_answers_every_trial_that_tfport_answers(name):
    verification = verify(load(name), load(name))
    assert verification.verdict == ALIKE
    own, live = (
        {c.signature: c for c in verification.comparisons if c.runner.startswith(who)}
        for who in ("tfport", "TensorFlow")
    )
    assert live.keys() == own.keys()
    for signature, comparison in live.items():
        assert comparison.reference == comparison.runner
        assert (comparison.answered, comparison.refused) == (own[signature].answered, 0)
        assert all(d.unequal == 0 for d in comparison.outputs.values())


def test_tensorflow_sees_the_difference_too():
    verification = verify(
        frozen(TWICE), frozen(TWICE.replace("[2]", "[3]")), targets=[TensorFlow(sys.executable)]
    )
    assert [c.verdict for c in verification.comparisons] == [DIFFERS] * 3
    assert verification.comparisons[1].runner.startswith("TensorFlow 2.")


def test_examples_made_up_are_tensorflows_own():
    import tensorflow as tf

    model = load("estimator")
    (array,) = TrialBuilder(model, model.signatures["predict"]).trial(Sizing(3, 4), ORDINARY).inputs.values()
    for record in array:
        ours, theirs = serving_pb2.Example.FromString(record), tf.train.Example.FromString(record)
        assert theirs.SerializeToString(deterministic=True) == record
        assert list(theirs.features.feature["x"].float_list.value) == list(
            ours.features.feature["x"].float_list.value
        )
