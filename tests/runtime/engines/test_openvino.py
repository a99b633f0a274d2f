"""OpenVINO: accurate answers; sizes that do not fit together are errors, and later calls are answered."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.engines.openvino import OpenVino

pytest.importorskip("openvino", reason="OpenVINO is optional")

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
