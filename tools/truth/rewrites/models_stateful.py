"""Models whose signatures share variables: counters, running statistics, caches, with and without assets."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf
from making import SEED, WORDS, floats, integers, strings, weights


def stateful(path: str, module: tf.Module, **signatures: tuple[Callable, dict[str, tf.TensorSpec]]) -> None:
    """A SavedModel with several signatures over the variables of a module."""
    functions = {}
    for name, (call, inputs) in signatures.items():
        specs = [tf.TensorSpec(spec.shape, spec.dtype, arg) for arg, spec in inputs.items()]
        functions[name] = tf.function(call, input_signature=specs)
        setattr(module, f"call_{name}", functions[name])
    tf.saved_model.save(module, path, signatures=functions)


def vocabulary(module: tf.Module, path: str) -> tf.lookup.StaticHashTable:
    """A table that is initialized from an asset of the model."""
    file = Path(f"{path}.words.txt")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(WORDS) + "\n")
    module.asset = tf.saved_model.Asset(str(file))
    line, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    initializer = tf.lookup.TextFileInitializer(module.asset, tf.string, line, tf.int64, number)
    module.table = tf.lookup.StaticHashTable(initializer, len(WORDS))
    return module.table


def counter(path: str) -> None:
    """One signature that adds to a variable and reads it back."""
    module = tf.Module()
    module.n = tf.Variable(0)

    def count(k):
        module.n.assign_add(k)
        return {"n": module.n.read_value()}

    stateful(path, module, serving_default=(count, {"k": integers()}))


def counter_with_reset(path: str) -> None:
    """Signatures that count, read and reset; two have no inputs."""
    module = tf.Module()
    module.n = tf.Variable(3, dtype=tf.int64)

    def count(k):
        return {"n": module.n.assign_add(tf.cast(k, tf.int64))}

    def read():
        return {"n": module.n + 0}

    def reset():
        with tf.control_dependencies([module.n.assign(5)]):
            return {"done": tf.constant(True)}

    stateful(path, module, count=(count, {"k": integers()}), read=(read, {}), reset=(reset, {}))


def counter_with_asset(path: str) -> None:
    """Five signatures over variables and a vocabulary from an asset, one a counter."""
    module = tf.Module()
    table, rng = vocabulary(module, path), np.random.default_rng(SEED)
    module.n, module.w = tf.Variable(0.0), tf.Variable(weights(rng, 5, 3))
    module.vectors = tf.Variable(weights(rng, len(WORDS) + 1, 4))

    def count(k):
        module.n.assign_add(k)
        return {"n": tf.identity(module.n), "text": tf.strings.as_string(module.n, precision=1)}

    def embed(words):
        return {"vectors": tf.gather(module.vectors, table.lookup(words))}

    stateful(
        path, module,
        serving_default=(lambda x: {"y": tf.nn.softmax(x @ module.w)}, {"x": floats(None, 5)}),
        count=(count, {"k": floats()}),
        embed=(embed, {"words": strings(None)}),
        ids=(lambda words: {"ids": table.lookup(words)}, {"words": strings(None)}),
        rest=(lambda x: {"y": x[:, 1:] * module.n}, {"x": floats(None, 5)}),
    )  # fmt: skip


def running_mean(path: str) -> None:
    """A mean that each batch moves, and a signature that subtracts it."""
    module = tf.Module()
    module.mean = tf.Variable(tf.zeros([3]))

    def update(x):
        module.mean.assign(0.9 * module.mean + 0.1 * tf.reduce_mean(x, 0))
        return {"mean": module.mean.read_value()}

    center = lambda x: {"y": x - module.mean}  # noqa: E731
    stateful(path, module, update=(update, {"x": floats(None, 3)}), center=(center, {"x": floats(None, 3)}))


def running_moments(path: str) -> None:
    """Batch normalization whose training signature updates mean and variance."""
    module, rng = tf.Module(), np.random.default_rng(SEED)
    module.mean, module.variance = tf.Variable(tf.zeros([3])), tf.Variable(tf.ones([3]))
    module.gamma, module.w = tf.Variable(tf.ones([3]) * 1.5), tf.Variable(weights(rng, 3, 3))

    def train(x):
        mean, variance = tf.nn.moments(x @ module.w, [0])
        module.mean.assign_sub((module.mean - mean) * 0.1)
        module.variance.assign_sub((module.variance - variance) * 0.1)
        return {"y": tf.nn.batch_normalization(x @ module.w, mean, variance, None, module.gamma, 1e-3)}

    def infer(x):
        moments = module.mean, module.variance
        return {"y": tf.nn.batch_normalization(x @ module.w, *moments, None, module.gamma, 1e-3)}

    stateful(path, module, train=(train, {"x": floats(None, 3)}), infer=(infer, {"x": floats(None, 3)}))


def scaled_weights(path: str) -> None:
    """A signature that changes the weights that another uses, as training would."""
    module, rng = tf.Module(), np.random.default_rng(SEED)
    module.w, module.b = tf.Variable(weights(rng, 4, 2)), tf.Variable([0.5, -0.5])

    def decay(rate):
        module.w.assign(module.w * (1 - rate * 0.01))
        module.b.assign_sub(tf.fill([2], rate * 0.01))
        return {"norm": tf.norm(module.w)}

    predict = lambda x: {"y": tf.nn.sigmoid(x @ module.w + module.b)}  # noqa: E731
    stateful(
        path, module, serving_default=(predict, {"x": floats(None, 4)}), decay=(decay, {"rate": floats()})
    )


def gradient_step(path: str) -> None:
    """A step of gradient descent as a signature."""
    module, rng = tf.Module(), np.random.default_rng(SEED)
    module.w, module.steps = tf.Variable(weights(rng, 3, 1)), tf.Variable(0, dtype=tf.int64)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.squeeze(x @ module.w, 1) - y))
        module.w.assign_sub(0.05 * tape.gradient(loss, module.w))
        module.steps.assign_add(1)
        return {"loss": loss, "steps": module.steps.read_value()}

    predict = lambda x: {"y": x @ module.w}  # noqa: E731
    inputs = {"x": floats(None, 3), "y": floats(None)}
    stateful(path, module, step=(step, inputs), predict=(predict, {"x": floats(None, 3)}))


def ring_buffer(path: str) -> None:
    """The last four rows, each written at an index that counts up."""
    module = tf.Module()
    module.rows, module.at = tf.Variable(tf.zeros([4, 2])), tf.Variable(0)

    def push(row):
        index = tf.math.floormod(module.at, 4)
        module.rows.scatter_nd_update([[index]], [row])
        module.at.assign_add(1)
        return {"at": module.at.read_value()}

    def window():
        order = tf.math.floormod(tf.range(4) + module.at, 4)
        return {"rows": tf.gather(module.rows, order), "newest": tf.gather(module.rows, order)[-1]}

    stateful(path, module, push=(push, {"row": floats(2)}), window=(window, {}))


def shifted_window(path: str) -> None:
    """A window that is shifted by slices and concatenation."""
    module = tf.Module()
    module.window = tf.Variable(tf.zeros([1, 5, 2]))

    def push(x):
        module.window.assign(tf.concat([module.window[:, 1:], x[:, None]], 1))
        return {"window": module.window.read_value(), "last": module.window[0, -1]}

    mean = lambda: {"mean": tf.reduce_mean(module.window[..., ::-1], [0, 1])}  # noqa: E731
    stateful(path, module, push=(push, {"x": floats(1, 2)}), mean=(mean, {}))


def assigned_slice(path: str) -> None:
    """A part of a variable is assigned through a slice."""
    module = tf.Module()
    module.v = tf.Variable(tf.zeros([3, 4]))

    def put(x):
        module.v[1, 1:3].assign(x)
        return {"v": module.v.read_value()}

    stateful(path, module, put=(put, {"x": floats(2)}), total=(lambda: {"sum": tf.reduce_sum(module.v)}, {}))


def word_counts(path: str) -> None:
    """How often each word of an asset was seen."""
    module = tf.Module()
    table = vocabulary(module, path)
    module.counts = tf.Variable(tf.zeros([len(WORDS) + 1], tf.int32))

    def see(words):
        ids = tf.cast(table.lookup(words), tf.int32)
        module.counts.scatter_add(tf.IndexedSlices(tf.ones_like(ids), ids))
        return {"seen": tf.gather(module.counts, ids)}

    top = lambda: {"top": tf.math.top_k(module.counts, 3).values}  # noqa: E731
    stateful(path, module, see=(see, {"words": strings(None)}), top=(top, {}))


def two_assets(path: str) -> None:
    """Two vocabularies and a counter of requests that all signatures share."""
    module, other = tf.Module(), tf.Module()
    table, second = vocabulary(module, path), vocabulary(other, f"{path}_other")
    module.other, module.calls = other, tf.Variable(0)

    def called(out):
        with tf.control_dependencies([module.calls.assign_add(1)]):
            return {name: tf.identity(value) for name, value in out.items()}

    stateful(
        path, module,
        first=(lambda words: called({"ids": table.lookup(words)}), {"words": strings(None)}),
        second=(lambda words: called({"ids": second.lookup(words) * 2}), {"words": strings(None)}),
        calls=(lambda: {"calls": module.calls.read_value()}, {}),
    )  # fmt: skip


def recurrent_state(path: str) -> None:
    """A recurrent cell that keeps its state between requests."""
    module, rng = tf.Module(), np.random.default_rng(SEED)
    module.h, module.c = tf.Variable(tf.zeros([1, 3])), tf.Variable(tf.zeros([1, 3]))
    module.w = tf.Variable(weights(rng, 5, 12))

    def step(x):
        i, f, g, o = tf.split(tf.concat([x, module.h], 1) @ module.w, 4, 1)
        module.c.assign(tf.sigmoid(f) * module.c + tf.sigmoid(i) * tf.tanh(g))
        module.h.assign(tf.sigmoid(o) * tf.tanh(module.c))
        return {"h": module.h.read_value()}

    def reset():
        module.h.assign(tf.zeros_like(module.h))
        module.c.assign(tf.zeros([1, 3]))
        return {"c": module.c.read_value()}

    stateful(path, module, step=(step, {"x": floats(1, 2)}), reset=(reset, {}))


def cache_of_keys(path: str) -> None:
    """Attention over a cache that grows by one position with each request."""
    module = tf.Module()
    module.keys, module.length = tf.Variable(tf.zeros([16, 4])), tf.Variable(0)

    def attend(q):
        module.keys[module.length].assign(q[0])
        module.length.assign_add(1)
        known = module.keys[: module.length]
        return {"n": module.length.read_value(), "scores": tf.nn.softmax(tf.linalg.matvec(known, q[0]))}

    stateful(
        path, module, attend=(attend, {"q": floats(1, 4)}), length=(lambda: {"n": module.length + 0}, {})
    )


def largest_so_far(path: str) -> None:
    """A maximum that is assigned in a branch."""
    module = tf.Module()
    module.largest = tf.Variable(-1e9)

    def see(x):
        new = tf.reduce_max(x)
        if new > module.largest:
            module.largest.assign(new)
        return {"largest": module.largest.read_value(), "is_new": tf.equal(new, module.largest)}

    stateful(path, module, see=(see, {"x": floats(None)}), read=(lambda: {"v": module.largest * 1.0}, {}))


def counted_loop(path: str) -> None:
    """A loop that changes a variable in each iteration."""
    module = tf.Module()
    module.total, module.turns = tf.Variable(0.0), tf.Variable(0)

    def add(x):
        for i in tf.range(tf.shape(x)[0]):
            module.total.assign_add(x[i])
            module.turns.assign_add(1)
        return {"total": module.total.read_value(), "turns": module.turns.read_value()}

    stateful(path, module, add=(add, {"x": floats(None)}), turns=(lambda: {"n": module.turns * 2}, {}))


def switch_of_modes(path: str) -> None:
    """A boolean variable that one signature toggles and another reads."""
    module = tf.Module()
    module.on, module.flips = tf.Variable(False), tf.Variable(0)

    def toggle():
        module.on.assign(tf.logical_not(module.on))
        module.flips.assign_add(1)
        return {"on": module.on.read_value(), "flips": module.flips.read_value()}

    def apply(x):
        return {"y": tf.cond(module.on, lambda: x * 2, lambda: -x)}

    stateful(path, module, toggle=(toggle, {}), apply=(apply, {"x": floats(None, 2)}))


def histogram(path: str) -> None:
    """Counts of values in bins."""
    module = tf.Module()
    module.bins = tf.Variable(tf.zeros([4], tf.int32))

    def see(x):
        bins = tf.clip_by_value(tf.cast(tf.floor(x), tf.int32), 0, 3)
        module.bins.assign_add(tf.reduce_sum(tf.one_hot(bins, 4, dtype=tf.int32), 0))
        return {"bins": module.bins.read_value()}

    def share():
        total = tf.maximum(tf.reduce_sum(module.bins), 1)
        return {"share": tf.cast(module.bins, tf.float32) / tf.cast(total, tf.float32)}

    stateful(path, module, see=(see, {"x": floats(None)}), share=(share, {}))


def nested_calls(path: str) -> None:
    """Functions that call functions, each of which counts; the slices are in the innermost one."""
    module = tf.Module()
    module.inner_calls, module.outer_calls = tf.Variable(0), tf.Variable(0)

    @tf.function
    def inner(x):
        module.inner_calls.assign_add(1)
        return x[1:] - x[:-1]

    @tf.function
    def outer(x):
        module.outer_calls.assign_add(1)
        return inner(inner(x))

    def counts():
        return {"inner": module.inner_calls.read_value(), "outer": module.outer_calls.read_value()}

    once = lambda x: {"y": inner(x)}  # noqa: E731
    twice = lambda x: {"y": outer(x)}  # noqa: E731
    stateful(
        path, module, once=(once, {"x": floats(5)}), twice=(twice, {"x": floats(5)}), counts=(counts, {})
    )


def numbered_seeds(path: str) -> None:
    """Random numbers whose seed counts the requests."""
    module = tf.Module()
    module.seed = tf.Variable([1, 2])

    def draw(x):
        noise = tf.random.stateless_uniform([4], module.seed)
        module.seed.assign_add([0, 1])
        return {"y": x + noise, "seed": module.seed.read_value()}

    stateful(path, module, draw=(draw, {"x": floats(4)}), seed=(lambda: {"seed": module.seed + 0}, {}))


def text_log(path: str) -> None:
    """A string variable that keeps the last line, and a counter in its text."""
    module = tf.Module()
    module.line, module.n = tf.Variable("none"), tf.Variable(0)

    def log(line):
        module.n.assign_add(1)
        before = module.line.read_value()
        module.line.assign(tf.strings.join([tf.strings.as_string(module.n), line[0]], ": "))
        return {"before": before, "now": module.line.read_value()}

    stateful(path, module, log=(log, {"line": strings(1)}), read=(lambda: {"n": module.n.read_value()}, {}))
