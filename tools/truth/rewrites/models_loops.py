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
