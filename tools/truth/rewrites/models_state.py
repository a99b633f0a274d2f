"""Several signatures, gradients, checks, seeds, and data inside a function."""

import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp
from making import SEED, floats, integers, save, weights


class Service(tf.Module):
    """Several signatures over shared variables, one with a counter under control dependencies."""

    def __init__(self) -> None:
        rng = np.random.default_rng(SEED)
        self.w, self.b = tf.Variable(weights(rng, 5, 3)), tf.Variable(tf.zeros([3]) + 0.5)
        self.calls = tf.Variable(0, trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 5], tf.float32, "x")])
    def predict(self, x):
        with tf.control_dependencies([tf.debugging.assert_less(tf.abs(x), 1e6)]):
            logits = x @ self.w + self.b
        return {"classes": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}

    @tf.function(input_signature=[tf.TensorSpec([None, 5], tf.float32, "x")])
    def embed(self, x):
        with tf.control_dependencies([self.calls.assign_add(1)]):
            return {"vectors": tf.math.l2_normalize(x @ self.w, 1)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "lines")])
    def from_text(self, lines):
        cells = tf.strings.to_number(tf.strings.split(lines, ",").to_tensor("0", shape=[None, 5]))
        return {"classes": self.predict(cells)["classes"]}


def service(path: str) -> None:
    module = Service()
    signatures = {"serving_default": module.predict, "embed": module.embed, "from_text": module.from_text}
    tf.saved_model.save(module, path, signatures=signatures)


def trained_step(path: str) -> None:
    """A gradient in the graph: adversarial noise by the sign of the gradient, custom gradients and all."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.w1, module.w2 = tf.Variable(weights(rng, 6, 8)), tf.Variable(weights(rng, 8, 3))

    def call(x, label):
        with tf.GradientTape() as tape:
            tape.watch(x)
            logits = tf.nn.swish(x @ module.w1) @ module.w2
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)
        gradient = tape.gradient(loss, x)
        return {"loss": loss, "gradient": gradient, "moved": x + 0.05 * tf.sign(gradient)}

    save(path, module, call, x=floats(None, 6), label=integers(None))


def numpy_style(path: str) -> None:
    """A model written with tensorflow.experimental.numpy."""

    def call(x):
        centered = x - tnp.mean(x, axis=0, keepdims=True)
        angle = tnp.arctan2(centered[:, 0], centered[:, 1])
        sums = tnp.cumsum(tnp.where(centered > 0, centered, 0.1 * centered), axis=1)
        outer = tnp.einsum("bi,bj->bij", centered, tnp.flip(centered, 1))
        order = tnp.argsort(x, axis=1, kind="stable")
        return {
            "angle": angle,
            "sums": sums,
            "outer": tnp.clip(outer, -2, 2),
            "order": order,
            "rolled": tnp.roll(x, 1, 1),
            "diagonal": tnp.trace(outer, axis1=1, axis2=2),
            "log": tnp.log1p(tnp.abs(x)),
            "median": tnp.tri(3, 3, dtype=tnp.float32),
        }

    save(path, tf.Module(), call, x=floats(None, 3))


def stateless_noise(path: str) -> None:
    """Random numbers with a seed of the request: uniform, normal, truncated, integers, categories."""

    def call(x, seed):
        shape = tf.shape(x)
        a, b = tf.unstack(tf.random.experimental.stateless_split(seed, 2))
        keep = tf.random.stateless_uniform(shape, a) > 0.3
        return {
            "dropped": tf.where(keep, x / 0.7, 0.0),
            "normal": tf.random.stateless_normal(shape, b),
            "integers": tf.random.stateless_uniform(shape, a, 0, 10, tf.int32),
            "truncated": tf.random.stateless_truncated_normal([4], b),
            "categories": tf.random.stateless_categorical(x, 3, b),
            "fold": tf.random.experimental.stateless_fold_in(seed, 5),
        }

    save(path, tf.Module(), call, x=floats(None, 4), seed=integers(2))


def monte_carlo(path: str) -> None:
    """An estimate over stateless draws: gamma, Poisson, binomial, and a generator's algorithm by name."""

    def call(rate, seed):
        gamma = tf.random.stateless_gamma([2000], seed, alpha=rate[0])
        uniform = tf.random.stateless_uniform([2000], seed, alg="philox")
        poisson = tf.random.stateless_poisson([1000], seed, rate[1])
        return {
            "gamma": tf.reduce_mean(gamma),
            "uniform": uniform[:10],
            "poisson": tf.reduce_mean(poisson),
            "shuffled": tf.random.experimental.stateless_shuffle(tf.range(10), seed),
        }

    save(path, tf.Module(), call, rate=floats(2), seed=integers(2))


def dataset_inside(path: str) -> None:
    """A tf.data pipeline inside the function: windows, filter, reduce."""

    def call(x):
        data = tf.data.Dataset.from_tensor_slices(x).filter(lambda v: v > 0).map(lambda v: v * 2)
        total = data.reduce(tf.constant(0.0), lambda a, v: a + v)
        count = data.batch(2).reduce(tf.constant(0, tf.int64), lambda a, v: a + 1)
        return {"total": total, "batches": count}

    save(path, tf.Module(), call, x=floats(None))


def checked_input(path: str) -> None:
    """Assertions, prints and shapes checked: what careful authors leave in a model."""

    def call(ids, weight):
        tf.debugging.assert_non_negative(ids)
        tf.debugging.assert_equal(tf.shape(ids)[0], tf.shape(weight)[0])
        weight = tf.debugging.check_numerics(tf.ensure_shape(weight, [None, 3]), "weight")
        tf.debugging.Assert(tf.reduce_all(weight < 1e9), [weight])
        hot = tf.one_hot(ids, 4, on_value=2.0, off_value=-1.0)
        spread = tf.broadcast_to(tf.reduce_sum(weight, 1, keepdims=True), [tf.shape(ids)[0], 4])
        safe = tf.math.divide_no_nan(hot, spread)
        return {
            "safe": safe,
            "bounded": tf.clip_by_global_norm([safe, weight], 3.0)[0][1],
            "log": tf.math.xlogy(tf.abs(weight), tf.abs(weight)),
            "first": tf.guarantee_const(tf.constant(1.0)) * safe[:, 0],
        }

    save(path, tf.Module(), call, ids=integers(None), weight=floats(None, 3))
