"""A batch without rows, or sequences without steps: ONNX Runtime's recurrent ops end the process there."""

import numpy as np
import pytest
from tests.recorded_models import load
from tests.runtime.accurate_functions import graph_of
from tests.runtime.programs import session_of

import tfport


@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_loop_that_is_an_lstm(engine, rows):
    call = tfport.Session(load("keras_lstm"), engine=engine).signature("serving_default")
    assert call(x=np.ones((rows, 3, 2), np.float32))["output_0"].shape == (rows, 2)


@pytest.mark.parametrize(
    "name", ["CudnnLSTM", "CudnnGRU", "BlockLSTM", "BlockLSTMV2", "LSTMBlockCell", "GRUBlockCell"]
)
def test_fused_ops(name):
    session = session_of(graph_of(name))
    for rows in (2, 0, 1, 0):
        (y,) = session.run(["y:0"], {"x:0": np.ones(rows, np.float32)})
        assert y.shape == (rows,)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_a_batch_of_a_known_size_of_zero(mode):
    count = {"lstm": 16, "gru": 12, "rnn_tanh": 4}[mode]
    session = session_of(f"""
x = Placeholder() {{dtype=float32, shape=(2, 0, 1)}}
h = Placeholder() {{dtype=float32, shape=(1, 0, 1)}}
p = Const() {{dtype=float32, value=float32({count},){[1] * count}}}
r = CudnnRNNV2(x, h, h, p) {{T=float32, rnn_mode="{mode}", is_training=false}}
y = Identity(r) {{T=float32}}
""")
    feeds = {"x:0": np.ones((2, 0, 1), np.float32), "h:0": np.ones((1, 0, 1), np.float32)}
    assert session.run(["y:0"], feeds)[0].shape == (2, 0, 1)


@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_sequences_without_steps(mode, direction):
    sides = 1 + (direction == "bidirectional")
    count = {"lstm": 16, "gru": 12, "rnn_tanh": 4}[mode] * sides
    session = session_of(f"""
x = Placeholder() {{dtype=float32, shape=(?, ?, 1)}}
h = Placeholder() {{dtype=float32, shape=({sides}, ?, 1)}}
p = Const() {{dtype=float32, value=float32({count},){[1] * count}}}
r = CudnnRNNV2(x, h, h, p) {{T=float32, direction="{direction}", rnn_mode="{mode}", is_training=false}}
y = Identity(r) {{T=float32}}
last = Identity(r:1) {{T=float32}}
""")
    first = np.ones((sides, 2, 1), np.float32)
    for steps in (0, 3, 0):
        feeds = {"x:0": np.ones((steps, 2, 1), np.float32), "h:0": first}
        y, last = session.run(["y:0", "last:0"], feeds)
        assert y.shape == (steps, 2, sides)
        assert steps or (last == first).all()
