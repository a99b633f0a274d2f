"""Convolutions and poolings run in the engine though the rank or the channels of an image are unknown.

Only the right rank can run. The engine fails at another one, and at channels that need groups; the host
computes the answer then, or reports the error.
"""

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport

CONV = """
    x = Placeholder() {{dtype=float32{shape}}}
    filter = Const() {{dtype=float32, value=float32(2, 1, 2, 4)[{taps}]}}
    y = {op}(x, filter) {{T=float32, strides=[1, 1, 1, 1], padding="SAME"}}
"""
POOL = """
    x = Placeholder() {{dtype=float32{shape}}}
    same = Identity(x) {{T=float32}}
    y = {op}(same) {{T=float32, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"}}
"""
TAPS = ", ".join(str(n % 5 - 2) for n in range(16))
X = np.random.default_rng(0).integers(-5, 5, (2, 6, 5, 2)).astype(np.float32)
UNKNOWN_SIZES = ", shape=(?, ?, ?, ?)"


def steps_of(session):
    return session.program(["y:0"], ["x:0"]).steps


@pytest.mark.parametrize("op", ["Conv2D", "DepthwiseConv2dNative", "MaxPool", "AvgPool"])
@pytest.mark.parametrize("shape", ["", UNKNOWN_SIZES], ids=["rank", "sizes"])
def test_in_the_engine(op, shape):
    text = (POOL if "Pool" in op else CONV).format(op=op, shape=shape, taps=TAPS)
    session = session_of(text)
    assert all(step.lowered is not None for step in steps_of(session))
    assert [len(step.outputs[0].shape) for step in steps_of(session)] == [4]
    right = session_of(text, engine="none").run("y:0", {"x:0": X})
    np.testing.assert_array_equal(session.run("y:0", {"x:0": X}), right)


def test_groups_of_channels_run_on_the_host():
    text = CONV.format(op="Conv2D", shape=UNKNOWN_SIZES, taps=TAPS)
    x = np.random.default_rng(1).integers(-5, 5, (2, 6, 5, 4)).astype(np.float32)
    right = session_of(text, engine="none").run("y:0", {"x:0": x})
    np.testing.assert_array_equal(session_of(text).run("y:0", {"x:0": x}), right)


@pytest.mark.parametrize("op", ["Conv2D", "DepthwiseConv2dNative", "MaxPool", "AvgPool"])
def test_another_rank_is_an_error(op):
    text = (POOL if "Pool" in op else CONV).format(op=op, shape="", taps=TAPS)
    with pytest.raises(tfport.RunFailed, match="4 axes"):
        session_of(text).run("y:0", {"x:0": X[0]})


def test_channels_that_do_not_fit_are_an_error():
    text = CONV.format(op="Conv2D", shape=UNKNOWN_SIZES, taps=TAPS)
    with pytest.raises(tfport.RunFailed, match="multiple of the filter depth 2, found 3"):
        session_of(text).run("y:0", {"x:0": np.zeros((1, 4, 4, 3), np.float32)})


@pytest.mark.parametrize("op", ["Conv2D", "DepthwiseConv2dNative", "MaxPool", "AvgPool"])
def test_the_rank_is_known_after_the_host(op):
    session = session_of((POOL if "Pool" in op else CONV).format(op=op, shape="", taps=TAPS), engine="none")
    assert [len(step.outputs[0].shape) for step in steps_of(session)] == [4]
