"""The automatic engine: the answers of ONNX Runtime, whoever computes them."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.engines.auto import AutoEngine
from tfport.runtime.engines.choice_cache import ChoiceCache
from tfport.runtime.engines.raced_island import RacedIsland

NET = """
    x = Placeholder() {dtype=float32, shape=(?, ?, ?, 8)}
    w = Const() {dtype=float32, value=float32(3, 3, 8, 8)[%s]}
    c = Conv2D(x, w) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
    y = Relu(c) {T=float32}
""" % ", ".join(f"{i % 7 - 3}" for i in range(576))  # noqa: UP031
IMAGE = np.random.default_rng(0).random((1, 140, 140, 8), np.float32)
LOOKUP = """
    x = Placeholder() {dtype=float32, shape=(?, 4)}
    i = Placeholder() {dtype=int32, shape=(?)}
    a = Const() {dtype=int32, value=int32()[0]}
    m = MatMul(x, x) {T=float32, transpose_a=true, transpose_b=false}
    y = GatherV2(m, i, a) {Tparams=float32, Tindices=int32, Taxis=int32, batch_dims=0}
"""


def engine_of():
    """An engine whose islands race at their second call."""
    return AutoEngine(2, choices=ChoiceCache(None), patience=0)


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e38])
def test_answers_are_those_of_onnx_runtime(odd):
    auto, usual = session_of(NET, engine=engine_of()), session_of(NET)
    spoiled = IMAGE.copy()
    spoiled[0, 70, 70, 3] = odd
    with np.errstate(all="ignore"):
        for image in (IMAGE, IMAGE, IMAGE, spoiled, IMAGE[:0], IMAGE[:, :1, :1], 2 * IMAGE):
            answer, expected = (s.run("y:0", {"x:0": image}) for s in (auto, usual))
            assert answer.shape == expected.shape
            scale = np.abs(expected[np.isfinite(expected)]).max(initial=0)
            np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-5 * scale)


def test_a_wrong_index_is_an_error_before_and_after_the_choice():
    session = session_of(LOOKUP, engine=engine_of())
    x = np.ones((3, 4), np.float32)
    for _ in range(3):
        session.run("y:0", {"x:0": x, "i:0": [0, 3]})
        with pytest.raises(tfport.RunFailed):
            session.run("y:0", {"x:0": x, "i:0": [4]})


def test_there_is_no_race_for_large_weights(monkeypatch):
    engine = engine_of()
    session = session_of(NET, engine=engine)
    session.run("y:0", {"x:0": IMAGE})
    monkeypatch.setattr("tfport.runtime.engines.auto.MAX_WEIGHTS", 1000)
    other = session_of(NET, engine=engine)
    other.run("y:0", {"x:0": IMAGE})
    ((raced, *_),), ((plain, *_),) = (s.plans.plans[0]._stages for s in (session, other))
    assert isinstance(raced, RacedIsland)
    assert not isinstance(plain, RacedIsland)
