"""Rewritten TensorFlow Lite files in TensorFlow's own interpreter."""

import sys

import pytest
from tests.fix.lite.rules.test_rules import LOWERED, REPLACED, UNKNOWN, rewritten

import tfport
from tfport.fix.certify.verify import verify
from tfport.fix.lite.interpreter import LiteInterpreter
from tfport.formats.lite.write import lite_bytes

MISSING = [(c, {c.op: frozenset()}) for c in REPLACED]
ALL = [*MISSING, *((c, {}) for c in UNKNOWN), *((c, {c.op: frozenset(versions)}) for c, versions in LOWERED)]
CASES = ALL[::8]
"""Some of them: each starts a process that imports TensorFlow."""


@pytest.mark.parametrize(("c", "ops"), CASES, ids=str)
def test_what_a_rule_writes_runs_in_the_interpreter(c, ops):
    model, rewrite = rewritten(c, ops)
    after = tfport.load(lite_bytes(rewrite.file))
    verification = verify(
        model, after, steps=1, live=False, targets=[LiteInterpreter(sys.executable, own=False)]
    )
    (other,) = verification.comparisons[1:]
    assert other.runner.startswith(("tensorflow 2", "ai-edge-litert"))
    assert other.answered
    assert verification.verdict == "alike", verification.statement
