"""Generated models: recurrent nets as TF1 wrote them, with `dynamic_rnn` and its cells and wrappers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from real_generated_parts import Tensors, dense, maker

WORDS, WIDTH, UNITS, TAGS = 5000, 64, 100, 12


def cells_of_tf1() -> Any:
    """The cells of TF1, which Keras 3 does not have any more."""
    from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl

    return rnn_cell_impl


def _sentence(tf: Any) -> tuple[Tensors, Any]:
    """Word ids and lengths, and the embedded words."""
    v1 = tf.compat.v1
    words = v1.placeholder(tf.int32, [None, None], "words")
    lengths = v1.placeholder(tf.int32, [None], "lengths")
    table = v1.get_variable("embedding", [WORDS, WIDTH])
    return {"words": words, "lengths": lengths}, tf.nn.embedding_lookup(table, words)


def _bidirectional(tf: Any, make_cell: Callable[[], Any]) -> tuple[Tensors, Any]:
    inputs, x = _sentence(tf)
    outputs, _ = tf.compat.v1.nn.bidirectional_dynamic_rnn(
        make_cell(), make_cell(), x, inputs["lengths"], dtype=tf.float32
    )
    return inputs, dense(tf, tf.concat(outputs, -1), TAGS, "tags")


@maker
def rnn_dropout(tf: Any) -> tuple[Tensors, Tensors]:
    """A tagger: a bidirectional LSTM with dropout whose keep_prob is fed, as 1."""
    keep = tf.compat.v1.placeholder_with_default(1.0, [], "keep_prob")
    cells = cells_of_tf1()
    inputs, scores = _bidirectional(
        tf, lambda: cells.DropoutWrapper(cells.LSTMCell(UNITS), output_keep_prob=keep)
    )
    return {**inputs, "keep_prob": keep}, {"tags": tf.argmax(scores, -1)}


@maker
def rnn_dropout_active(tf: Any) -> tuple[Tensors, Tensors]:
    """The same with a keep_prob below 1, and with dropout of inputs and states: Monte Carlo dropout."""
    keep = tf.compat.v1.placeholder_with_default(1.0, [], "keep_prob")
    cells = cells_of_tf1()
    inputs, scores = _bidirectional(
        tf, lambda: cells.DropoutWrapper(cells.LSTMCell(UNITS), keep, keep, keep, seed=1)
    )
    return {**inputs, "keep_prob": keep}, {"scores": scores}


@maker
def rnn_residual(tf: Any) -> tuple[Tensors, Tensors]:
    """Three GRU layers with residual connections in one MultiRNNCell."""
    cells = cells_of_tf1()
    cell = cells.MultiRNNCell([cells.ResidualWrapper(cells.GRUCell(WIDTH)) for _ in range(3)])
    inputs, x = _sentence(tf)
    outputs, _ = tf.compat.v1.nn.dynamic_rnn(cell, x, inputs["lengths"], dtype=tf.float32)
    return inputs, {"scores": dense(tf, outputs, TAGS, "tags")}


@maker
def rnn_multi(tf: Any) -> tuple[Tensors, Tensors]:
    """A language model: BasicLSTM cells with dropout in a MultiRNNCell, over time-major inputs."""
    v1, cells = tf.compat.v1, cells_of_tf1()
    keep = v1.placeholder_with_default(1.0, [], "keep_prob")
    layers = [cells.DropoutWrapper(cells.BasicLSTMCell(UNITS), output_keep_prob=keep) for _ in range(2)]
    inputs, x = _sentence(tf)
    outputs, _ = v1.nn.dynamic_rnn(
        cells.MultiRNNCell(layers),
        tf.transpose(x, [1, 0, 2]),
        inputs["lengths"],
        dtype=tf.float32,
        time_major=True,
    )
    return {**inputs, "keep_prob": keep}, {"next": tf.nn.softmax(dense(tf, outputs[-1], WORDS, "next"))}


@maker
def rnn_layer_norm(tf: Any) -> tuple[Tensors, Tensors]:
    """A bidirectional LSTM with layer normalization of its gates, as in `LayerNormBasicLSTMCell`."""
    v1, cells = tf.compat.v1, cells_of_tf1()

    class LayerNormCell(cells.RNNCell):  # type: ignore[misc, name-defined]
        state_size = cells.LSTMStateTuple(UNITS, UNITS)
        output_size = UNITS

        def norm(self, x: Any, name: str) -> Any:
            gain = v1.get_variable(f"{name}/gamma", [UNITS], initializer=v1.ones_initializer())
            shift = v1.get_variable(f"{name}/beta", [UNITS], initializer=v1.zeros_initializer())
            mean, variance = tf.nn.moments(x, [1], keepdims=True)
            return tf.nn.batch_normalization(x, mean, variance, shift, gain, 1e-12)

        def call(self, inputs: Any, state: Any) -> Any:
            c, h = state
            both = tf.concat([inputs, h], 1)
            gates = tf.matmul(both, v1.get_variable("kernel", [both.shape[1], 4 * UNITS]))
            parts = tf.split(gates, 4, axis=1)
            names = ("input", "transform", "forget", "output")
            i, j, f, o = (self.norm(x, name) for x, name in zip(parts, names, strict=True))
            new_c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
            new_h = tf.tanh(self.norm(new_c, "state")) * tf.sigmoid(o)
            return new_h, cells.LSTMStateTuple(new_c, new_h)

    inputs, scores = _bidirectional(tf, LayerNormCell)
    return inputs, {"scores": scores}


@maker
def rnn_peephole(tf: Any) -> tuple[Tensors, Tensors]:
    """An LSTM with peepholes, projection and clipping, as in speech recognition."""
    v1 = tf.compat.v1
    frames = v1.placeholder(tf.float32, [None, None, 40], "frames")
    lengths = v1.placeholder(tf.int32, [None], "lengths")
    cell = cells_of_tf1().LSTMCell(256, use_peepholes=True, num_proj=128, cell_clip=50.0)
    outputs, _ = v1.nn.dynamic_rnn(cell, frames, lengths, dtype=tf.float32)
    return {"frames": frames, "lengths": lengths}, {"scores": dense(tf, outputs, 60, "phones")}


@maker
def rnn_raw(tf: Any) -> tuple[Tensors, Tensors]:
    """A greedy decoder with `raw_rnn`: the most likely word of a step is the input of the next."""
    v1 = tf.compat.v1
    start = v1.placeholder(tf.float32, [None, UNITS], "state")
    steps = v1.placeholder(tf.int32, [], "steps")
    table = v1.get_variable("embedding", [WORDS, WIDTH])
    output = v1.get_variable("output", [UNITS, WORDS])
    cell = cells_of_tf1().GRUCell(UNITS)
    batch = tf.shape(start)[0]

    def loop(time: Any, cell_output: Any, state: Any, _: Any) -> Any:
        if cell_output is None:
            words, after, emitted = tf.zeros([batch], tf.int32), start, tf.zeros([], tf.int32)
        else:
            words = tf.argmax(tf.matmul(cell_output, output), 1, output_type=tf.int32)
            after, emitted = state, words
        return tf.fill([batch], time >= steps), tf.nn.embedding_lookup(table, words), after, emitted, None

    words, _, _ = v1.nn.raw_rnn(cell, loop)
    return {"state": start, "steps": steps}, {"words": words.stack()}


@maker
def crf(tf: Any) -> tuple[Tensors, Tensors]:
    """A bidirectional LSTM whose scores are decoded by Viterbi's algorithm, as `crf_decode` did."""
    v1, cells = tf.compat.v1, cells_of_tf1()
    inputs, scores = _bidirectional(tf, lambda: cells.LSTMCell(UNITS))
    transitions = v1.get_variable("transitions", [TAGS, TAGS])

    class Forward(cells.RNNCell):  # type: ignore[misc, name-defined]
        state_size = output_size = TAGS

        def call(self, x: Any, state: Any) -> Any:
            paths = tf.expand_dims(state, 2) + tf.expand_dims(transitions, 0)
            return tf.cast(tf.argmax(paths, 1), tf.int32), x + tf.reduce_max(paths, [1])

    class Backward(cells.RNNCell):  # type: ignore[misc, name-defined]
        state_size = output_size = 1

        def call(self, x: Any, state: Any) -> Any:
            rows = tf.stack([tf.range(tf.shape(x)[0]), tf.squeeze(state, [1])], axis=1)
            after = tf.expand_dims(tf.gather_nd(x, rows), -1)
            return after, after

    less = tf.maximum(inputs["lengths"] - 1, 0)
    first = tf.squeeze(tf.slice(scores, [0, 0, 0], [-1, 1, -1]), [1])
    pointers, last = v1.nn.dynamic_rnn(
        Forward(), tf.slice(scores, [0, 1, 0], [-1, -1, -1]), less, first, time_major=False, dtype=tf.int32
    )
    pointers = tf.reverse_sequence(pointers, less, seq_axis=1)
    end = tf.expand_dims(tf.cast(tf.argmax(last, 1), tf.int32), -1)
    tags, _ = v1.nn.dynamic_rnn(Backward(), pointers, less, end, dtype=tf.int32)
    tags = tf.concat([end, tf.squeeze(tags, [2])], 1)
    tags = tf.reverse_sequence(tags, inputs["lengths"], seq_axis=1)
    return inputs, {"tags": tags, "score": tf.reduce_max(last, [1])}
