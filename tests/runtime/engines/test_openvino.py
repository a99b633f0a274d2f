"""OpenVINO: accurate answers; sizes that do not fit together are errors, and later calls are answered."""

import concurrent.futures

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.engines.openvino import OpenVino

openvino = pytest.importorskip("openvino", reason="OpenVINO is optional")
HAS_BFLOAT16 = "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")

SUM = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    z = Placeholder() {dtype=float32, shape=(?, ?)}
    s = AddV2(x, z) {T=float32}
    y = Relu(s) {T=float32}
"""
TWO, THREE = np.ones((2, 5), np.float32), np.ones((3, 5), np.float32)


class NotedFailures(OpenVino):
    """Counts the runs that OpenVINO refuses."""

    failures = 0

    def compile(self, *arguments):
        run = super().compile(*arguments)

        def noted(arrays):
            try:
                return run(arrays)
            except EngineFailed:
                self.failures += 1
                raise

        return noted


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_with_wrong_sizes_is_an_error_and_the_next_is_answered(threads):
    engine = NotedFailures(threads)
    session = session_of(SUM, engine=engine)
    for _ in range(2):
        assert session.run("y:0", {"x:0": TWO, "z:0": TWO}).tolist() == [[2] * 5] * 2
        with pytest.raises(tfport.RunFailed):
            session.run("y:0", {"x:0": TWO, "z:0": THREE})
    assert engine.failures == 2


def test_answers_stay_when_the_next_call_runs():
    session = session_of(SUM, engine=OpenVino(1))
    first = session.run("y:0", {"x:0": TWO, "z:0": TWO})
    session.run("y:0", {"x:0": 3 * TWO, "z:0": TWO})
    assert first.tolist() == [[2] * 5] * 2


def test_calls_at_the_same_time_have_their_own_tensors():
    session = session_of(SUM, engine=OpenVino(1))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda n: session.run("y:0", {"x:0": n * TWO, "z:0": TWO}), range(32))
    assert [answer.tolist() for answer in answers] == [[[n + 1] * 5] * 2 for n in range(32)]


def test_softplus_is_accurate():
    session = session_of(
        "x = Placeholder() {dtype=float32, shape=(?)}\ny = Softplus(x) {T=float32}", engine=OpenVino(1)
    )
    x = np.linspace(-30, 30, 1001, dtype=np.float32)
    np.testing.assert_allclose(session.run("y:0", {"x:0": x}), np.log1p(np.exp(x.astype(float))), rtol=1e-6)


def test_an_engine_for_fixed_sizes_rejects_others():
    with pytest.raises(tfport.Error, match="a size depends on the inputs"):
        session_of(SUM, engine=OpenVino(1, only_fixed=True)).run("y:0", {"x:0": TWO, "z:0": TWO})
    fixed = session_of(SUM.replace("(?, ?)", "(2, 5)"), engine=OpenVino(1, only_fixed=True))
    assert fixed.run("y:0", {"x:0": TWO, "z:0": TWO}).tolist() == [[2] * 5] * 2


@pytest.mark.skipif(HAS_BFLOAT16, reason="this processor computes with bfloat16")
def test_bfloat16_is_an_error_without_instructions_for_it():
    with pytest.raises(tfport.Error, match="this processor has no instructions for bfloat16"):
        session_of(SUM, engine="openvino-bfloat16")


@pytest.mark.skipif(not HAS_BFLOAT16, reason="this processor has no instructions for bfloat16")
def test_bfloat16_has_eight_bits_of_mantissa():
    product = """
        x = Placeholder() {dtype=float32, shape=(64, 256)}
        w = Placeholder() {dtype=float32, shape=(256, 64)}
        y = MatMul(x, w) {T=float32}
    """
    rng = np.random.default_rng(0)
    x, w = rng.random((64, 256), np.float32), rng.random((256, 64), np.float32)
    answer = session_of(product, engine="openvino-bfloat16").run("y:0", {"x:0": x, "w:0": w})
    error = np.abs(answer / (x.astype(float) @ w) - 1).max()
    assert 2**-16 < error < 2**-7
