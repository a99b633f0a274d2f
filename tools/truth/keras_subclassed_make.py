"""Save subclassed Keras models and models with custom layers as SavedModels, for `keras_saved_models.py`.

    PYTHON_WITH_TENSORFLOW keras_subclassed_make.py OUT      OUT/NAME: a SavedModel each, with random weights

It needs numpy and TensorFlow 2 alone, and runs on the Pythons of old releases. A model whose classes the
release does not have is skipped.
"""

import os
import sys
import zlib

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

keras = tf.keras
L = keras.layers
MODELS = {}


def saved(*shapes, **options):
    """A class or function whose result is called with inputs of these shapes (batch first) and saved."""

    def declare(make):
        MODELS[make.__name__] = (make, shapes, options)
        return make

    return declare


def main(out):
    for name, (make, shapes, options) in MODELS.items():
        keras.backend.clear_session()
        np.random.seed(zlib.crc32(name.encode()) % 2**31)
        try:
            model = make()
            inputs = [example(shape, options.get("dtype", "float32")) for shape in shapes]
            model(inputs[0] if len(inputs) == 1 else inputs)
            model.set_weights([weight(w) for w in model.weights])
            if not model.inputs:  # sets the signature of a subclassed model
                model.predict(inputs[0] if len(inputs) == 1 else inputs)
            model.save(os.path.join(out, name), save_format="tf")
            print("saved", name, flush=True)
        except Exception as problem:
            print("failed", name, type(problem).__name__, str(problem)[:200], flush=True)


def example(shape, dtype):
    if dtype.startswith("int"):
        return np.random.randint(0, 9, shape).astype(dtype)
    return np.random.normal(size=shape).astype(dtype)


def weight(variable):
    if not variable.dtype.is_floating:
        return variable.numpy()
    values = np.random.normal(size=variable.shape.as_list(), scale=0.3)
    return np.abs(values) + 0.5 if "variance" in variable.name else values


# Subclassed models of known layers.


@saved((2, 8))
class Mlp(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = L.Dense(16, activation="relu")
        self.dropout = L.Dropout(0.5)
        self.out = L.Dense(3, activation="softmax")

    def call(self, inputs, training=False):
        return self.out(self.dropout(self.hidden(inputs), training=training))


@saved((2, 12, 12, 3))
class Convnet(keras.Model):
    def __init__(self):
        super().__init__()
        self.convs = [L.Conv2D(4 * 2**i, 3, padding="same") for i in range(2)]
        self.norms = [L.BatchNormalization() for _ in range(2)]
        self.pool = L.MaxPooling2D()
        self.flat = L.Flatten()
        self.head = L.Dense(5)

    def call(self, x, training=None):
        for conv, norm in zip(self.convs, self.norms):  # noqa: B905
            x = self.pool(tf.nn.relu(norm(conv(x), training=training)))
        return self.head(self.flat(x))


class Residual(L.Layer):
    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.first = L.Conv2D(filters, 3, padding="same", activation="relu")
        self.second = L.Conv2D(filters, 3, padding="same")
        self.shortcut = L.Conv2D(filters, 1)

    def call(self, x):
        return tf.nn.relu(self.second(self.first(x)) + self.shortcut(x))


@saved((2, 8, 8, 3))
class Resnet(keras.Model):
    def __init__(self):
        super().__init__()
        self.stem = keras.Sequential([L.Conv2D(4, 3), L.BatchNormalization(), L.ReLU()])
        self.blocks = [Residual(4), Residual(8)]
        self.pool = L.GlobalAveragePooling2D()
        self.classify = L.Dense(4)

    def call(self, x, training=False):
        x = self.stem(x, training=training)
        for block in self.blocks:
            x = block(x)
        return tf.nn.softmax(self.classify(self.pool(x)), axis=-1)


@saved((2, 9))
class SharedLayers(keras.Model):
    def __init__(self):
        super().__init__()
        self.shared = L.Dense(9, activation="tanh")
        self.out = L.Dense(2)

    def call(self, x):
        for _ in range(3):
            x = x + self.shared(x)
        return self.out(x)


@saved((2, 6), (2, 4))
class TwoInputs(keras.Model):
    def __init__(self):
        super().__init__()
        self.left, self.right = L.Dense(5), L.Dense(5)
        self.join = L.Concatenate()
        self.out = L.Dense(1, activation="sigmoid")

    def call(self, inputs):
        a, b = inputs
        return self.out(self.join([self.left(a), self.right(b)]))


@saved((2, 6))
class TwoHeads(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = L.Dense(8, activation="relu")
        self.mean, self.variance = L.Dense(2), L.Dense(2, activation="softplus")

    def call(self, x):
        h = self.body(x)
        return self.mean(h), self.variance(h)


@saved((2, 6))
class NamedHeads(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = L.Dense(8, activation="relu")
        self.policy, self.value = L.Dense(4), L.Dense(1)

    def call(self, x):
        h = self.body(x)
        value, advantage = self.value(h), self.policy(h)
        best = tf.reduce_mean(advantage, axis=1, keepdims=True)
        return {"q": value + (advantage - best), "value": value}


@saved((2, 7), dtype="int32")
class Tagger(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = L.Embedding(20, 6)
        self.lstm = L.LSTM(5, return_sequences=True)
        self.both = L.Bidirectional(L.GRU(4))
        self.out = L.Dense(3)

    def call(self, ids):
        return self.out(self.both(self.lstm(self.embed(ids))))


@saved((2, 7), dtype="int32")
class MaskedTagger(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = L.Embedding(20, 6, mask_zero=True)
        self.lstm = L.LSTM(5)
        self.out = L.Dense(3)

    def call(self, ids):
        return self.out(self.lstm(self.embed(ids)))


class Attention(L.Layer):
    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.width, self.heads = width, heads
        self.q, self.k, self.v, self.o = (L.Dense(width) for _ in range(4))

    def split(self, x):
        x = tf.reshape(x, (tf.shape(x)[0], -1, self.heads, self.width // self.heads))
        return tf.transpose(x, (0, 2, 1, 3))

    def call(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        score = tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(
            tf.cast(self.width // self.heads, tf.float32)
        )
        y = tf.transpose(tf.matmul(tf.nn.softmax(score), v), (0, 2, 1, 3))
        return self.o(tf.reshape(y, (tf.shape(y)[0], -1, self.width)))


class Block(L.Layer):
    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.attention = Attention(width, heads)
        self.first, self.second = L.LayerNormalization(epsilon=1e-6), L.LayerNormalization(epsilon=1e-6)
        self.up, self.down = L.Dense(2 * width, activation="relu"), L.Dense(width)
        self.dropout = L.Dropout(0.1)

    def call(self, x, training=False):
        x = self.first(x + self.dropout(self.attention(x), training=training))
        return self.second(x + self.dropout(self.down(self.up(x)), training=training))


@saved((2, 6), dtype="int32")
class Transformer(keras.Model):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = L.Embedding(20, 8), L.Embedding(6, 8)
        self.blocks = [Block(8, 2), Block(8, 2)]
        self.pool = L.GlobalAveragePooling1D()
        self.out = L.Dense(2, activation="softmax")

    def call(self, ids, training=False):
        x = self.tokens(ids) + self.positions(tf.range(6))
        for block in self.blocks:
            x = block(x, training=training)
        return self.out(self.pool(x))


@saved((2, 6, 8))
class BuiltinAttention(keras.Model):
    def __init__(self):
        super().__init__()
        self.attention = L.MultiHeadAttention(2, 4)
        self.norm = L.LayerNormalization()
        self.out = L.Dense(3)

    def call(self, x):
        return self.out(self.norm(x + self.attention(x, x)))


@saved((2, 10))
class Autoencoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([L.Dense(6, activation="relu"), L.Dense(3)])
        source = keras.Input((3,))
        self.decoder = keras.Model(source, L.Dense(10, activation="sigmoid")(L.Dense(6)(source)))

    def call(self, x):
        return self.decoder(self.encoder(x))


@saved((2, 8, 8, 2))
class Unet(keras.Model):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = L.Conv2D(4, 3, padding="same"), L.Conv2D(8, 3, strides=2, padding="same")
        self.up = L.Conv2DTranspose(4, 2, strides=2)
        self.out = L.Conv2D(1, 1, activation="sigmoid")

    def call(self, x):
        a = tf.nn.leaky_relu(self.down1(x))
        b = tf.nn.elu(self.down2(a))
        return self.out(tf.concat([self.up(b), a], axis=-1))


# Layers with weights of their own.


class Linear(L.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, shape):
        self.w = self.add_weight("w", (shape[-1], self.units))
        self.b = self.add_weight("b", (self.units,))

    def call(self, x):
        return tf.matmul(x, self.w) + self.b


class MlpBlock(L.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first, self.second, self.third = Linear(8), Linear(8), Linear(1)

    def call(self, x):
        return self.third(tf.nn.relu(self.second(tf.nn.relu(self.first(x)))))


@saved((2, 6))
def custom_linear_in_sequential():
    return keras.Sequential([L.InputLayer((6,)), L.Dense(5, activation="relu"), Linear(4), L.Dense(2)])


@saved((2, 6))
def custom_block_in_functional():
    x = keras.Input((6,))
    h = L.Dense(7)(x)
    return keras.Model(x, L.Concatenate()([MlpBlock()(h), L.Dense(2)(h)]))


class Scale(L.Layer):
    def build(self, shape):
        self.gain = self.add_weight("gain", (shape[-1],))
        self.shift = self.add_weight("shift", (shape[-1],))

    def call(self, x):
        return x * self.gain + self.shift


@saved((2, 5, 6))
def custom_scale_in_functional():
    x = keras.Input((5, 6))
    return keras.Model(x, L.Dense(2)(Scale()(x)))


class Pooled(L.Layer):
    """Attention pooling, as many notebooks have it."""

    def build(self, shape):
        self.w = self.add_weight("w", (shape[-1], 1))
        self.b = self.add_weight("b", (shape[1], 1))

    def call(self, x):
        score = keras.backend.softmax(keras.backend.tanh(keras.backend.dot(x, self.w) + self.b), axis=1)
        return keras.backend.sum(x * score, axis=1)


@saved((2, 5, 6))
def attention_pooling_in_functional():
    x = keras.Input((5, 6))
    return keras.Model(x, L.Dense(2)(Pooled()(L.LSTM(4, return_sequences=True)(x))))


class Positions(L.Layer):
    def __init__(self, length, width, **kwargs):
        super().__init__(**kwargs)
        self.tokens, self.positions = L.Embedding(20, width), L.Embedding(length, width)

    def call(self, ids):
        return self.tokens(ids) + self.positions(tf.range(tf.shape(ids)[-1]))


@saved((2, 6), dtype="int32")
def positions_in_functional():
    ids = keras.Input((6,), dtype="int32")
    return keras.Model(ids, L.Dense(2)(L.GlobalMaxPooling1D()(Positions(6, 4)(ids))))


class Swish(L.Layer):
    def call(self, x):
        return x * tf.sigmoid(x)


class ChannelPad(L.Layer):
    def call(self, x):
        return tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])


@saved((2, 6, 6, 3))
def stateless_layers_in_sequential():
    return keras.Sequential(
        [L.InputLayer((6, 6, 3)), ChannelPad(), L.Conv2D(4, 3), Swish(), L.Flatten(), L.Dense(2)]
    )


class Normalize(L.Layer):
    def call(self, x):
        return tf.math.l2_normalize(x, axis=-1)


@saved((2, 6), (2, 6))
def siamese():
    a, b = keras.Input((6,)), keras.Input((6,))
    tower = keras.Sequential([L.Dense(8, activation="relu"), L.Dense(4), Normalize()])
    return keras.Model([a, b], L.Dot(axes=1)([tower(a), tower(b)]))


class SqueezeExcite(L.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.pool = L.GlobalAveragePooling2D()
        self.squeeze, self.excite = L.Dense(2, activation="relu"), L.Dense(4, activation="sigmoid")

    def call(self, x):
        s = self.excite(self.squeeze(self.pool(x)))
        return x * s[:, tf.newaxis, tf.newaxis, :]


@saved((2, 6, 6, 3))
def squeeze_excite_in_functional():
    x = keras.Input((6, 6, 3))
    return keras.Model(x, L.GlobalMaxPooling2D()(SqueezeExcite()(L.Conv2D(4, 3)(x))))


class Convolve(L.Layer):
    def build(self, shape):
        self.filters = self.add_weight("filters", (3, 3, shape[-1], 4))

    def call(self, x):
        return tf.nn.max_pool2d(tf.nn.conv2d(x, self.filters, 1, "SAME"), 2, 2, "VALID")


@saved((2, 6, 6, 3))
def raw_convolution_in_sequential():
    return keras.Sequential([L.InputLayer((6, 6, 3)), Convolve(), L.Flatten(), L.Dense(2)])


@saved((2, 6))
def lambda_in_functional():
    x = keras.Input((6,))
    return keras.Model(x, L.Lambda(lambda v: tf.square(v) - 1.0)(L.Dense(3)(x)))


class Sampling(L.Layer):
    """Random numbers at inference: no Keras file can give equal answers."""

    def call(self, inputs):
        mean, spread = inputs
        return mean + tf.exp(0.5 * spread) * tf.random.normal(tf.shape(mean))


@saved((2, 6))
def random_sampling():
    x = keras.Input((6,))
    return keras.Model(x, Sampling()([L.Dense(2)(x), L.Dense(2)(x)]))


class Recurrence(L.Layer):
    """A loop over time of one's own."""

    def build(self, shape):
        self.w = self.add_weight("w", (shape[-1], shape[-1]))

    def call(self, x):
        state = tf.zeros_like(x[:, 0])
        for i in tf.range(tf.shape(x)[1]):
            state = tf.tanh(tf.matmul(state, self.w) + x[:, i])
        return state


@saved((2, 5, 4))
def own_loop():
    x = keras.Input((5, 4))
    return keras.Model(x, L.Dense(2)(Recurrence()(x)))


if __name__ == "__main__":
    main(*sys.argv[1:])
