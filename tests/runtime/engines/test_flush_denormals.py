"""Islands with convolutions flush denormal numbers, as TensorFlow does; the caller keeps its mode."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.runtime.engines.flush_denormals import CAN_FLUSH, flushed

pytestmark = pytest.mark.skipif(not CAN_FLUSH, reason="the mode of this processor cannot be set")
CONVOLUTION = """
    x = Placeholder() {dtype=float32, shape=(?, 32, 32, 16)}
    y = Placeholder() {dtype=float32, shape=(3, 3, 16, 16)}
    z = Conv2D(x, y) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
"""
PRODUCT = """
    x = Placeholder() {dtype=float32, shape=(?, 16)}
    y = Placeholder() {dtype=float32, shape=(16, 16)}
    z = MatMul(x, y) {T=float32}
"""
HALVES = """
    x = Placeholder() {dtype=float32, shape=(?)}
    half = Const() {dtype=float32, value=float32()[0.25]}
    y = Mul(x, half) {T=float32}
    z = Expm1(y) {T=float32}
"""


def images(value):
    return np.full((1, 32, 32, 16), value, np.float32)


def weights(value):
    return np.full((3, 3, 16, 16), value, np.float32)


def is_flushed():
    """Whether a product in this thread is flushed."""
    return (np.array([1e-30], np.float32) * np.array([1e-10], np.float32))[0] == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_that_are_denormal_are_zero(threads):
    session = session_of(CONVOLUTION, threads=threads)
    assert not session.run("z:0", {"x:0": images(1e-30), "y:0": weights(1e-11)}).any()


def test_denormal_inputs_are_zero():
    session = session_of(CONVOLUTION, threads=1)
    assert not session.run("z:0", {"x:0": images(1e-40), "y:0": weights(1)}).any()


def test_islands_without_convolutions_keep_denormal_numbers():
    tiny, ones = np.full((2, 16), 1e-40, np.float32), np.ones((16, 16), np.float32)
    assert session_of(PRODUCT, threads=1).run("z:0", {"x:0": tiny, "y:0": ones}).all()


def test_threads_of_islands_without_convolutions_keep_denormal_numbers():
    values = np.full(400_000, 3e-38, np.float32)
    for _ in range(20):  # another thread takes part in some of the runs
        assert session_of(HALVES, threads=2).run("z:0", {"x:0": values}).all()


def test_the_mode_of_the_caller_stays():
    session_of(CONVOLUTION, threads=1).run("z:0", {"x:0": images(1), "y:0": weights(1)})
    assert not is_flushed()


def test_the_mode_is_set_inside_the_call_and_restored_after_an_error():
    assert flushed(is_flushed)
    with pytest.raises(ZeroDivisionError):
        flushed(lambda: 1 // 0)
    assert not is_flushed()
