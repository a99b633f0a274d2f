"""Functional models with operators and functions on symbolic tensors."""

from case import model


def of_tensor(name, compute, shape=(3,), dtype=None, inputs=1, **more):
    """Declare what a function of TensorFlow (in Keras 2) or keras.ops (in Keras 3) computes."""

    @model("op_" + name, **more)
    def build(k):
        from installed import Missing

        if k.major < 3 and not (k.eager and k.tf):
            raise Missing("symbolic operators")
        xs = [k.Input(shape, dtype) for _ in range(inputs)]
        y = compute(k, *xs)
        return k.Model(xs if inputs > 1 else xs[0], list(y) if isinstance(y, (list, tuple)) else y)


def binary(k, x):
    return k.layer("Dense", units=2)((x + 1.0) * 2.0 - x / 3.0)


of_tensor("arithmetic", binary)
of_tensor("reflected", lambda k, x: 1.0 - (2.0 / (3.0 + 0.5 * x)))
of_tensor("negative", lambda k, x: -x)
of_tensor("power", lambda k, x: x**2.0)
of_tensor("matmul", lambda k, x, y: x @ y, shape=(3, 3), inputs=2)
of_tensor("modulo", lambda k, x: x % 2.0)
of_tensor("floor_division", lambda k, x: x // 2.0)
of_tensor("comparison", lambda k, x, y: [x > y, x <= y, x < 0.5], inputs=2)
of_tensor("slice", lambda k, x: x[:, 1:], shape=(4, 3))
of_tensor("slice_strides", lambda k, x: x[:, ::2, -1], shape=(4, 3))
of_tensor("slice_newaxis", lambda k, x: x[:, None, ..., 0], shape=(4, 3))
of_tensor("two_tensors", lambda k, x, y: x + y * x - y, inputs=2)


def both(name, in_tf, in_ops, **more):
    """Declare a function that both tf and keras.ops have."""
    of_tensor(name, lambda k, *xs: in_ops(k.ops, *xs) if k.major == 3 else in_tf(k.tf, *xs), **more)


both("relu", lambda tf, x: tf.nn.relu(x), lambda ops, x: ops.relu(x))
both("sigmoid", lambda tf, x: tf.sigmoid(x), lambda ops, x: ops.sigmoid(x))
both("softmax", lambda tf, x: tf.nn.softmax(x, axis=1), lambda ops, x: ops.softmax(x, axis=1), shape=(3, 2))
both(
    "leaky_relu",
    lambda tf, x: tf.nn.leaky_relu(x, alpha=0.3),
    lambda ops, x: ops.leaky_relu(x, negative_slope=0.3),
)
both(
    "elementwise",
    lambda tf, x: tf.exp(tf.sin(x)) + tf.sqrt(tf.abs(x)) + tf.square(tf.tanh(x)),
    lambda ops, x: ops.exp(ops.sin(x)) + ops.sqrt(ops.abs(x)) + ops.square(ops.tanh(x)),
)
both(
    "rounding",
    lambda tf, x: [tf.floor(x), tf.math.ceil(x), tf.round(x), tf.sign(x)],
    lambda ops, x: [ops.floor(x), ops.ceil(x), ops.round(x), ops.sign(x)],
)
both("logarithm", lambda tf, x: tf.math.log(x * x + 1.0), lambda ops, x: ops.log(x * x + 1.0))
both("clip", lambda tf, x: tf.clip_by_value(x, -0.5, 0.7), lambda ops, x: ops.clip(x, -0.5, 0.7))
both(
    "mean",
    lambda tf, x: tf.reduce_mean(x, axis=[1, 2]),
    lambda ops, x: ops.mean(x, axis=(1, 2)),
    shape=(3, 2),
)
both(
    "sum_keepdims",
    lambda tf, x: tf.reduce_sum(x, axis=-1, keepdims=True),
    lambda ops, x: ops.sum(x, axis=-1, keepdims=True),
)
both(
    "max_min",
    lambda tf, x: [tf.reduce_max(x, 1), tf.reduce_min(x, 1)],
    lambda ops, x: [ops.max(x, 1), ops.min(x, 1)],
)
both("argmax", lambda tf, x: tf.argmax(x, axis=1), lambda ops, x: ops.argmax(x, axis=1))
both(
    "reshape", lambda tf, x: tf.reshape(x, [-1, 3, 2]), lambda ops, x: ops.reshape(x, (-1, 3, 2)), shape=(6,)
)
both(
    "transpose",
    lambda tf, x: tf.transpose(x, [0, 2, 1]),
    lambda ops, x: ops.transpose(x, (0, 2, 1)),
    shape=(3, 2),
)
both(
    "expand_and_squeeze",
    lambda tf, x: tf.squeeze(tf.expand_dims(x, 1), axis=1) + 1.0,
    lambda ops, x: ops.squeeze(ops.expand_dims(x, 1), axis=1) + 1.0,
)
both(
    "concat",
    lambda tf, x, y: tf.concat([x, y, x], axis=-1),
    lambda ops, x, y: ops.concatenate([x, y, x], axis=-1),
    inputs=2,
)
both(
    "stack", lambda tf, x, y: tf.stack([x, y], axis=1), lambda ops, x, y: ops.stack([x, y], axis=1), inputs=2
)
both("split", lambda tf, x: tf.split(x, 2, axis=-1), lambda ops, x: ops.split(x, 2, axis=-1), shape=(4,))
both("tile", lambda tf, x: tf.tile(x, [1, 2]), lambda ops, x: ops.tile(x, (1, 2)))
both("repeat", lambda tf, x: tf.repeat(x, 2, axis=1), lambda ops, x: ops.repeat(x, 2, axis=1))
both(
    "where",
    lambda tf, x, y: tf.where(x > y, x, y * 2.0),
    lambda ops, x, y: ops.where(x > y, x, y * 2.0),
    inputs=2,
)
both(
    "cast",
    lambda tf, x: tf.cast(tf.cast(x, "int32"), "float32"),
    lambda ops, x: ops.cast(ops.cast(x, "int32"), "float32"),
)
both("pad", lambda tf, x: tf.pad(x, [[0, 0], [1, 2]]), lambda ops, x: ops.pad(x, ((0, 0), (1, 2))))
both("one_hot", lambda tf, x: tf.one_hot(x, 5), lambda ops, x: ops.one_hot(x, 5), dtype="int32", ints=5)
both("gather", lambda tf, x: tf.gather(x, [2, 0], axis=1), lambda ops, x: ops.take(x, [2, 0], axis=1))
both("cumsum", lambda tf, x: tf.cumsum(x, axis=1), lambda ops, x: ops.cumsum(x, axis=1))
both("l2_normalize", lambda tf, x: tf.math.l2_normalize(x, axis=-1), lambda ops, x: ops.normalize(x, axis=-1))
both(
    "einsum",
    lambda tf, x, y: tf.einsum("bij,bkj->bik", x, y),
    lambda ops, x, y: ops.einsum("bij,bkj->bik", x, y),
    shape=(2, 3),
    inputs=2,
)
both(
    "maximum",
    lambda tf, x, y: tf.maximum(x, tf.minimum(y, 0.5)),
    lambda ops, x, y: ops.maximum(x, ops.minimum(y, 0.5)),
    inputs=2,
)
both(
    "logical",
    lambda tf, x: tf.logical_and(x > 0.0, tf.logical_not(x > 1.0)),
    lambda ops, x: ops.logical_and(x > 0.0, ops.logical_not(x > 1.0)),
)
both(
    "shape",
    lambda tf, x: tf.reshape(x, [tf.shape(x)[0], -1]),
    lambda ops, x: ops.reshape(x, (ops.shape(x)[0], -1)),
    shape=(2, 3),
)
both("top_k", lambda tf, x: tf.math.top_k(x, 2)[0], lambda ops, x: ops.top_k(x, 2)[0], shape=(4,))
both(
    "resize",
    lambda tf, x: tf.image.resize(x, [5, 6]),
    lambda ops, x: ops.image.resize(x, (5, 6)),
    shape=(3, 4, 2),
)
both(
    "max_pool",
    lambda tf, x: tf.nn.max_pool2d(x, 2, 2, "SAME"),
    lambda ops, x: ops.max_pool(x, 2, 2, "same"),
    shape=(5, 4, 2),
)
both("flip", lambda tf, x: tf.reverse(x, [1]), lambda ops, x: ops.flip(x, 1))
both(
    "erf_and_softplus",
    lambda tf, x: tf.math.erf(x) + tf.math.softplus(x),
    lambda ops, x: ops.erf(x) + ops.softplus(x),
)
both(
    "zeros_like",
    lambda tf, x: tf.ones_like(x) + tf.zeros_like(x),
    lambda ops, x: ops.ones_like(x) + ops.zeros_like(x),
)


@model("op_in_nested_model")
def nested(k):
    from installed import Missing

    if k.major < 3 and not (k.eager and k.tf):
        raise Missing("symbolic operators")
    x = k.Input((3,))
    inner = k.Model(x, k.layer("Dense", units=3)(x * 2.0) + x)
    y = k.Input((3,))
    return k.Model(y, inner(y + 1.0) * inner(y))


@model("op_backend_functions")
def backend_functions(k):
    from installed import Missing

    if k.major == 3:
        raise Missing("keras.backend functions")
    x = k.Input((3, 2))
    if not k.eager:
        raise Missing("symbolic operators")
    b = k.backend
    return k.Model(x, b.sqrt(b.mean(b.square(x), axis=1)) + b.clip(b.sum(x, axis=1), 0, 1))


both(
    "activations",
    lambda tf, x: [tf.nn.silu(x), tf.nn.elu(x), tf.nn.selu(x), tf.nn.gelu(x), tf.nn.softsign(x)],
    lambda ops, x: [ops.silu(x), ops.elu(x), ops.selu(x), ops.gelu(x, approximate=False), ops.softsign(x)],
)
both("log_softmax", lambda tf, x: tf.nn.log_softmax(x), lambda ops, x: ops.log_softmax(x))
both(
    "log1p",
    lambda tf, x: tf.math.log1p(tf.abs(x)) + tf.math.expm1(x),
    lambda ops, x: ops.log1p(ops.abs(x)) + ops.expm1(x),
)
both(
    "equality",
    lambda tf, x, y: [tf.math.equal(tf.sign(x), tf.sign(y)), tf.math.not_equal(tf.sign(x), 1.0)],
    lambda ops, x, y: [ops.equal(ops.sign(x), ops.sign(y)), ops.not_equal(ops.sign(x), 1.0)],
    inputs=2,
)
both(
    "unstack",
    lambda tf, x: tf.unstack(x, axis=-1),
    lambda ops, x: ops.unstack(x, axis=-1),
    shape=(4, 3),
)
both(
    "spread",
    lambda tf, x: [tf.math.reduce_std(x, axis=1), tf.math.reduce_variance(x, axis=-1, keepdims=True)],
    lambda ops, x: [ops.std(x, axis=1), ops.var(x, axis=-1, keepdims=True)],
    shape=(4, 3),
)
both(
    "any_and_all",
    lambda tf, x: [tf.math.reduce_any(x > 0.0, axis=1), tf.math.reduce_all(x < 1.0, axis=1)],
    lambda ops, x: [ops.any(x > 0.0, axis=1), ops.all(x < 1.0, axis=1)],
)
