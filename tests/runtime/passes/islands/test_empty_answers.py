"""An island of which crops leave nothing does not run, if its answers are empty in TensorFlow too."""

import numpy as np
import pytest
from tests.runtime.programs import WatchedEngine, session_of

import tfport
from tfport.runtime.plan import Plan

LAYERS = """
    x = Placeholder() {dtype=float32, shape=(?, ?, 3)}
    w = Const() {dtype=float32, value=float32(1, 5, 3, 3)[WEIGHTS]}
    one = Const() {dtype=int32, value=int32()[1]}
    row = ExpandDims(x, one) {T=float32, Tdim=int32}
    conv = Conv2D(row, w) {T=float32, strides=[1, 1, 1, 1], padding=PADDING}
    line = Squeeze(conv) {T=float32, squeeze_dims=[1]}
    begin = Const() {dtype=int32, value=int32(3)[0, 80, 0]}
    end = Const() {dtype=int32, value=int32(3)[0, -70, 0]}
    each = Const() {dtype=int32, value=int32(3)[1, 1, 1]}
    crop = StridedSlice(line, begin, end, each) {T=float32, Index=int32, begin_mask=5, end_mask=5}
    y = Softmax(crop) {T=float32}
""".replace("WEIGHTS", ", ".join(["0.5"] * 45))
SAME = LAYERS.replace("PADDING", "SAME")


class CountingEngine(WatchedEngine):
    runs = 0

    def compile(self, model, *borders):
        run = super().compile(model, *borders)

        def counted(arrays):
            self.runs += 1
            return run(arrays)

        return counted


def plan_of(text, fetches=("y:0",)):
    session = session_of(text)
    engine = CountingEngine(session.engine)
    return Plan(session.program(list(fetches), ["x:0"]), engine), engine


@pytest.mark.parametrize(("length", "left"), [(1, 0), (149, 0), (150, 0), (151, 1), (160, 10)])
def test_nothing_runs_for_an_empty_answer(length, left):
    x = np.ones((2, length, 3), np.float32)
    plan, engine = plan_of(SAME)
    for _ in range(2):
        (answer,) = plan.run([x])
        assert answer.shape == (2, left, 3)
        np.testing.assert_allclose(answer, session_of(SAME, engine="none").run("y:0", {"x:0": x}), 1e-6)
    assert engine.runs == (2 if left else 0)


def test_answers_that_are_not_cropped_are_computed():
    plan, engine = plan_of(SAME, ("y:0", "line:0"))
    cropped, line = plan.run([np.ones((1, 9, 3), np.float32)])
    assert cropped.shape == (1, 0, 3)
    assert line[0, 4].tolist() == [7.5] * 3
    assert engine.runs == 1


def test_a_window_that_does_not_fit_is_still_an_error():
    session = session_of(LAYERS.replace("PADDING", "VALID"))
    assert session.run("y:0", {"x:0": np.ones((1, 9, 3), np.float32)}).shape == (1, 0, 3)
    with pytest.raises(tfport.RunFailed):
        session.run("y:0", {"x:0": np.ones((1, 2, 3), np.float32)})
