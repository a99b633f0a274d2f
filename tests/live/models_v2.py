"""Models as TensorFlow 2 programs write them: modules, functions, Keras, checkpoints of objects.

Each function writes one model into the folder it is given. `models.MODELS` names them.
"""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import tensorflow as tf

f32, i32, text = tf.float32, tf.int32, tf.string


def spec(*shape, dtype=f32, name=None):
    return tf.TensorSpec(shape, dtype, name)


def ramp(*shape, dtype=np.float32):
    """Return 0, 1, 2, … in this shape: all values differ."""
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def save_function(out: Path, *specs, options=None, **members):
    """Decorate a function: save it as the only signature of a module that has these members."""

    def decorate(f):
        module = tf.Module()
        for name, value in members.items():
            setattr(module, name, value)
        module.f = tf.function(lambda *args: f(module, *args), input_signature=specs)
        tf.saved_model.save(module, str(out), module.f, options)

    return decorate


class Affine(tf.Module):
    """Two variables, two signatures, and a method that is not exported."""

    def __init__(self):
        super().__init__(name="affine")
        self.w, self.b = tf.Variable(ramp(2, 3), name="w"), tf.Variable(ramp(3), name="b")
        self.calls = tf.Variable(0, trainable=False, name="calls")

    @tf.function(input_signature=[spec(None, 2, name="x")])
    def __call__(self, x):
        self.calls.assign_add(1)
        return {"y": x @ self.w + self.b}

    @tf.function(input_signature=[spec(3), spec(3, dtype=tf.float64)])
    def back(self, first, second):
        return first + self.b, tf.cast(second, f32) - self.b


def module(out: Path):
    """A tf.Module with two signatures, one of which changes a variable."""
    affine = Affine()
    tf.saved_model.save(affine, str(out), {"serving_default": affine.__call__, "back": affine.back})


def numbered_versions(out: Path):
    """The folder that TensorFlow Serving watches: 2 is older than 10."""
    for version in ("2", "10"):
        module(out / version)
    (out / "2" / "saved_model.pb").write_bytes(b"")


def nested_functions(out: Path):
    """Functions that call functions, one of them twice, with captured variables and constants."""
    scale, big = tf.Variable(2.0, name="scale"), tf.constant(ramp(40))

    @tf.function
    def inner(x):
        return x * scale + tf.reduce_sum(big)

    @tf.function
    def middle(x):
        return inner(x) + inner(tf.cast(tf.cast(x, i32), f32))

    @save_function(out, spec(None, name="x"), scale=scale, big=big)
    def outer(_, x):
        return middle(inner(x))


def conditions(out: Path):
    """If, StatelessIf and Case."""
    state = tf.Variable(1.0)

    @save_function(out, spec(), spec(dtype=i32), state=state)
    def choose(_, x, i):
        y = tf.cond(x > 0.0, lambda: x, lambda: -x)
        z = tf.cond(x > 1.0, lambda: state.assign_add(x), lambda: state.assign(0.0))
        return tf.switch_case(i, [lambda: y, lambda: z, lambda: y + z], default=lambda: y - z)


def loops_v2(out: Path):
    """While in While, with a gradient through the inner one."""

    @save_function(out, spec(name="x"))
    def power(_, x):
        def body(i, total):
            with tf.GradientTape() as tape:
                tape.watch(total)
                y = tf.while_loop(lambda j, t: j < 2, lambda j, t: (j + 1, t * x), [0, total])[1]
            return i + 1, tape.gradient(y, total)

        return tf.while_loop(lambda i, _: i < 3, body, [0, x], parallel_iterations=1)[1]


def tensor_lists(out: Path):
    """TensorArray in a loop, which TF2 makes of variants: TensorListReserve and its family."""

    @save_function(out, spec(None, 2))
    def cumulate(_, x):
        return tf.scan(lambda total, row: total + row, x), tf.map_fn(tf.reduce_max, x)


def ragged(out: Path):
    """A ragged input and a ragged output."""

    @save_function(out, tf.RaggedTensorSpec([None, None], tf.int64, ragged_rank=1))
    def double(_, rows):
        return {"doubled": rows * 2, "sums": tf.reduce_sum(rows, axis=1)}


def sparse(out: Path):
    """A sparse input and a sparse output."""

    @save_function(out, tf.SparseTensorSpec([None, 4], f32))
    def scale(_, x):
        return {"scaled": x * 2.0, "dense": tf.sparse.to_dense(x)}


def strings(out: Path):
    """Splitting, joining, regular expressions, hashing, parsing and printing."""

    @save_function(out, spec(None, dtype=text, name="lines"))
    def words(_, lines):
        clean = tf.strings.regex_replace(tf.strings.lower(lines), r"[^a-z ]", "")
        split = tf.strings.split(clean)
        tf.print("lines:", tf.size(lines))
        return {
            "buckets": tf.strings.to_hash_bucket_fast(split.flat_values, 100),
            "lengths": tf.strings.length(split.flat_values),
            "joined": tf.strings.reduce_join(split, axis=-1, separator="\N{MIDDLE DOT}"),
            "bytes": tf.io.decode_raw(tf.constant(b"\x00\xff\x01"), tf.uint8),
        }


def table_from_file(out: Path):
    """A table over an asset; a second asset that nothing reads."""
    Path("words.txt").write_text("alpha\nbeta\ngamma\n")
    Path("unread.txt").write_text("unread\n")
    init = tf.lookup.TextFileInitializer(
        "words.txt", text, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
    )
    table = tf.lookup.StaticHashTable(init, default_value=-1)

    @save_function(out, spec(None, dtype=text), table=table, extra=tf.saved_model.Asset("unread.txt"))
    def lookup(_, keys):
        return table.lookup(keys)


def tables_in_memory(out: Path):
    """A table with its rows in the graph, and mutable ones with their rows in the checkpoint."""
    init = tf.lookup.KeyValueTensorInitializer([b"a", b"b", b"\xff"], tf.constant([1, 2, 3], tf.int64))
    fixed = tf.lookup.StaticVocabularyTable(init, num_oov_buckets=2)
    mutable = tf.lookup.experimental.MutableHashTable(tf.int64, f32, default_value=-1.0)
    mutable.insert(tf.constant([1, 2], tf.int64), [0.5, 0.25])
    packed = tf.lookup.experimental.DenseHashTable(
        i32, i32, default_value=0, empty_key=-1, deleted_key=-2, initial_num_buckets=4
    )
    packed.insert([3, 4], [30, 40])

    @save_function(out, spec(None, dtype=text), fixed=fixed, mutable=mutable, packed=packed)
    def lookup(_, keys):
        ids = fixed.lookup(keys)
        return ids, mutable.lookup(ids), packed.lookup(tf.cast(ids, i32))


def random_numbers(out: Path):
    """A generator with its state in a variable, a stateful op with seeds, a stateless one."""
    generator = tf.random.Generator.from_seed(7)

    @save_function(out, spec(dtype=i32, name="n"), generator=generator)
    def draw(_, n):
        return generator.normal([n]), tf.random.uniform([n], seed=3), tf.random.stateless_normal([n], [1, 2])


def custom_gradient(out: Path):
    """A function with a custom gradient, kept by `experimental_custom_gradients`."""

    @tf.custom_gradient
    def clipped(x):
        return tf.identity(x), lambda dy: tf.clip_by_value(dy, -1.0, 1.0)

    @save_function(out, spec(None), options=tf.saved_model.SaveOptions(experimental_custom_gradients=True))
    def apply(_, x):
        return clipped(x) * 3.0


def every_dtype():
    """Unusual values of each dtype, and a tensor that is empty, a scalar, a splat, a row of strings."""
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5]
    small = {name: getattr(ml_dtypes, name) for name in ("float8_e5m2", "float8_e4m3fn", "int4", "uint4")}
    floats = (tf.half, tf.bfloat16, f32, tf.float64)
    numbers = (tf.int8, tf.int16, i32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64)
    return {
        **{d.name: tf.cast(tf.constant(odd, f32), d) for d in floats},
        **{d.name: tf.constant([d.min, 1, d.max], d) for d in numbers},
        **{name: tf.constant(np.array([0, 1, 7], d)) for name, d in small.items()},
        "complex64": tf.constant([1 + 2j, -3j], tf.complex64),
        "complex128": tf.constant([[1 + 2j], [-3j]], tf.complex128),
        "bool": tf.constant([True, False]),
        "string": tf.constant([[b"", b"\x00\xff"], ["é".encode(), b"long" * 100]]),
        "empty": tf.zeros([0, 3]),
        "scalar": tf.constant(1.5),
        "splat": tf.ones([4, 5]),
        "ramp": tf.constant(ramp(20)),
    }


def constants(out: Path):
    """A constant of each dtype."""
    values = {name: (v.numpy(), v.dtype) for name, v in every_dtype().items()}

    @save_function(out)
    def all_of_them(_):
        return {name: tf.constant(array, dtype) for name, (array, dtype) in values.items()}


def quantized(out: Path):
    """Quantized types inside a function: qint8, quint8, qint32 and related types."""

    @save_function(out, spec(4))
    def round_trip(_, x):
        types = (tf.qint8, tf.quint8, tf.qint32, tf.qint16, tf.quint16)
        return tuple(tf.quantization.dequantize(*tf.quantization.quantize(x, -1.0, 3.0, t)) for t in types)


def control_outputs(out: Path):
    """Functions with side effects: control outputs, a call with unused results, an assertion."""
    log = tf.Variable(ramp(3), name="log")

    @tf.function
    def write(x):
        tf.debugging.assert_positive(x)
        log.assign(x)

    @save_function(out, spec(3), log=log)
    def write_twice(_, x):
        write(x)
        with tf.control_dependencies([log.assign_add(x)]):
            return tf.identity(log)[1]


def default_arguments(out: Path):
    """A signature whose second input is optional (`SignatureDef.defaults`)."""
    module = tf.Module()
    both = tf.constant([2.0, 3.0])

    def scaled(x, by=both):
        return {"y": x * by}

    module.f = tf.function(scaled, input_signature=[spec(2, name="x"), spec(2, name="by")])
    tf.saved_model.save(module, str(out), module.f)


def datasets(out: Path):
    """A dataset inside a function (variants), an optional, and an aliased, compiled function."""

    @tf.function(jit_compile=True)
    def square(x):
        return x * x

    module = tf.Module()

    @tf.function(input_signature=[spec(dtype=tf.int64)])
    def total(n):
        data = tf.data.Dataset.range(n).map(lambda i: tf.cast(i, f32))
        some = tf.experimental.Optional.from_value(square(tf.cast(n, f32)))
        return data.reduce(0.0, lambda a, b: a + b) + some.get_value()

    module.total = total
    options = tf.saved_model.SaveOptions(function_aliases={"total": total})
    tf.saved_model.save(module, str(out), total, options)


def placed_variables(out: Path):
    """Variables whose devices are saved with them."""
    policy = tf.saved_model.experimental.VariablePolicy.SAVE_VARIABLE_DEVICES
    with tf.device("/job:localhost/replica:0/task:0/device:CPU:0"):
        v = tf.Variable([1.0], name="v")

    @save_function(out, options=tf.saved_model.SaveOptions(experimental_variable_policy=policy), v=v)
    def read(_):
        return v + 1.0


def optimizer_slots(out: Path):
    """An optimizer with its slots in the object graph, and lists, dicts and tuples of variables."""
    module = tf.Module()
    module.layers = [tf.Variable(ramp(2, 2), name="a"), {"inner": tf.Variable(ramp(3), name="b")}]
    module.pair = (tf.Variable(1.0, name="c"), None)
    module.optimizer = tf.compat.v1.train.AdamOptimizer(0.1)
    module.optimizer.minimize(lambda: tf.reduce_sum(module.layers[0] ** 2), var_list=[module.layers[0]])
    module.f = tf.function(lambda x: x @ module.layers[0], input_signature=[spec(None, 2)])
    tf.saved_model.save(module, str(out), module.f)


def checkpoint_of_objects(out: Path):
    """A checkpoint without a graph, variables of one object under two names."""
    shared = tf.Variable(ramp(2), name="shared")
    checkpoint = tf.train.Checkpoint(step=tf.Variable(3, dtype=tf.int64), first=shared, second=shared)
    checkpoint.write(str(out / "model"))


def checkpoint_of_every_dtype(out: Path):
    """The tensor bundle itself, without objects."""
    write_tensors(out / "model", every_dtype())


def write_tensors(prefix: Path, values):
    prefix.parent.mkdir()
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(values),
        shape_and_slices=[""] * len(values),
        tensors=list(values.values()),
    )


def sliced_checkpoint(out: Path):
    """Variables cut into slices over several shards."""
    checkpoint = tf.train.Checkpoint(
        big=tf.Variable(ramp(16, 4)), small=tf.Variable([7, 8]), name=tf.Variable("é")
    )
    policy = tf.train.experimental.MaxShardSizePolicy(max_shard_size=100)
    options = tf.train.CheckpointOptions(experimental_sharding_callback=policy)
    checkpoint.write(str(out / "model"), options)


def large_index(out: Path):
    """Enough tensors that the index has several blocks, with names that share prefixes."""
    write_tensors(out / "model", {f"scope/layer_{i:03}/kernel/Adam": tf.constant([i]) for i in range(300)})


def keras_sequential(out: Path):
    """Dense layers and normalization, written by `model.export`."""
    import keras

    model = keras.Sequential(
        [
            keras.Input([3], name="x"),
            keras.layers.Dense(2, activation="relu", kernel_initializer="ones"),
            keras.layers.BatchNormalization(),
        ]
    )
    model.export(str(out), verbose=False)


def keras_functional(out: Path):
    """Two inputs, two outputs, convolution, an embedding, named endpoints."""
    import keras

    image = keras.Input([4, 4, 1], name="image")
    word = keras.Input([2], dtype="int32", name="word")
    features = keras.layers.Conv2D(2, 3, kernel_initializer="ones", name="conv")(image)
    features = keras.layers.Flatten()(keras.layers.MaxPooling2D(2)(features))
    rows = keras.layers.Embedding(5, 2, embeddings_initializer="ones", name="words")(word)
    both = keras.layers.Concatenate()([features, keras.layers.Flatten()(rows)])
    outputs = {
        "score": keras.layers.Dense(1, name="score", kernel_initializer="ones")(both),
        "features": both,
    }
    keras.Model({"image": image, "word": word}, outputs).export(str(out), verbose=False)


def keras_lstm(out: Path):
    """A masked LSTM and a GRU that runs backwards: While over TensorLists, and the cuDNN twin functions."""
    import keras

    initializers = {"kernel_initializer": "ones", "recurrent_initializer": "ones"}
    model = keras.Sequential(
        [
            keras.Input([3, 2], name="x"),
            keras.layers.Masking(),
            keras.layers.LSTM(2, return_sequences=True, **initializers),
            keras.layers.GRU(2, go_backwards=True, **initializers),
        ]
    )
    model.export(str(out), verbose=False)


MODELS = [  # function              its file in the folder, or the folder itself
    (module, ""),
    (numbered_versions, ""),
    (nested_functions, ""),
    (conditions, ""),
    (loops_v2, ""),
    (tensor_lists, ""),
    (ragged, ""),
    (sparse, ""),
    (strings, ""),
    (table_from_file, ""),
    (tables_in_memory, ""),
    (random_numbers, ""),
    (custom_gradient, ""),
    (constants, ""),
    (quantized, ""),
    (control_outputs, ""),
    (default_arguments, ""),
    (datasets, ""),
    (placed_variables, ""),
    (optimizer_slots, ""),
    (keras_sequential, ""),
    (keras_functional, ""),
    (keras_lstm, ""),
    (checkpoint_of_objects, "model.index"),
    (checkpoint_of_every_dtype, "model.index"),
    (sliced_checkpoint, "model.index"),
    (large_index, "model.index"),
]
