"""Recurrent layers of Keras and TF1, run by tfport and by TensorFlow; and CudnnRNN, which TensorFlow
has on GPUs only, compared with the Keras layer with the same weights."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl as tf1

import tfport
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import encode
from tfport.graph.dtypes import DType

layers, v1 = tf.keras.layers, tf.compat.v1
X = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
MASKED = X.copy()
MASKED[0, 3:] = 0
MASKED[1, 1] = 0  # a gap that sequence lengths cannot express
PADDED = X.copy()
PADDED[0, 3:] = 0
EMPTY = PADDED.copy()
EMPTY[1] = 0
NOT_A_NUMBER, INFINITE = X.copy(), X.copy()
NOT_A_NUMBER[1, 2, 0] = np.nan
INFINITE[0, 1, :2] = np.inf
KERAS = {  # name: layers, and the op that the loop becomes
    "lstm": ([layers.LSTM(4)], "LSTM"),
    "lstm_sequences": ([layers.LSTM(4, return_sequences=True)], "LSTM"),
    "lstm_backwards": ([layers.LSTM(4, return_sequences=True, go_backwards=True)], "LSTM"),
    "lstm_no_bias": ([layers.LSTM(4, use_bias=False)], "LSTM"),
    "lstm_relu": ([layers.LSTM(4, activation="relu")], "LSTM"),
    "lstm_elu": ([layers.LSTM(4, activation="elu")], "Loop"),
    "lstm_states": ([layers.LSTM(4, return_state=True)], "LSTM"),
    "gru": ([layers.GRU(4)], "GRU"),
    "gru_sequences": ([layers.GRU(4, return_sequences=True)], "GRU"),
    "gru_reset_before": ([layers.GRU(4, return_sequences=True, reset_after=False)], "GRU"),
    "gru_states": ([layers.GRU(4, return_sequences=True, return_state=True)], "GRU"),
    "simple": ([layers.SimpleRNN(4, return_sequences=True)], "RNN"),
    "simple_relu": ([layers.SimpleRNN(4, activation="relu")], "RNN"),
    "bidirectional": ([layers.Bidirectional(layers.LSTM(4, return_sequences=True))], "LSTM"),
    "stacked": ([layers.LSTM(4, return_sequences=True), layers.GRU(3)], "LSTM"),
    "stacked_cells": ([layers.RNN([layers.LSTMCell(4), layers.LSTMCell(3)], return_sequences=True)], "LSTM"),
    "masked": ([layers.Masking(), layers.LSTM(4, return_sequences=True)], "LSTM"),
    "masked_gru": ([layers.Masking(), layers.GRU(4)], "GRU"),
    "masked_both": ([layers.Masking(), layers.Bidirectional(layers.LSTM(4, return_sequences=True))], "LSTM"),
    "masked_zeros": (
        [layers.Masking(), layers.LSTM(4, return_sequences=True, zero_output_for_mask=True)],
        "LSTM",
    ),
    "masked_states": ([layers.Masking(), layers.SimpleRNN(4, return_state=True)], "RNN"),
    "conv_lstm": ([layers.Reshape((5, 3, 1, 1)), layers.ConvLSTM2D(2, 2, padding="same")], "Loop"),
    "time_distributed": ([layers.TimeDistributed(layers.Dense(4))], None),
}


def shaken(model):
    """Set biases: initially they are zero, which would hide a gate in the wrong place."""
    random = np.random.default_rng(1)
    model.set_weights([random.normal(size=w.shape).astype(w.dtype) * 0.5 for w in model.get_weights()])


def kinds(session, signature):
    spec = session.model.signatures[signature]
    fetches = [t for out in spec.outputs.values() for t in out.tensors]
    feeds = [t for info in spec.inputs.values() for t in info.tensors]
    ops = set()

    def walk(program):
        for step in program.steps:
            ops.update(node.op for node in step.lowered or ())
            for inner in step.programs:
                walk(inner)

    walk(session.program(fetches, feeds))
    return ops


@pytest.mark.parametrize("name", KERAS)
@pytest.mark.parametrize("steps", [5, None])
def test_keras(name, steps, tmp_path):
    if steps is None and name in ("conv_lstm", "time_distributed"):
        pytest.skip("needs to know its steps")
    stack, kind = KERAS[name]
    inputs = out = tf.keras.Input((steps, 3))
    for layer in stack:
        out = layer.__class__.from_config(layer.get_config())(out)
    model = tf.keras.Model(inputs, out)
    shaken(model)
    model.export(str(tmp_path), verbose=False)
    for engine in ("onnxruntime", "none"):
        session = tfport.Session(str(tmp_path), engine=engine)
        feed = next(iter(session.model.signatures["serving_default"].inputs))
        unusual = (MASKED, PADDED, EMPTY) if name.startswith("masked") else (NOT_A_NUMBER, INFINITE)
        for x in (X, *unusual):
            expected = [np.asarray(a) for a in tf.nest.flatten(model(x))]
            answers = session.signature("serving_default")(**{feed: x})
            for theirs, (_, ours) in zip(expected, sorted(answers.items()), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6)
        if engine == "onnxruntime" and kind is not None:
            ops = kinds(session, "serving_default")
            assert kind in ops
            assert (kind == "Loop") or "Loop" not in ops


def graph_of(build):
    """Return a frozen TF1 graph and the names of its outputs."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, (None, None, 3), name="x")
        n = v1.placeholder(tf.int32, (None,), name="n")
        outputs = [tf.identity(output, name=f"y{i}") for i, output in enumerate(tf.nest.flatten(build(x, n)))]
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            names = [output.op.name for output in outputs]
            frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), names)
            return frozen, names


def gated(x, n, *, lengths):
    """A TF1 GRU with `dynamic_rnn`: its loop, its TensorArrays, its sequence lengths."""
    units, random = 4, np.random.default_rng(2)
    gates = tf.constant(random.normal(size=(3 + units, 2 * units)).astype(np.float32))
    candidate = tf.constant(random.normal(size=(3 + units, units)).astype(np.float32))
    rows = tf.transpose(x, (1, 0, 2))
    steps, batch = tf.shape(rows)[0], tf.shape(rows)[1]
    taken = v1.TensorArray(tf.float32, steps).unstack(rows)
    zeros = tf.zeros([batch, units])

    def turn(time, out, h):
        row = taken.read(time)
        r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([row, h], 1), gates) + 1.0), 2, axis=1)
        c = tf.tanh(tf.matmul(tf.concat([row, r * h], 1), candidate))
        new = u * h + (1 - u) * c
        shown = new
        if lengths:
            done = time >= n
            shown, new = v1.where(done, zeros, new), v1.where(done, h, new)
        return time + 1, out.write(time, shown), new

    start = (tf.constant(0), v1.TensorArray(tf.float32, steps), zeros)
    _, out, h = v1.while_loop(lambda time, *_: time < steps, turn, start)
    return out.stack(), h


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("functional", [False, True])
def test_loops_of_tf1(lengths, functional):
    (v1.enable_control_flow_v2 if functional else v1.disable_control_flow_v2)()
    try:
        frozen, names = graph_of(lambda x, n: gated(x, n, lengths=lengths))
        feeds = {"x:0": X, "n:0": np.array([5, 2], np.int32)}
        with_none = {"x:0": X, "n:0": np.array([0, 4], np.int32)}
        session = tfport.Session(tfport.load(frozen.SerializeToString()))
        ends = [f"{name}:0" for name in names]
        frozen_graph = tf.Graph()
        with frozen_graph.as_default():
            tf.import_graph_def(frozen, name="")
            with v1.Session() as theirs:
                for inputs in (feeds, with_none):
                    used = {k: v for k, v in inputs.items() if lengths or k != "n:0"}
                    expected = theirs.run(ends, used)
                    for ours, right in zip(session.run(ends, used), expected, strict=True):
                        np.testing.assert_allclose(ours, right, rtol=1e-5, atol=2e-6)
    finally:
        v1.enable_control_flow_v2()


def dynamic_rnn(cell, x, n):
    """What TF1's `dynamic_rnn` made of a cell: TensorArrays, a loop, and selects by length."""
    rows = tf.transpose(x, (1, 0, 2))
    steps, batch = tf.shape(rows)[0], tf.shape(rows)[1]
    inputs = v1.TensorArray(tf.float32, steps).unstack(rows)
    zeros = tf.zeros([batch, cell.output_size])
    bound = tf.minimum(steps, tf.maximum(1, tf.reduce_max(n)))

    def turn(time, outputs, state):
        row = inputs.read(time)
        row.set_shape((None, 3))
        output, after = cell(row, state)
        done = time >= n
        kept = tf.nest.map_structure(lambda old, new: v1.where(done, old, new), state, after)
        return time + 1, outputs.write(time, v1.where(done, zeros, output)), kept

    start = (tf.constant(0), v1.TensorArray(tf.float32, steps), cell.zero_state(batch, tf.float32))
    _, outputs, state = v1.while_loop(
        lambda time, *_: time < bound, turn, start, parallel_iterations=32, maximum_iterations=steps
    )
    return outputs.stack(), state


def dropped(cell):
    return tf1.DropoutWrapper(cell, input_keep_prob=1.0, output_keep_prob=1.0)


CELLS = {  # name: the cell, and the nodes that the loop becomes
    "basic": (lambda: tf1.BasicLSTMCell(4), "LSTM"),
    "lstm": (lambda: tf1.LSTMCell(4, forget_bias=0.5), "LSTM"),
    "peepholes": (lambda: tf1.LSTMCell(4, use_peepholes=True), "LSTM"),
    "relu": (lambda: tf1.BasicLSTMCell(4, activation=tf.nn.relu), "LSTM"),
    "gru": (lambda: tf1.GRUCell(4), "GRU"),
    "plain": (lambda: tf1.BasicRNNCell(4), "RNN"),
    "dropout": (lambda: dropped(tf1.LSTMCell(4)), "LSTM"),
    "several": (lambda: tf1.MultiRNNCell([tf1.LSTMCell(4), tf1.GRUCell(5)]), "LSTM GRU"),
    "residual": (lambda: tf1.ResidualWrapper(tf1.LSTMCell(3)), "LSTM"),
    "several residual": (
        lambda: tf1.MultiRNNCell([tf1.LSTMCell(3), tf1.ResidualWrapper(tf1.GRUCell(3))]),
        "LSTM GRU",
    ),
    "projection": (lambda: tf1.LSTMCell(4, num_proj=3), "Loop"),
    "clipped": (lambda: tf1.LSTMCell(4, cell_clip=0.1), "Loop"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # deprecated names
@pytest.mark.parametrize("name", CELLS)
def test_cells_of_tf1(name):
    make, kinds = CELLS[name]

    def build(x, n):
        with v1.variable_scope("cell", initializer=v1.random_uniform_initializer(-1, 1)):
            return dynamic_rnn(make(), x, n)

    v1.disable_control_flow_v2()
    try:
        frozen, names = graph_of(build)
    finally:
        v1.enable_control_flow_v2()
    session = tfport.Session(tfport.load(frozen.SerializeToString()))
    ends = [f"{name}:0" for name in names]
    with tf.Graph().as_default():
        tf.import_graph_def(frozen, name="")
        with v1.Session() as theirs:
            for lengths in ([5, 2], [0, 4], [9, 1]):
                feeds = {"x:0": X, "n:0": np.array(lengths, np.int32)}
                for ours, right in zip(session.run(ends, feeds), theirs.run(ends, feeds), strict=True):
                    np.testing.assert_allclose(ours, right, rtol=1e-5, atol=2e-6)
    steps = session.program(ends, ["x:0", "n:0"]).steps
    ops = {node.op for step in steps for node in step.lowered or ()}
    assert ops & {"LSTM", "GRU", "RNN", "Loop"} == {*kinds.split()}


def cudnn_vector(layer, kind):
    """Return a Keras layer's weights for cuDNN: transposed matrices per gate, then two biases each."""
    kernel, recurrent, *bias = layer.get_weights()
    count = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[kind]
    order = (1, 0, 2) if kind == "gru" else range(count)  # Keras: z, r, h; cuDNN: r, z, h
    w, r = (np.split(m, count, axis=1) for m in (kernel, recurrent))
    biases = bias[0] if bias[0].ndim == 2 else np.stack([bias[0], np.zeros_like(bias[0])])
    parts = [w[i].T for i in order] + [r[i].T for i in order]
    return parts, [np.split(vector, count)[i] for vector in biases for i in order]


def cudnn_session(op, inputs, engine, **attrs):
    """Return a session of one node with constant weights."""
    made = pb.GraphDef()
    node = pb.NodeDef(name="node", op=op)
    node.attr["T"].type = 1
    for name, value in attrs.items():
        node.attr[name].CopyFrom(encode(value))
    for name, array in inputs.items():
        source = made.node.add(name=name, op="Const" if name == "params" else "Placeholder")
        source.attr["dtype"].type = 3 if array.dtype == np.int32 else 1
        if name == "params":
            source.attr["value"].tensor.CopyFrom(pb_tensor(array))
        else:
            for size in array.shape:
                source.attr["shape"].shape.dim.add(size=size if name != "input" else -1)
            if name == "input":
                source.attr["shape"].shape.dim[2].size = array.shape[2]
        node.input.append(name)
    made.node.append(node)
    session = tfport.Session(tfport.load(made.SerializeToString()), engine=engine)
    return session.run(
        ["node:0", "node:1", "node:2"], {f"{k}:0": v for k, v in inputs.items() if k != "params"}
    )


def pb_tensor(array):
    from tfport.graph.tensors import Tensor

    return Tensor.from_numpy(array, DType.parse("float32")).to_proto()


CUDNN = [(mode, both) for mode in ("lstm", "gru", "rnn_tanh") for both in (False, True)]


@pytest.mark.parametrize(("mode", "both"), CUDNN)
@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
def test_cudnn(mode, both, engine):
    make = {"lstm": layers.LSTM, "gru": layers.GRU, "rnn_tanh": layers.SimpleRNN}[mode]
    weights, biases, out = [], [], X
    units, many = 4, 2 if both else 1
    states = []
    for _ in range(2):
        layer = make(units, return_sequences=True, return_state=True)
        layer = layers.Bidirectional(layer) if both else layer
        layer.build(out.shape)
        shaken(layer)
        out, *last = (np.asarray(weight) for weight in layer(out))
        states += last
        for part in (layer.forward_layer, layer.backward_layer) if both else (layer,):
            matrices, vectors = cudnn_vector(part, mode)
            weights += matrices
            biases += vectors
    params = np.concatenate([weight.reshape(-1) for weight in (*weights, *biases)])
    zeros = np.zeros((2 * many, 2, units), np.float32)
    inputs = {"input": X.transpose(1, 0, 2), "input_h": zeros, "input_c": zeros, "params": params}
    direction = "bidirectional" if both else "unidirectional"
    y, h, c = cudnn_session(
        "CudnnRNNV2", inputs, engine, rnn_mode=mode, direction=direction, is_training=False
    )
    np.testing.assert_allclose(y, out.transpose(1, 0, 2), rtol=1e-5, atol=2e-6)
    every = 2 if mode == "lstm" else 1
    np.testing.assert_allclose(h, np.stack(states[::every]), rtol=1e-5, atol=2e-6)
    if mode == "lstm":
        np.testing.assert_allclose(c, np.stack(states[1::2]), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("mode", ["lstm", "gru"])
@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
def test_cudnn_with_lengths(mode, time_major, engine):
    make = {"lstm": layers.LSTM, "gru": layers.GRU}[mode]
    layer = layers.Bidirectional(make(4, return_sequences=True, return_state=True))
    layer.build(X.shape)
    shaken(layer)
    lengths = np.array([5, 3], np.int32)
    short = [tf.nest.flatten(layer(X[b : b + 1, :length])) for b, length in enumerate(lengths)]
    weights, biases = [], []
    for part in (layer.forward_layer, layer.backward_layer):
        matrices, vectors = cudnn_vector(part, mode)
        weights += matrices
        biases += vectors
    params = np.concatenate([weight.reshape(-1) for weight in (*weights, *biases)])
    zeros = np.zeros((2, 2, 4), np.float32)
    x = X.transpose(1, 0, 2) if time_major else X
    inputs = {
        "input": x,
        "input_h": zeros,
        "input_c": zeros,
        "params": params,
        "sequence_lengths": lengths,
    }
    y, h, _ = cudnn_session(
        "CudnnRNNV3",
        inputs,
        engine,
        rnn_mode=mode,
        direction="bidirectional",
        is_training=False,
        time_major=time_major,
    )
    if time_major:
        y, h = y.transpose(1, 0, 2), h.transpose(1, 0, 2)
    every = 2 if mode == "lstm" else 1
    for b, (answers, length) in enumerate(zip(short, lengths, strict=True)):
        np.testing.assert_allclose(y[b, :length], answers[0][0], rtol=1e-5, atol=2e-6)
        assert not y[b, length:].any()
        np.testing.assert_allclose(h[b], np.concatenate(answers[1::every]), rtol=1e-5, atol=2e-6)
