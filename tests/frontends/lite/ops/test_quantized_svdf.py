"""SVDF of int8 with an int16 memory, one invocation after another."""

import numpy as np
import pytest
from tests.frontends.lite.cases import LiteInput, case, check, checks, const, out, q

RNG = np.random.default_rng(3)


def svdf(batch, inputs, units, rank, memory, bias=True):
    filters = units * rank
    x = RNG.integers(-128, 128, (batch, inputs)).astype(np.int8)
    features = RNG.integers(-127, 128, (filters, inputs)).astype(np.int8)
    times = RNG.integers(-3000, 3000, (filters, memory)).astype(np.int16)
    added = const(q(RNG.integers(-20000, 20000, units).astype(np.int32), 1e-6)) if bias else None
    state = LiteInput(np.zeros((batch, filters * memory), np.int16), "", (0.0013,), (0,), is_variable=True)
    return case(
        "SVDF", q(x, 0.0371, 5), const(q(features, 0.0071)), const(q(times, 0.0009)), added, state, rank=rank,
        outputs=[out("INT8", 0.31, -7)], fused_activation_function="RELU", version=3,
    )  # fmt: skip


CASES = [svdf(1, 6, 4, 1, 5), svdf(2, 9, 3, 2, 8), svdf(3, 4, 5, 1, 2, bias=False)]


@pytest.mark.parametrize("c", checks(CASES))
def test_quantized_svdf(c):
    check("quantized_svdf", c)
