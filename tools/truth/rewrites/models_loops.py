"""Loops, branches and arrays that grow."""

import numpy as np
import tensorflow as tf
from making import SEED, floats, integers, save, weights


def greedy_decoder(path: str) -> None:
    """Writes tokens to a growing array until the end token comes."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.embedding, module.u = tf.Variable(weights(rng, 20, 8, scale=1)), tf.Variable(weights(rng, 8, 8))
    module.out = tf.Variable(weights(rng, 8, 20, scale=1))

    def call(start, most):
        tokens = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[])
        scores = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
        token, state, i = start, tf.zeros([1, 8]), tf.constant(0)
        while tf.logical_and(i < most, tf.not_equal(token, 0)):
            state = tf.tanh(tf.gather(module.embedding, token)[None] + state @ module.u)
            logits = tf.nn.log_softmax((state @ module.out)[0])
            token = tf.argmax(logits, output_type=tf.int32)
            tokens, scores = tokens.write(i, token), scores.write(i, logits[token])
            i += 1
        return {"tokens": tokens.stack(), "scores": scores.stack(), "length": i}

    save(path, module, call, start=integers(), most=integers())


def kept_frames(path: str) -> None:
    """Frames of a sound that are loud enough, collected in an array that grows."""

    def call(sound):
        frames = tf.signal.frame(sound, 8, 4)
        kept = tf.TensorArray(
            tf.float32, size=1, dynamic_size=True, clear_after_read=False, element_shape=[8]
        )
        kept = kept.write(0, tf.zeros([8]))
        count = 1
        for frame in frames:
            if tf.reduce_max(tf.abs(frame)) > 0.8:
                kept = kept.write(count, frame)
                count += 1
        return {"frames": kept.stack(), "joined": kept.concat(), "count": kept.size()}

    save(path, tf.Module(), call, sound=floats(None))


def collatz(path: str) -> None:
    """A growing array in a loop in a loop: the path of each number, ragged."""

    def call(numbers):
        values = tf.TensorArray(tf.int64, size=0, dynamic_size=True, element_shape=[])
        lengths = tf.TensorArray(tf.int64, size=tf.size(numbers), element_shape=[])
        total = tf.constant(0)
        for i in tf.range(tf.size(numbers)):
            n, steps = numbers[i], tf.constant(0, tf.int64)
            while n > 1:
                n = tf.where(n % 2 == 0, n // 2, 3 * n + 1)
                values = values.write(total, n)
                total += 1
                steps += 1
            lengths = lengths.write(i, steps)
        paths = tf.RaggedTensor.from_row_lengths(values.stack(), lengths.stack())
        return {
            "paths": paths.to_tensor(),
            "peak": tf.math.segment_max(paths.flat_values, paths.value_rowids()),
        }

    save(path, tf.Module(), call, numbers=tf.TensorSpec([None], tf.int64))


def beam_search(path: str) -> None:
    """A beam search over a table of transitions: a while loop with shapes that grow."""
    rng = np.random.default_rng(SEED)
    table = tf.nn.log_softmax(weights(rng, 12, 12, scale=2))

    def call(first):
        beams, scores = first[:, None, None], tf.zeros([tf.shape(first)[0], 1])

        def body(beams, scores):
            following = scores[..., None] + tf.gather(table, beams[..., -1])
            width = tf.shape(following)[1] * 12
            best, where = tf.math.top_k(tf.reshape(following, [-1, width]), 3)
            chosen = tf.gather(beams, where // 12, batch_dims=1)
            return tf.concat([chosen, (where % 12)[..., None]], -1), best

        unknown = tf.TensorShape([None, None, None]), tf.TensorShape([None, None])
        beams, scores = tf.while_loop(
            lambda b, s: tf.shape(b)[2] < 6, body, [beams, scores], shape_invariants=list(unknown)
        )
        return {"beams": beams, "scores": scores}

    save(path, tf.Module(), call, first=integers(None))


def experts(path: str) -> None:
    """switch_case over experts inside map_fn, with a branch inside one of them."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.w = [tf.Variable(weights(rng, 4, 4)) for _ in range(3)]

    def third(x):
        return tf.cond(
            tf.reduce_sum(x) > 0, lambda: tf.linalg.matvec(module.w[2], x), lambda: tf.reverse(x, [0])
        )

    def expert(args):
        x, which = args
        branches = [
            lambda: tf.linalg.matvec(module.w[0], x),
            lambda: tf.nn.relu(tf.linalg.matvec(module.w[1], x)),
            lambda: third(x),
        ]
        return tf.switch_case(which, branches, default=lambda: tf.zeros_like(x))

    def call(x, which):
        return {"y": tf.map_fn(expert, (x, which), fn_output_signature=tf.float32, parallel_iterations=4)}

    save(path, module, call, x=floats(None, 4), which=integers(None))


def newton(path: str) -> None:
    """Roots by Newton's method: a while loop of its own for each element by vectorized_map, and tf.case."""

    def call(x):
        def step(value):
            return 0.5 * (value + x / value)

        root = tf.while_loop(
            lambda v, i: tf.logical_and(i < 30, tf.reduce_any(tf.abs(v * v - x) > 1e-4 * x)),
            lambda v, i: (step(v), i + 1),
            [tf.maximum(x, 1.0), 0],
            maximum_iterations=40,
        )
        total = tf.reduce_sum(x)
        kind = tf.case(
            [(total < 1, lambda: tf.constant("small")), (total < 100, lambda: tf.constant("medium"))],
            default=lambda: tf.constant("large"),
            exclusive=False,
        )
        rows = tf.vectorized_map(lambda row: tf.reduce_sum(row * row) + tf.linalg.norm(row), x)
        return {"root": root[0], "kind": kind, "rows": rows}

    save(path, tf.Module(), call, x=floats(None, 3))


def folded(path: str) -> None:
    """tf.scan and foldl: a filter with feedback, and a running best."""

    def call(x):
        smooth = tf.scan(lambda a, v: 0.7 * a + 0.3 * v, x, initializer=tf.zeros_like(x[0]))
        best = tf.foldl(lambda a, v: tf.maximum(a, tf.reduce_sum(v)), x, initializer=tf.constant(-1e9))
        backward = tf.scan(lambda a, v: (a[0] + v, a[1] * 0.5), x, (tf.zeros([2]), tf.ones([])), reverse=True)
        return {"smooth": smooth, "best": best, "sums": backward[0], "decay": backward[1]}

    save(path, tf.Module(), call, x=floats(None, 2))
