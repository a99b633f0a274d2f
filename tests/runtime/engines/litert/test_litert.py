"""The engine `litert`: the answers of ONNX Runtime, with LiteRT for all that it may compute."""

import concurrent.futures
import sys

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.engines.litert.litert import Interpreters, LiteRt
from tfport.runtime.engines.raced_island import RacedIsland

NET = """
    x = Placeholder() {dtype=float32, shape=(?, ?, ?, 8)}
    w = Const() {dtype=float32, value=float32(3, 3, 8, 8)[%s]}
    c = Conv2D(x, w) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
    r = Relu6(c) {T=float32}
    e = Exp(r) {T=float32}
    d = Conv2D(e, w) {T=float32, strides=[1, 2, 2, 1], padding="SAME"}
    y = Sigmoid(d) {T=float32}
""" % ", ".join(f"{(i % 7 - 3) / 100}" for i in range(576))  # noqa: UP031
IMAGE = np.random.default_rng(0).random((1, 140, 140, 8), np.float32)


def test_an_engine_that_is_not_installed_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        tfport.Error, match=r'LiteRT\), which is not installed: pip install "tfport\[litert\]"'
    ):
        LiteRt(1)


class TestInstalled:
    """What needs LiteRT."""

    @pytest.fixture(autouse=True)
    def _installed(self):
        pytest.importorskip("ai_edge_litert", reason="LiteRT is optional")

    @pytest.mark.parametrize("odd", [np.nan, np.inf, 1e38])
    def test_answers_are_those_of_onnx_runtime(self, odd):
        other, usual = session_of(NET, engine="litert", threads=2), session_of(NET)
        spoiled = IMAGE.copy()
        spoiled[0, 70, 70, 3] = odd
        with np.errstate(all="ignore"):
            for image in (IMAGE, IMAGE, IMAGE, spoiled, IMAGE[:0], IMAGE[:, :1, :1], 2 * IMAGE):
                answer, expected = (s.run("y:0", {"x:0": image}) for s in (other, usual))
                assert answer.shape == expected.shape
                np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-5)
        ((island, *_),) = other.plans.plans[0]._stages
        assert isinstance(island, RacedIsland)
        assert island._faster is not None

    def test_calls_at_the_same_time_have_their_own_tensors(self):
        session, usual = session_of(NET, engine="litert", threads=1), session_of(NET)
        images = [IMAGE * factor for factor in np.linspace(0, 1, 16, dtype=np.float32)]
        for _ in range(2):
            session.run("y:0", {"x:0": IMAGE})
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda image: session.run("y:0", {"x:0": image}), images))
        for image, answer in zip(images, answers, strict=True):
            expected = usual.run("y:0", {"x:0": image})
            np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-5)

    def test_arrays_of_another_size_are_an_error_and_the_next_call_is_answered(self):
        from tests.runtime.engines.litert.translated import SmallModel

        model = SmallModel(lambda b, x: b.Relu(x), (2, 3))
        run = LiteRt(1).compile(model.model.model.SerializeToString(), {}, *model.borders)
        with pytest.raises(EngineFailed):
            run([np.ones((4, 3), np.float32)])
        assert run([-np.ones((2, 3), np.float32)])[0].tolist() == [[0] * 3] * 2

    @pytest.mark.parametrize("divisor", [0, 1e-20])
    def test_infinities_and_huge_numbers_are_an_error_though_they_are_dropped(self, divisor):
        from tests.runtime.engines.litert.translated import SmallModel, number

        model = SmallModel(lambda b, x, y: b.Min(b.Div(x, y), number(b, 6)), (2, 3), (2, 3))
        run = LiteRt(1).compile(model.model.model.SerializeToString(), {}, *model.borders)
        ones = np.ones((2, 3), np.float32)
        assert run([ones, ones])[0].tolist() == [[1] * 3] * 2
        with pytest.raises(EngineFailed, match="not ordinary"):
            run([ones, divisor * ones])

    def test_a_file_that_is_damaged_is_an_error(self):
        with pytest.raises(tfport.Error, match="LiteRT rejects the model that tfport made"):
            Interpreters(b"no model", 1)

    def test_nothing_is_written_to_the_standard_error(self, capfd):
        session = session_of(NET, engine="litert", threads=1)
        for _ in range(3):
            session.run("y:0", {"x:0": IMAGE})
        assert capfd.readouterr().err == ""
