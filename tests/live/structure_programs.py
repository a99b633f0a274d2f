"""Programs with branches, loops and lists, written by TensorFlow 2: GraphDefs, feeds and fetches."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

v1 = tf.compat.v1
layers = tf.keras.layers
PROGRAMS: dict[str, Callable[[], Program]] = {}
RNG = np.random.default_rng(0)


@dataclass
class Program:
    graph: Any
    fetches: list[str]
    feeds: list[dict[str, Any]]
    before: list[str]
    """Nodes to run first."""


def program(*feeds: dict[str, Any], before: tuple[str, ...] = ()) -> Callable[[Any], Any]:
    """Build a TF1 graph with branches and loops of TF2; `fill` returns what to fetch."""

    def register(fill: Callable[[], Any]) -> Any:
        def build() -> Program:
            v1.enable_control_flow_v2()
            with tf.Graph().as_default() as graph:
                tensors = tf.nest.flatten(fill())
                names = [tf.identity(t, name=f"result_{i}").name for i, t in enumerate(tensors)]
            fed = [{f"{k}:0": as_fed(v) for k, v in arrays.items()} for arrays in feeds or ({},)]
            return Program(graph.as_graph_def(), names, fed, list(before))

        PROGRAMS[fill.__name__] = build
        return fill

    return register


def keras(name: str, made: Callable[[], list[Any]], *inputs: Any) -> None:
    """A Keras 3 model with its weights as constants."""

    def build() -> Program:
        tf.keras.utils.set_random_seed(1)
        model = tf.keras.Sequential([tf.keras.Input((None, 3)), *made()])
        call = tf.function(lambda x: tf.nest.flatten(model(x)))
        concrete = call.get_concrete_function(tf.TensorSpec((None, None, 3), tf.float32, "x"))
        frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
        record = frozen.graph.as_graph_def()
        return Program(record, [t.name for t in frozen.outputs], [{"x:0": x} for x in inputs], [])

    PROGRAMS[name] = build


def as_fed(value: Any) -> Any:
    kinds = {float: np.float32, int: np.int32, bytes: object}
    return np.asarray(value, kinds.get(type(value)))


def f(*values: float) -> Any:
    return np.array(values, np.float32)


def spec(name: str, dtype: Any, shape: Any = ()) -> Any:
    return v1.placeholder(dtype, shape, name)


@program({"p": True, "x": f(1, 2)}, {"p": False, "x": f(1, 2)})
def cond_with_constants():
    p, x = spec("p", tf.bool), spec("x", tf.float32, [None])
    return tf.cond(p, lambda: (x * 2.0, tf.constant(3)), lambda: (tf.constant([7.0]), tf.constant(4)))


@program({"p": 3.5}, {"p": 0.0})
def cond_of_a_number():
    p = spec("p", tf.float32)
    return _raw_if(p, lambda: tf.constant("yes"), lambda: tf.constant("no"))


@program({"p": b"text"}, {"p": b""})
def cond_of_a_text():
    return _raw_if(spec("p", tf.string), lambda: tf.constant("yes"), lambda: tf.constant("no"))


@program({"p": np.zeros((2, 2), np.int32)}, {"p": np.zeros((0, 2), np.int32)}, {"p": 4}, {"p": 0})
def cond_of_any_rank():
    return _raw_if(spec("p", tf.int32, None), lambda: tf.constant("yes"), lambda: tf.constant("no"))


@program({"p": np.array([False])}, {"p": np.array([], bool)}, {"p": True}, {"p": False})
def cond_of_bools():
    return _raw_if(spec("p", tf.bool, None), lambda: tf.constant("yes"), lambda: tf.constant("no"))


def _raw_if(cond, then, otherwise):
    branches = [tf.function(b, autograph=False).get_concrete_function() for b in (then, otherwise)]
    return tf.raw_ops.If(
        cond=cond, input=[], Tout=[tf.string], then_branch=branches[0], else_branch=branches[1]
    )


@program(*({"p": p, "q": q, "x": 2.0} for p in (True, False) for q in (True, False)))
def cond_in_cond():
    p, q, x = spec("p", tf.bool), spec("q", tf.bool), spec("x", tf.float32)

    def inner():
        return tf.cond(q, lambda: x + 1.0, lambda: tf.constant(5.0))

    return tf.cond(p, inner, lambda: tf.cond(q, lambda: -x, lambda: tf.cond(p, lambda: x, lambda: x * 10.0)))


@program(*({"i": i, "s": b"a b"} for i in (-7, -1, 0, 1, 2, 3, 4, 9)))
def switch_case():
    i, s = spec("i", tf.int32), spec("s", tf.string)
    return tf.switch_case(
        i,
        [lambda: s, lambda: tf.strings.upper(s), lambda: tf.constant("two"), lambda: s + s],
        default=lambda: tf.strings.reduce_join([s, "!"]),
    )


@program({"i": 0}, {"i": 5})
def case_of_one():
    i = spec("i", tf.int32)
    only = tf.function(lambda: tf.constant(4), autograph=False).get_concrete_function()
    return tf.raw_ops.Case(branch_index=i, input=[], Tout=[tf.int32], branches=[only])


@program(*({"n": n, "x": f(1, 2)} for n in (0, 1, 5)))
def while_with_captures():
    n, x = spec("n", tf.int32), spec("x", tf.float32, [None])
    return tf.while_loop(
        lambda i, y: i < n, lambda i, y: (i + 1, y * x + tf.constant(1.0)), [0, tf.ones_like(x)]
    )


@program(*({"n": n, "m": m} for n in (0, 2, 3) for m in (0, 1, 4)))
def while_in_while():
    n, m = spec("n", tf.int32), spec("m", tf.int32)

    def turn(i, total):
        _, inner = tf.while_loop(lambda j, _: j < m + i, lambda j, s: (j + 1, s + j * i), [0, total])
        return i + 1, inner + 1

    return tf.while_loop(lambda i, _: i < n, turn, [0, 100], parallel_iterations=3)


@program(*({"n": n, "p": p} for n in (0, 1, 4) for p in (True, False)))
def cond_in_while_in_cond():
    n, p = spec("n", tf.int32), spec("p", tf.bool)

    def turn(i, s):
        odd = tf.equal(i % 2, 1)
        return i + 1, tf.cond(odd, lambda: s + i, lambda: tf.switch_case(i // 2, [lambda: s * 3, lambda: -s]))

    return tf.cond(p, lambda: tf.while_loop(lambda i, _: i < n, turn, [0, 1])[1], lambda: tf.constant(-100))


@program(*({"n": n} for n in (1, 2, 9)))
def while_with_a_maximum():
    n = spec("n", tf.int32)
    return tf.while_loop(
        lambda i: i < n, lambda i: [i * 2], [tf.constant(1)], maximum_iterations=tf.minimum(n, 3)
    )


@program(*({"n": n} for n in (0, 3)), before=("init",))
def while_assigns_to_a_variable():
    n = spec("n", tf.int32)
    v = tf.Variable(2.0, name="v", use_resource=True)
    tf.group(v.initializer, name="init")

    def body(i):
        with tf.control_dependencies([v.assign(v * 3.0 + tf.cast(i, tf.float32))]):
            return [i + 1]

    with tf.control_dependencies([v.assign(1.0)]):
        start = tf.identity(n) * 0
    with tf.control_dependencies(tf.while_loop(lambda i: i < n, body, [start])):
        return v.read_value()


@program({"p": True}, {"p": False}, before=("init",))
def cond_assigns_and_answers_nothing():
    p = spec("p", tf.bool)
    v = tf.Variable(2.0, name="v", use_resource=True)
    tf.group(v.initializer, name="init")
    with tf.control_dependencies([v.assign(5.0)]):
        start = tf.identity(p)
    then = tf.function(lambda: _assigned(v, 11.0), autograph=False).get_concrete_function()
    nothing = tf.function(lambda h: None, autograph=False).get_concrete_function(
        tf.TensorSpec((), tf.resource)
    )
    done = tf.raw_ops.If(
        cond=start, input=then.captured_inputs, Tout=[], then_branch=then, else_branch=nothing
    )
    with tf.control_dependencies([done]):
        return v.read_value()


def _assigned(v, value):
    v.assign(value)


@program(*({"words": np.array(w, object)} for w in ([b"a", b"c", b"zz"], [b"b"])), before=("init",))
def while_looks_up_in_a_table():
    words = spec("words", tf.string, [None])
    init = tf.lookup.KeyValueTensorInitializer(["a", "b", "c"], np.array([1, 2, 3], np.int64))
    table = tf.lookup.StaticHashTable(init, -1)
    tf.group(v1.tables_initializer(), name="init")
    n = tf.size(words)
    return tf.while_loop(
        lambda i, _: i < n,
        lambda i, s: (i + 1, s * 10 + table.lookup(words[i : i + 1])[0]),
        [0, tf.constant(0, tf.int64)],
    )


@program({"x": np.arange(6, dtype=np.float32).reshape(3, 2)}, {"x": np.zeros((1, 2), np.float32)})
def map_fn():
    x = spec("x", tf.float32, [None, 2])
    return tf.map_fn(
        lambda row: (tf.reduce_sum(row), row * row), x, fn_output_signature=(tf.float32, tf.float32)
    )


@program({"x": np.array([b"a b", b"c", b"d e f"], object)})
def map_fn_of_texts():
    x = spec("x", tf.string, [None])
    return tf.map_fn(lambda s: tf.strings.join([s, "!"]), x), tf.map_fn(
        lambda s: tf.cond(
            tf.strings.length(s) > 2, lambda: tf.strings.upper(s), lambda: tf.constant("short")
        ),
        x,
    )


@program(*({"n": n, "x": f(1, 2, 3)} for n in (1, 3)))
def array_written_and_read_back():
    n, x = spec("n", tf.int32), spec("x", tf.float32, [3])
    ta = tf.TensorArray(tf.float32, size=n + 1, element_shape=[3]).write(0, x)

    def turn(i, ta):
        return i + 1, ta.write(i + 1, ta.read(i) * 2.0 + 1.0)

    _, ta = tf.while_loop(lambda i, _: i < n, turn, [0, ta])
    return ta.stack(), ta.gather([n, 0]), ta.size()


@program(*({"n": n, "x": f(1, 2, 3)} for n in (1, 4)))
def array_read_in_a_branch():
    n, x = spec("n", tf.int32), spec("x", tf.float32, [3])
    ta = tf.TensorArray(tf.float32, size=n, element_shape=[3])

    def turn(i, ta):
        last = tf.cond(i > 0, lambda: ta.read(i - 1), lambda: tf.zeros([3]))
        return i + 1, ta.write(i, last * 2.0 + x)

    return tf.while_loop(lambda i, _: i < n, turn, [0, ta])[1].stack()


@program(*({"n": n} for n in (1, 4)))
def array_that_grows():
    n = spec("n", tf.int32)
    ta = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[])

    def turn(i, ta):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: ta.write(i, i), lambda: ta.write(i, -i))

    return tf.while_loop(lambda i, _: i < n, turn, [0, ta])[1].stack()


@program(*({"n": n} for n in (2, 4)))
def array_of_slices_joined():
    n = spec("n", tf.int32)
    ta = tf.TensorArray(tf.float32, size=n, element_shape=[None, 2], infer_shape=False)
    _, ta = tf.while_loop(
        lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(i, tf.ones([i + 1, 2]))), [0, ta]
    )
    return ta.concat()


@program({"x": np.arange(6, dtype=np.float32).reshape(3, 2), "n": 2})
def array_unset_at_places():
    return _partly_set()


@program({"x": np.ones((2, 2), np.float32), "n": 0})
def array_never_set():
    return _partly_set()


def _partly_set():
    x, n = spec("x", tf.float32, [None, 2]), spec("n", tf.int32)
    ta = tf.TensorArray(tf.float32, size=4, element_shape=[2])
    _, ta = tf.while_loop(lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(i, x[i])), [0, ta])
    return ta.stack(), ta.read(3)


@program(*({"x": np.ones((n, 3), np.float32), "m": m} for n in (1, 3) for m in (0, 2)))
def array_in_a_turn():
    x, m = spec("x", tf.float32, [None, 3]), spec("m", tf.int32)

    def turn(i, s):
        ta = tf.TensorArray(tf.float32, size=m + 1, element_shape=[3]).write(m, x[i])
        _, ta = tf.while_loop(lambda j, _: j < m, lambda j, t: (j + 1, t.write(j, x[i] * s)), [0, ta])
        return i + 1, s + tf.reduce_sum(ta.stack())

    return tf.while_loop(lambda i, _: i < tf.shape(x)[0], turn, [0, 1.0])


X = RNG.normal(size=(2, 5, 3)).astype(np.float32)
GAPS = X.copy()
GAPS[0, 3:] = 0
GAPS[1, 1] = 0
for name, made in {
    "lstm": lambda: [layers.LSTM(4)],
    "lstm_sequences": lambda: [layers.LSTM(4, return_sequences=True, go_backwards=True)],
    "gru": lambda: [layers.GRU(4)],
    "gru_sequences": lambda: [layers.GRU(4, return_sequences=True)],
    "masked_lstm": lambda: [layers.Masking(), layers.LSTM(4, return_sequences=True)],
    "masked_gru": lambda: [layers.Masking(), layers.GRU(4)],
    "stacked": lambda: [layers.Bidirectional(layers.LSTM(4, return_sequences=True)), layers.GRU(3)],
    "zeroed": lambda: [layers.Masking(), layers.LSTM(4, return_sequences=True, zero_output_for_mask=True)],
}.items():
    keras(f"keras_{name}", made, X, GAPS, X[:1, :1])
