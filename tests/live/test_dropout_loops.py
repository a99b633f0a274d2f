"""Recurrent nets of TF1 whose loops draw dropout masks: the numbers and the answers are TensorFlow's."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl as tf1

import tfport

v1 = tf.compat.v1
BATCH, STEPS, WIDTH = 3, 11, 5
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(BATCH, STEPS, WIDTH)).astype(np.float32)
START = RANDOM.normal(size=(BATCH, 4)).astype(np.float32)


class Normed(tf1.RNNCell):
    """A cell with layer normalization of its input and its sum, and a bias on each side of it."""

    state_size = output_size = 4

    def call(self, x, state):
        mean, variance = tf.nn.moments(x, [1], keepdims=True)
        both = tf.concat([(x - mean) * tf.math.rsqrt(variance + 1e-3), state, tf.ones_like(x)], 1)
        out = tf.matmul(both, v1.get_variable("kernel", [both.shape[1], 4]))
        after = tf.tanh(out + v1.get_variable("bias", [4])) * 0.5 + state
        return after, after


class Twice(tf1.RNNCell):
    """A cell whose joined input and state are multiplied twice, and read once more."""

    state_size = output_size = 4

    def call(self, x, state):
        both = tf.concat([x, state], 1)
        gate, new = (tf.matmul(both, v1.get_variable(name, [WIDTH + 4, 4])) for name in ("gate", "new"))
        after = tf.sigmoid(gate + 1.0) * tf.tanh(new) + 0.1 * tf.reduce_sum(both, 1, keepdims=True)
        return after, after


def dropout(cell, keep, seed=7, **options):
    return tf1.DropoutWrapper(cell, keep, keep, keep, seed=seed, **options)


NETS = {
    "lstm": lambda keep: dropout(tf1.LSTMCell(4), keep),
    "forget bias": lambda keep: dropout(tf1.LSTMCell(4, forget_bias=0.5), keep, seed=2**40 + 3),
    "basic lstm": lambda keep: dropout(tf1.BasicLSTMCell(4), keep, seed=-5),
    "peepholes": lambda keep: dropout(tf1.LSTMCell(4, use_peepholes=True, cell_clip=0.3), keep),
    "projection": lambda keep: dropout(tf1.LSTMCell(6, num_proj=3), keep),
    "wide": lambda keep: dropout(tf1.LSTMCell(40), keep),
    "gru": lambda keep: dropout(tf1.GRUCell(4), keep),
    "plain": lambda keep: dropout(tf1.BasicRNNCell(4), keep),
    "of outputs": lambda keep: tf1.DropoutWrapper(tf1.GRUCell(4), output_keep_prob=keep, seed=3),
    "of inputs": lambda keep: tf1.DropoutWrapper(tf1.LSTMCell(4), input_keep_prob=keep, seed=3),
    "residual": lambda keep: tf1.ResidualWrapper(dropout(tf1.LSTMCell(WIDTH), keep)),
    "several": lambda keep: tf1.MultiRNNCell(
        [dropout(tf1.LSTMCell(4), keep), dropout(tf1.GRUCell(4), keep, seed=8)]
    ),
    "the same mask": lambda keep: dropout(
        tf1.LSTMCell(4), keep, variational_recurrent=True, dtype=tf.float32, input_size=WIDTH
    ),
    "normed": lambda keep: dropout(Normed(), keep),
    "twice": lambda keep: dropout(Twice(), keep),
}


def both_directions(make, x, lengths, keep):
    return v1.nn.bidirectional_dynamic_rnn(
        make(keep), make(keep), x, lengths, dtype=tf.float32, parallel_iterations=1
    )


def without_lengths(make, x, lengths, keep):
    return v1.nn.dynamic_rnn(make(keep), x, dtype=tf.float32, parallel_iterations=1)


def assert_same_answers(build, feeds):
    """Two runs for each of `feeds` answer as TensorFlow's session does, which starts with the same seeds."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(11)
        x = v1.placeholder(tf.float32, (None, None, WIDTH), name="x")
        lengths = v1.placeholder(tf.int32, (None,), name="n")
        keep = v1.placeholder_with_default(1.0, (), name="keep")
        outputs = [
            tf.identity(y, name=f"y{i}") for i, y in enumerate(tf.nest.flatten(build(x, lengths, keep)))
        ]
        ends = [y.name for y in outputs]
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            names = [y.op.name for y in outputs]
            frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), names)
    ours = tfport.Session(tfport.load(frozen.SerializeToString()))
    with tf.Graph().as_default():
        tf.import_graph_def(frozen, name="")
        with v1.Session() as theirs:
            for values in feeds:
                for _ in range(2):
                    for answer, right in zip(ours.run(ends, values), theirs.run(ends, values), strict=True):
                        np.testing.assert_allclose(answer, right, rtol=1e-5, atol=2e-6)


FEEDS = [
    {"x:0": X, "n:0": np.array([11, 4, 0], np.int32), "keep:0": np.float32(0.6)},
    {"x:0": X[:1, :6], "n:0": np.array([3], np.int32), "keep:0": np.float32(0.9)},
    {"x:0": X, "n:0": np.array([9, 9, 9], np.int32), "keep:0": np.float32(1)},
]


@pytest.mark.filterwarnings("ignore::UserWarning")  # deprecated names
@pytest.mark.parametrize("functional", [False, True], ids=["TF1 loop", "While"])
@pytest.mark.parametrize("runs", [both_directions, without_lengths])
@pytest.mark.parametrize("name", NETS)
def test_dropout_in_loops(name, runs, functional):
    (v1.enable_control_flow_v2 if functional else v1.disable_control_flow_v2)()
    try:
        assert_same_answers(
            lambda x, n, keep: runs(NETS[name], x, n, keep),
            FEEDS if runs is both_directions else [{k: v for k, v in f.items() if k != "n:0"} for f in FEEDS],
        )
    finally:
        v1.enable_control_flow_v2()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_state_from_outside():
    def build(x, lengths, keep):
        start = v1.placeholder(tf.float32, (None, 4), name="start")
        return v1.nn.dynamic_rnn(
            dropout(tf1.GRUCell(4), keep), x, lengths, start, dtype=tf.float32, parallel_iterations=1
        )

    assert_same_answers(build, [{**f, "start:0": START[: len(f["x:0"])]} for f in FEEDS])
