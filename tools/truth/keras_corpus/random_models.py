"""Save models whose layers, options and nestings are drawn at random, with the Keras of this environment.

    python random_models.py PACKAGE OUT FIRST COUNT        PACKAGE: tensorflow (its tf.keras) or keras

Each number gives one model, OUT/mNUMBER.h5 or .keras, with inputs and answers in mNUMBER.npz as `save.py`
writes them. What a release lacks is drawn again, so that the same number is another model in another release.
The module must run on the Pythons of old releases, from 3.6 on.
"""

import os
import random
import sys
import zipfile

import numpy as np
from installed import Keras
from save import as_bytes
from weights import randomize

TRIES = 12
"""How often a layer is drawn before a model goes on without it."""
ACTIVATIONS = [
    "relu",
    "elu",
    "tanh",
    "sigmoid",
    "selu",
    "softplus",
    "softsign",
    "swish",
    "gelu",
    "exponential",
    "hard_sigmoid",
    "linear",
    "softmax",
    None,
]
INITIALIZERS = [
    "glorot_uniform",
    "he_normal",
    "lecun_uniform",
    "zeros",
    "random_normal",
    "VarianceScaling",
    "orthogonal",
    "truncated_normal",
]


class Draw:
    """Random choices for one model of one release."""

    def __init__(self, k, seed):
        self.k, self.r, self.first_axis = k, random.Random(seed), False

    def __call__(self, *options):
        return self.r.choice(options)

    def chance(self, share):
        return self.r.random() < share

    def layer(self, kind, *common, **arguments):
        """A layer with some more options at random; `common` names groups of them."""
        r, k = self.r, self.k
        if "weights" in common:
            if self.chance(0.25):
                arguments["kernel_initializer"] = r.choice(INITIALIZERS)
            if self.chance(0.2):
                arguments["kernel_regularizer"] = r.choice(["l2", "l1", k.module.regularizers.l2(0.01)])
            if self.chance(0.15):
                arguments["kernel_constraint"] = r.choice(
                    ["max_norm", "non_neg", k.module.constraints.UnitNorm(axis=0)]
                )
            if self.chance(0.2):
                arguments["use_bias"] = False
            if self.chance(0.1):
                arguments["bias_initializer"] = k.module.initializers.Constant(0.3)
        if "activation" in common and self.chance(0.7):
            arguments["activation"] = r.choice(ACTIVATIONS)
        if self.chance(0.08):
            arguments["dtype"] = r.choice(["float64", "float32", "float16"])
        if self.chance(0.1):
            arguments["trainable"] = False
        return k.layer(kind, **arguments)

    def images(self):
        """A layer that takes images."""
        padding, size = self("same", "same", "valid"), self(2, 3, (1, 3))
        options = [
            lambda: self.layer(
                "Conv2D",
                "weights",
                "activation",
                filters=self(2, 4),
                kernel_size=size,
                padding=padding,
                **self.convolution(),
            ),
            lambda: self.layer(
                "SeparableConv2D",
                "activation",
                filters=3,
                kernel_size=2,
                padding=padding,
                depth_multiplier=self(1, 2),
            ),
            lambda: self.layer(
                "DepthwiseConv2D", "activation", kernel_size=2, padding=padding, depth_multiplier=self(1, 2)
            ),
            lambda: self.layer(
                "Conv2DTranspose",
                "weights",
                "activation",
                filters=2,
                kernel_size=3,
                strides=self(1, 2),
                padding=padding,
            ),
            lambda: self.layer(
                self("MaxPooling2D", "AveragePooling2D"),
                pool_size=2,
                padding="same",
                strides=self(1, 2, None),
            ),
            lambda: self.layer(
                "UpSampling2D", size=self(2, (1, 2)), interpolation=self("nearest", "bilinear")
            ),
            lambda: self.layer("ZeroPadding2D", padding=self(1, (1, 0), ((0, 1), (1, 0)))),
            lambda: self.layer("Cropping2D", cropping=((0, 1), (1, 0))),
            lambda: self.normalization(3),
            lambda: self.normalization(3),
            lambda: self.layer("SpatialDropout2D", rate=0.3),
            lambda: self.layer("Permute", dims=self((2, 1, 3), (1, 3, 2))),
            lambda: self.layer(
                "Resizing", height=5, width=6, interpolation=self("bilinear", "nearest", "area")
            ),
            lambda: self.layer("CenterCrop", height=4, width=4),
            lambda: self.layer("Rescaling", scale=self(0.5, 2), offset=self(0.0, 1)),
            lambda: self.layer("RandomFlip", mode="horizontal"),
            lambda: self.layer("RandomContrast", factor=0.2),
            lambda: self.layer("SpectralNormalization", layer=self.layer("Conv2D", filters=3, kernel_size=2)),
            lambda: self.anything(),
        ]
        return self.r.choice(options)()

    def convolution(self):
        arguments = self({}, {}, {"strides": 2}, {"dilation_rate": 2})
        if self.first_axis:
            arguments = dict(arguments, data_format="channels_first")
        return arguments

    def normalization(self, rank):
        axis = self(-1, -1, 1, rank, [1], [-1], [1, 2] if rank > 2 else [1])
        options = [
            lambda: self.layer(
                "BatchNormalization",
                axis=axis,
                momentum=self(0.9, 0.99),
                scale=self(True, False),
                **self({}, {"renorm": True}, {"fused": False}, {"virtual_batch_size": None}),
            ),
            lambda: self.layer("BatchNormalization", center=self(True, False)),
            lambda: self.layer("LayerNormalization", axis=axis, epsilon=self(1e-3, 1e-5)),
            lambda: self.layer("LayerNormalization"),
            lambda: self.layer("GroupNormalization", groups=self(1, -1), axis=self(-1, 1)),
            lambda: self.layer("UnitNormalization", axis=self(-1, 1)),
            lambda: self.layer("RMSNormalization", axis=-1),
            lambda: self.adapted(axis),
        ]
        return self.r.choice(options)()

    def adapted(self, axis):
        return self.layer("Normalization", axis=self(-1, None, axis), mean=self(0.3, 1.0), variance=2.0)

    def sequences(self):
        """A layer that takes sequences of vectors and returns such."""
        options = [
            lambda: self.layer(
                "Conv1D",
                "weights",
                "activation",
                filters=self(3, 4),
                kernel_size=2,
                padding=self("same", "causal", "valid"),
                **self.convolution(),
            ),
            lambda: self.layer("SeparableConv1D", filters=3, kernel_size=2, padding="same"),
            lambda: self.layer("Conv1DTranspose", filters=3, kernel_size=2, padding="same"),
            lambda: self.recurrent(True),
            lambda: self.recurrent(True),
            lambda: self.bidirectional(True),
            lambda: self.layer("MaxPooling1D", pool_size=2, padding="same"),
            lambda: self.layer(
                "TimeDistributed", layer=self.layer("Dense", "weights", "activation", units=4)
            ),
            lambda: self.layer("TimeDistributed", layer=self.normalization(1)),
            lambda: self.layer("SpatialDropout1D", rate=0.2),
            lambda: self.layer("Masking", mask_value=self(0.0, -1.0)),
            lambda: self.normalization(2),
            lambda: self.layer("UpSampling1D", size=2),
            lambda: self.layer("ZeroPadding1D", padding=(1, 0)),
            lambda: self.layer("Cropping1D", cropping=(0, 1)),
            lambda: self.layer("Permute", dims=(2, 1)),
            lambda: self.layer("LocallyConnected1D", filters=3, kernel_size=2),
            lambda: self.layer("EinsumDense", equation="abc,cd->abd", output_shape=(None, 4), bias_axes="d"),
            lambda: self.anything(),
        ]
        return self.r.choice(options)()

    def recurrent(self, sequences):
        kind = self("LSTM", "GRU", "SimpleRNN", "RNN", "stack")
        more = {"return_sequences": sequences}
        if kind in ("RNN", "stack"):
            cells = [self.layer(self("LSTMCell", "GRUCell", "SimpleRNNCell"), units=4) for _ in range(2)]
            cell = cells if kind == "stack" else cells[0]
            return self.layer("RNN", cell=cell, **more)
        more.update(self({}, {}, {"go_backwards": True}, {"unroll": True}, {"implementation": 1}))
        more.update(
            self(
                {},
                {},
                {"recurrent_activation": "hard_sigmoid"},
                {"recurrent_activation": "relu"},
                {"dropout": 0.1, "recurrent_dropout": 0.2},
                {"time_major": False},
                {"recurrent_initializer": "orthogonal"},
                {"bias_regularizer": "l1"},
            )
        )
        if kind == "GRU":
            more.update(self({}, {"reset_after": False}, {"reset_after": True}))
        if kind == "LSTM":
            more.update(self({}, {"unit_forget_bias": False}))
        return self.layer(kind, "activation", units=self(3, 4), **more)

    def bidirectional(self, sequences):
        forward = self.layer(self("LSTM", "GRU", "SimpleRNN"), units=3, return_sequences=sequences)
        more = {"merge_mode": self("concat", "sum", "mul", "ave")}
        if self.chance(0.2):
            more["backward_layer"] = self.layer(
                self("LSTM", "GRU"), units=3, return_sequences=sequences, go_backwards=True
            )
        return self.layer("Bidirectional", layer=forward, **more)

    def vectors(self):
        """A layer that takes vectors."""
        options = [
            lambda: self.layer("Dense", "weights", "activation", units=self(3, 5, 8)),
            lambda: self.layer("Dense", "weights", "activation", units=self(3, 5, 8)),
            lambda: self.layer("Dense", units=4, activation=self.function()),
            lambda: self.normalization(1),
            lambda: self.layer("Dropout", rate=0.3),
            lambda: self.layer(self("GaussianNoise"), stddev=0.2),
            lambda: self.layer(self("GaussianDropout", "AlphaDropout"), rate=0.2),
            lambda: self.layer("ActivityRegularization", l1=0.1),
            lambda: self.layer("SpectralNormalization", layer=self.layer("Dense", units=4)),
            lambda: self.layer("Discretization", bin_boundaries=[-0.5, 0.1, 1.0]),
            lambda: self.layer("CategoryEncoding", num_tokens=6, output_mode="multi_hot"),
            lambda: self.layer("DenseFeatures", feature_columns=[]),
            lambda: self.anything(),
        ]
        return self.r.choice(options)()

    def function(self):
        """An activation given as an object."""
        k = self.k
        options = [
            lambda: k.module.activations.relu,
            lambda: k.layer("LeakyReLU"),
            lambda: k.tf.nn.relu6,
            lambda: k.tf.nn.swish,
            lambda: k.tf.nn.leaky_relu,
            lambda: "leaky_relu",
            lambda: "mish",
            lambda: "log_softmax",
            lambda: "relu6",
            lambda: "silu",
            lambda: "hard_silu",
            lambda: k.tf.tanh,
        ]
        return self.r.choice(options)()

    def anything(self):
        """A layer that takes any shape."""
        options = [
            lambda: self.layer("Activation", activation=self(*ACTIVATIONS[:-1])),
            lambda: self.layer("LeakyReLU", **self({}, {"alpha": 0.2}, {"negative_slope": 0.2})),
            lambda: self.layer("PReLU", **self({}, {"shared_axes": [1]})),
            lambda: self.layer("ELU", alpha=self(1.0, 0.5)),
            lambda: self.layer("ReLU", max_value=self(6.0, None), **self({}, {"threshold": 0.1})),
            lambda: self.layer("ThresholdedReLU", theta=0.5),
            lambda: self.layer("Softmax", axis=self(-1, 1, [1])),
            lambda: self.layer("Dense", "weights", "activation", units=4),
            lambda: self.layer("Flatten"),
            lambda: self.layer("Lambda", function=lambda t: t * 2),
            lambda: self.layer("Identity"),
            lambda: self.layer("Dropout", rate=0.1, **self({}, {"noise_shape": None, "seed": 7})),
        ]
        return self.r.choice(options)()


def attempt(draw, choose, x):
    """A tensor after a layer that this release has and that takes it; the tensor itself if none does."""
    for _ in range(TRIES):
        try:
            y = choose()(x)
            if all(size is None or size > 0 for size in draw.k.shape_of(y)[1:]):
                return y
        except Exception:
            continue
    return x


def step(draw, x, depth):
    """A tensor after one random step: a layer, a branch, an inner model or an operator."""
    rank, roll = len(draw.k.shape_of(x)), draw.r.random()
    choose = {2: draw.vectors, 3: draw.sequences, 4: draw.images}.get(rank, draw.anything)
    if roll < 0.6 or depth > 1:
        return attempt(draw, choose, x)
    if roll < 0.72:
        return branch(draw, x, choose)
    if roll < 0.84:
        return inner_model(draw, x, depth)
    if roll < 0.92:
        return operator(draw, x)
    return special(draw, x, rank)


def branch(draw, x, choose):
    k = draw.k
    a, b = attempt(draw, choose, x), attempt(draw, choose, x)
    if k.shape_of(a) == k.shape_of(b) and draw.chance(0.6):
        merged = draw("Add", "Multiply", "Average", "Maximum", "Minimum", "Subtract")
        return attempt(draw, lambda: lambda pair: draw.layer(merged)(pair), [a, b])
    if k.shape_of(a)[1:-1] == k.shape_of(b)[1:-1]:
        return draw.layer("Concatenate", axis=draw(-1, len(k.shape_of(a)) - 1))([a, b])
    return a


def inner_model(draw, x, depth):
    """A Sequential or functional model that is called once or twice, or for each step."""
    k, shape = draw.k, draw.k.shape_of(x)[1:]
    if draw.chance(0.4):
        model = k.Sequential(**draw({}, {"name": f"inner_{draw.r.randrange(1000)}"}))
        if draw.chance(0.5):
            model.add(k.layer("InputLayer", **({"input_shape": shape} if k.major < 3 else {"shape": shape})))
        y = k.Input(shape)
        for _ in range(draw(1, 2, 3)):
            layers, rank = [], len(k.shape_of(y))

            def chosen(layers=layers, rank=rank):
                pick = {2: draw.vectors, 3: draw.sequences, 4: draw.images}.get(rank, draw.anything)
                layers.append(pick())
                return layers[-1]

            after = attempt(draw, chosen, y)
            if after is not y:
                model.add(layers[-1])
                y = after
        if not model.layers:
            return x
    else:
        start = k.Input(shape)
        y = start
        for _ in range(draw(1, 2, 3)):
            y = step(draw, y, depth + 1)
        if y is start:
            return x
        model = k.Model(start, y)
    y = model(x)
    if k.shape_of(y) == k.shape_of(x) and draw.chance(0.4):
        y = draw.layer("Add")([model(y), y])
    if draw.chance(0.15) and None not in shape:
        wrapped = attempt(
            draw, lambda: lambda t: k.layer("TimeDistributed", layer=model)(t), repeated(draw, x)
        )
        if wrapped is not None and len(k.shape_of(wrapped)) == 3:
            y = wrapped
    return y


def repeated(draw, x):
    return draw.layer("RepeatVector", n=3)(x) if len(draw.k.shape_of(x)) == 2 else x


def operator(draw, x):
    """An operation outside of layers, which newer releases record as a layer of its own."""
    k = draw.k
    options = [
        lambda: x * 2.0,
        lambda: x + 1.0,
        lambda: 1.0 - x,
        lambda: x / 3.0,
        lambda: -x,
        lambda: x**2.0,
        lambda: x[:, 1:],
    ]
    if k.major == 3:
        options += [
            lambda: k.ops.mean(x, axis=-1, keepdims=True),
            lambda: k.ops.concatenate([x, x], axis=-1),
            lambda: k.ops.clip(x, -1.0, 1.0),
            lambda: k.ops.transpose(x),
            lambda: k.ops.expand_dims(x, 1),
            lambda: k.ops.where(x > 0, x, 0.1 * x),
            lambda: k.ops.einsum("...c->...c", x),
            lambda: k.ops.softmax(x, axis=-1),
            lambda: k.ops.relu(x),
            lambda: k.ops.abs(x),
            lambda: k.ops.squeeze(k.ops.expand_dims(x, -1), -1),
            lambda: k.ops.cast(x, "float32"),
        ]
    else:
        options += [
            lambda: k.tf.reduce_mean(x, axis=-1, keepdims=True),
            lambda: k.tf.concat([x, x], -1),
            lambda: k.tf.clip_by_value(x, -1.0, 1.0),
            lambda: k.tf.expand_dims(x, 1),
            lambda: k.tf.where(x > 0, x, 0.1 * x),
            lambda: k.tf.einsum("...c->...c", x),
            lambda: k.tf.nn.softmax(x),
            lambda: k.tf.abs(x),
            lambda: k.tf.nn.relu(x),
            lambda: k.tf.cast(x, "float32"),
        ]
    for _ in range(TRIES):
        try:
            y = draw.r.choice(options)()
            k.Model(draw.inputs, y)
            return y
        except Exception:
            continue
    return x


def special(draw, x, rank):
    """Layers with several inputs, by position or by keyword."""
    k = draw.k

    def attention():
        a, b = draw.layer("Dense", units=4)(x), draw.layer("Dense", units=4)(x)
        if draw.chance(0.4):
            layer = draw.layer("MultiHeadAttention", num_heads=2, key_dim=3, **draw({}, {"output_shape": 4}))
            return layer(a, b) if draw.chance(0.5) else layer(query=a, value=b, use_causal_mask=True)
        kind = draw("Attention", "AdditiveAttention")
        return draw.layer(kind, **draw({}, {"use_scale": True}))([a, b])

    def with_state():
        units = 4
        flat = draw.layer("Flatten")(x)
        layer = draw.layer(draw("GRU", "SimpleRNN"), units=units, return_sequences=True)
        state = draw.layer("Dense", units=units)(flat)
        return layer(x, initial_state=[state]) if draw.chance(0.7) else layer([x, state])

    def states():
        outputs = draw.layer("LSTM", units=4, return_state=True, return_sequences=True)(x)
        return draw.layer("Add")([outputs[0], draw.layer("RepeatVector", n=k.shape_of(x)[1])(outputs[1])])

    def masked():
        return draw.layer("LSTM", units=4, return_sequences=True)(
            draw.layer("Masking")(x), **draw({}, {"training": False})
        )

    def dot():
        return draw.layer("Dot", axes=draw(1, -1, (1, 1)), normalize=draw(True, False))([x, x])

    options = {3: [attention, attention, with_state, states, masked, dot], 2: [dot], 4: [dot]}
    for _ in range(TRIES):
        try:
            return draw.r.choice(options.get(rank, [dot]))()
        except Exception:
            continue
    return x


def start(draw):
    """The inputs of a model and the tensor to go on with."""
    k, kind = draw.k, draw.r.random()
    if kind < 0.3:
        shape = (3, 8, 7) if draw.first_axis else (8, 7, 3)
        x = k.Input(shape, **draw({}, {}, {"name": "image"}, {"batch_size": 2}))
        return [x], x
    if kind < 0.6:
        x = k.Input(draw((6, 4), (6, 4), (None, 4)), **draw({}, {}, {"name": "in_put"}))
        return [x], x
    if kind < 0.75:
        x = k.Input((6,), "int32")
        more = draw({}, {"mask_zero": True}, {"input_length": 6}, {"embeddings_regularizer": "l2"})
        try:
            return [x], k.layer("Embedding", input_dim=9, output_dim=4, **more)(x)
        except Exception:
            return [x], k.layer("Embedding", input_dim=9, output_dim=4)(x)
    if kind < 0.9:
        x = k.Input((5,))
        return [x], x
    a, b = k.Input((5,), name="first"), k.Input((5,), name="second")
    merged = draw.layer(draw("Add", "Concatenate", "Multiply"))([a, b])
    return [a, b], merged


def finish(draw, x):
    """A tensor of vectors, or as it is."""
    rank = len(draw.k.shape_of(x))
    if rank == 4 and draw.chance(0.7):
        x = draw.layer(draw("GlobalAveragePooling2D", "GlobalMaxPooling2D"))(x)
    if rank == 3 and draw.chance(0.7):
        x = attempt(draw, lambda: draw(draw.recurrent, draw.bidirectional)(False), x)
    return draw.layer("Dense", "weights", "activation", units=3)(x) if draw.chance(0.6) else x


def functional(draw):
    inputs, x = start(draw)
    draw.inputs = inputs if len(inputs) > 1 else inputs[0]
    tensors = [x]
    for _ in range(draw(2, 3, 4, 5)):
        tensors.append(step(draw, tensors[-1], 0))
    outputs = [finish(draw, tensors[-1])]
    if draw.chance(0.25):
        outputs.append(draw.layer("Flatten")(draw.r.choice(tensors)))
    if draw.chance(0.06) and draw.k.major == 3 and (draw.k.minor > 0):
        outputs = {f"out_{i}": y for i, y in enumerate(outputs)}
    elif len(outputs) == 1:
        outputs = outputs[0]
    return draw.k.Model(draw.inputs, outputs)


def sequential(draw):
    """A Sequential model that says its shape in an input, in its first layer, or not before it is called."""
    k = draw.k
    shape = draw((8, 7, 3), (6, 4), (6, 4), (5,), (5,))
    if draw.first_axis:
        shape = (3, 8, 7)
    y = k.Input(shape)
    layers, form = [], draw("input", "first", "late")
    if form == "input":
        layers.append(k.layer("InputLayer", **({"input_shape": shape} if k.major < 3 else {"shape": shape})))
    for _ in range(draw(2, 3, 4)):
        chosen, rank = [], len(k.shape_of(y))

        def choose(chosen=chosen, rank=rank):
            pick = {2: draw.vectors, 3: draw.sequences, 4: draw.images}.get(rank, draw.anything)
            chosen.append(pick())
            return chosen[-1]

        after = attempt(draw, choose, y)
        if after is not y:
            y = after
            layers.append(chosen[-1])
    if form == "first" and k.major < 3:
        first = layers[0].get_config()
        first["batch_input_shape"] = (None, *tuple(shape))
        try:
            layers[0] = type(layers[0]).from_config(first)
        except Exception:
            form = "late"
    model = k.Sequential(layers, **draw({}, {"name": "all_of_it"}))
    if form != "input" and not model.built:
        model.build((None, *tuple(shape)))
    return model


def build(k, seed):
    draw = Draw(k, seed)
    draw.first_axis = draw.chance(0.1)
    policy = draw(*([None] * 9 + ["mixed_float16", "float64", "mixed_bfloat16"]))
    set_policy(k, policy or "float32")
    try:
        model = sequential(draw) if draw.chance(0.3) else functional(draw)
    finally:
        set_policy(k, "float32")
    if draw.chance(0.3):
        optimizer = draw("adam", "sgd", "rmsprop", "adagrad", "nadam", "ftrl")
        model.compile(optimizer, draw("mse", "mae", "binary_crossentropy"), **draw({}, {"metrics": ["mae"]}))
    if k.major == 3 and hasattr(model, "quantize") and draw.chance(0.08):
        draw.quantize = True
    return draw, model


def set_policy(k, name):
    if k.major == 3:
        k.module.config.set_dtype_policy(name) if hasattr(
            k.module.config, "set_dtype_policy"
        ) else k.module.mixed_precision.set_global_policy(name)
        return
    if name == "float64":
        k.backend.set_floatx("float64")
        return
    k.backend.set_floatx("float32")
    module = k.module.mixed_precision
    set_ = getattr(module, "set_global_policy", None)
    if set_ is not None:
        set_(name)
    elif hasattr(module, "experimental") and k.eager:
        module.experimental.set_policy(name)


def save(k, out, number):
    k.clear()
    seed = number * 7919 + k.major * 101 + k.minor
    np.random.seed(seed % 2**31)
    draw, model = build(k, seed)
    randomize(k, model)
    if getattr(draw, "quantize", False):
        model.quantize(draw("int8", "float8") if k.minor > 3 else "int8")
    path = os.path.join(out, f"m{number:03}")
    archives = k.major == 3 or (k.major, k.minor) >= (2, 12)
    suffix = (
        draw(".keras", ".keras", ".h5") if k.major == 3 else (draw(".keras", ".h5") if archives else ".h5")
    )
    k.reset_states(model)
    arrays = {}
    for prefix, sizes in (("", {0: 2, 1: 6}), ("b_", {0: 2, 1: 7})):
        feeds = [feed(k, tensor, sizes) for tensor in model.inputs]
        answers = k.answer(model, feeds)
        arrays.update((f"{prefix}in{i}", as_bytes(x)) for i, x in enumerate(feeds))
        arrays.update((f"{prefix}out{i}", as_bytes(y)) for i, y in enumerate(answers))
        k.reset_states(model)
    model.save(path + suffix)
    if suffix == ".keras" and not zipfile.is_zipfile(path + suffix):
        os.remove(path + suffix)
        raise RuntimeError("not an archive")
    np.savez_compressed(path + ".npz", **arrays)


def feed(k, tensor, sizes):
    shape = [sizes.get(axis, 5) if size is None else size for axis, size in enumerate(k.shape_of(tensor))]
    dtype = k.dtype_of(tensor)
    if "int" in dtype:
        return np.random.randint(0, 9, shape).astype(dtype)
    return (np.random.normal(size=shape) * 1.2).astype(dtype if dtype != "bfloat16" else "float32")


def main(package, out, first, count):
    os.makedirs(out, exist_ok=True)
    k = Keras(package)
    for number in range(int(first), int(first) + int(count)):
        try:
            save(k, out, number)
            print(number, "saved", flush=True)
        except Exception as problem:
            print(number, type(problem).__name__, str(problem)[:300].replace("\n", " "), flush=True)
            for suffix in (".h5", ".keras", ".npz"):
                path = os.path.join(out, f"m{number:03}") + suffix
                if os.path.exists(path):
                    os.remove(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
