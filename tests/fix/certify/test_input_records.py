"""The inputs of a trial in a certificate: the seed makes them again; digests are those of their bytes."""

from __future__ import annotations

import hashlib

import numpy as np
from tests.fix.certify.models import frozen

from tfport.fix.certify.trials import Trial
from tfport.fix.certify.verification import input_records
from tfport.fix.certify.verify import verify

MODEL = "x = Placeholder() {dtype=float32, shape=(?, 3)}\ny = Neg(x) {T=float32}"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def test_numbers_are_digested_as_their_bytes():
    array = np.arange(6, dtype=np.float32).reshape(3, 2).T  # not contiguous
    (record,) = input_records(Trial("s", "t", "given", {"x": array}))
    assert (record.name, record.dtype, record.shape) == ("x", "float32", (2, 3))
    assert record.sha256 == digest(np.float32([0, 2, 4, 1, 3, 5]).tobytes())


def test_strings_are_digested_with_their_lengths():
    strings = np.array([b"a", b"", "é"], object)
    (record,) = input_records(Trial("s", "t", "given", {"x": strings}))
    texts = [b"a", b"", "é".encode()]
    assert record.sha256 == digest(b"".join(len(text).to_bytes(8, "little") + text for text in texts))
    assert record.dtype == "string"


def test_parts_of_a_composite_have_a_record_each():
    records = input_records(Trial("s", "t", "given", {"x": (np.int64([1]), np.float32([2]))}))
    assert [(record.name, record.dtype) for record in records] == [("x[0]", "int64"), ("x[1]", "float32")]


def test_the_seed_of_a_trial_makes_its_inputs():
    trial = verify(frozen(MODEL), frozen(MODEL)).trials[0]
    made = np.random.default_rng(trial.seed).standard_normal(trial.inputs[0].shape).astype(np.float32)
    assert trial.name.startswith("ordinary")
    assert trial.inputs[0].sha256 == digest(made.tobytes())


def test_the_same_trials_are_made_again():
    first, second = (verify(frozen(MODEL), frozen(MODEL)).trials for _ in range(2))
    assert [trial.inputs for trial in first] == [trial.inputs for trial in second]
