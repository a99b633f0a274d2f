"""The shapes after string kernels are known, so that what follows can run in the engine."""

import pytest
from tests.runtime.programs import session_of

START = """
    x = Placeholder() {dtype=string, shape=(?, 3)}
    text = Const() {dtype=string, value=string()["a"]}
"""
NODES = {
    "StringToHashBucketFast": "y = StringToHashBucketFast(x) {num_buckets=5}",
    "StringLower": 'y = StringLower(x) {encoding=""}',
    "StaticRegexReplace": 'y = StaticRegexReplace(x) {pattern="a", rewrite="b", replace_global=true}',
    "StringJoin": 'y = StringJoin(text, x) {N=2, separator=""}',
    "StringToNumber": "y = StringToNumber(x) {out_type=float32}",
}


@pytest.mark.parametrize("line", NODES.values(), ids=NODES)
def test_the_shape_is_known(line):
    (step,) = session_of(START + line).program(["y:0"], ["x:0"]).steps
    assert step.outputs[0].shape == (None, 3)


def test_an_unknown_rank_stays_unknown():
    text = START.replace(", shape=(?, 3)", "") + NODES["StringJoin"]
    (step,) = session_of(text).program(["y:0"], ["x:0"]).steps
    assert step.outputs[0].shape is None
