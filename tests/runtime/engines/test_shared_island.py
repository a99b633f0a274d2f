"""Islands of two engines: answers are those of ONNX Runtime, although the other one drops NaN."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.engines.auto import AutoEngine, OtherEngine
from tfport.runtime.engines.choice_cache import Choice, ChoiceCache
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.engines.openvino_nodes import may_run_elsewhere
from tfport.runtime.passes.pass_list import NodeForms

WEIGHTS = ", ".join(f"{(i % 7 - 3) / 8}" for i in range(576))
START = f"""
    x = Placeholder() {{dtype=float32, shape=(?, 64, 64, 8)}}
    n = Placeholder() {{dtype=int64, shape=(?)}}
    w = Const() {{dtype=float32, value=float32(3, 3, 8, 8)[{WEIGHTS}]}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    axis = Const() {{dtype=int32, value=int32()[3]}}
    a = Conv2D(x, w) {{T=float32, strides=[1, 1, 1, 1], padding="SAME"}}
    b = Relu(a) {{T=float32}}
"""
END = """
    d = Conv2D(c, w) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
    y = Relu(d) {T=float32}
    z = ArgMax(y, axis) {T=float32, Tidx=int32, output_type=int64}
"""
BETWEEN = {
    "division": "c = RealDiv(b, b) {T=float32}",
    "root": "c = Sqrt(x) {T=float32}",
    "reciprocal": "c = Reciprocal(b) {T=float32}",
    "exponential": "c = Exp(b) {T=float32}",
    "logarithm": "c = Log(x) {T=float32}",
    "index": "c = GatherV2(b, n, zero) {Tparams=float32, Tindices=int64, Taxis=int32, batch_dims=0}",
}
IMAGE = np.random.default_rng(0).random((2, 64, 64, 8), np.float32) + 0.1


class Careless(OnnxRuntime):
    """Another engine, which drops NaN and counts its runs."""

    runs = 0

    def compile(self, *arguments):
        run = super().compile(*arguments)

        def careless(arrays):
            Careless.runs += 1
            return [np.nan_to_num(array) if array.dtype.kind == "f" else array for array in run(arrays)]

        return careless


def other_if_possible(compiled_by, leader, usual, rivals, *_, **_settings):
    """The result of a race that the other engine wins."""
    choice = Choice("openvino", 2)
    return (choice, compiled_by(choice)) if choice in rivals else (usual, leader)


@pytest.fixture
def auto(monkeypatch):
    """An engine whose islands go to the other engine as far as they may."""
    other = OtherEngine("onnxruntime", lambda: may_run_elsewhere, NodeForms.OPENVINO, Careless)
    monkeypatch.setattr("tfport.runtime.engines.auto.OTHERS", {"openvino": other})
    monkeypatch.setattr("tfport.runtime.engines.race.fastest", other_if_possible)
    monkeypatch.setattr(Careless, "runs", 0)
    return AutoEngine(2, choices=ChoiceCache(None), patience=0)


def spoiled(value):
    image = IMAGE.copy()
    image[1, 5, 6, 3] = value
    return image


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_answers_are_those_of_onnx_runtime(between, auto):
    graph = START + between + END
    shared, usual = session_of(graph, engine=auto), session_of(graph, threads=2)
    odd = [0, -1, 1e-45, 1e8, 1e30, np.inf, -np.inf, np.nan]
    images = [IMAGE, IMAGE, IMAGE, *map(spoiled, odd), IMAGE * 0, -IMAGE, IMAGE[:0]]
    with np.errstate(all="ignore"):
        for image in images:
            feeds = {"x:0": image}
            if "GatherV2" in between:
                feeds["n:0"] = np.arange(len(image))
            answers, expected = (s.run(["y:0", "z:0"], feeds) for s in (shared, usual))
            np.testing.assert_array_equal(answers[0], expected[0])
            np.testing.assert_array_equal(answers[1], expected[1])
    assert Careless.runs >= 2


def test_a_wrong_index_is_an_error(auto):
    session = session_of(START + BETWEEN["index"] + END, engine=auto)
    for _ in range(3):
        session.run("y:0", {"x:0": IMAGE, "n:0": [0, 1]})
    assert Careless.runs
    for wrong in (2, -1, 2**32):
        with pytest.raises(tfport.RunFailed):
            session.run("y:0", {"x:0": IMAGE, "n:0": [wrong]})


def test_nothing_is_shared_where_memory_is_limited(auto):
    engine = AutoEngine(2, choices=ChoiceCache(None), patience=0, max_bytes=1 << 30)
    session = session_of(START + BETWEEN["division"] + END, engine=engine)
    for _ in range(3):
        session.run("y:0", {"x:0": IMAGE})
    assert not Careless.runs


LSTM = f"""
    x = Placeholder() {{dtype=float32, shape=(?, 40, 32)}}
    state = Const() {{dtype=float32, value=float32(1, 40, 32)[{", ".join(["0"] * 1280)}]}}
    w = Const() {{dtype=float32, value=float32(8448)[{", ".join(f"{(i % 7 - 3) / 8}" for i in range(8448))}]}}
    r = Sqrt(x) {{T=float32}}
    y = CudnnRNN(r, state, state, w) {{T=float32, rnn_mode="lstm", is_training=false}}
"""


def test_nan_in_a_recurrent_layer_stays(auto):
    shared, usual = session_of(LSTM, engine=auto), session_of(LSTM)
    rows = np.ones((9, 40, 32), np.float32)
    negative = rows.copy()
    negative[4, 7, 1] = -1
    for fed in (rows, rows, rows, negative, rows):
        answer, expected = (s.run("y:0", {"x:0": fed}) for s in (shared, usual))
        np.testing.assert_array_equal(answer, expected)
        assert np.isnan(answer).any() == (fed is negative)
    assert Careless.runs >= 2
