"""Sequence models of Keras 3: recurrent layers with masks, attention, convolutions in time."""

from making import export

import keras
from keras import layers

WIDE = keras.initializers.RandomNormal(stddev=0.5, seed=3)


def masked_bidirectional(path: str) -> None:
    """Padded ids with a mask, an LSTM in both directions, a GRU and a plain recurrent layer."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    x = layers.Embedding(50, 8, mask_zero=True, embeddings_initializer=WIDE)(ids)
    x = layers.Bidirectional(layers.LSTM(6, return_sequences=True))(x)
    x = layers.GRU(7, return_sequences=True)(x)
    x = layers.SimpleRNN(5)(x)
    export(keras.Model(ids, layers.Dense(3, activation="softmax", kernel_initializer=WIDE)(x)), path)


def tagger(path: str) -> None:
    """A tag for each token: masked stacked GRUs and TimeDistributed."""
    ids = keras.Input((12,), dtype="int32", name="ids")
    x = layers.Embedding(80, 10, mask_zero=True, embeddings_initializer=WIDE)(ids)
    x = layers.Bidirectional(layers.GRU(6, return_sequences=True, reset_after=False), merge_mode="sum")(x)
    x = layers.GRU(6, return_sequences=True, go_backwards=True)(x)
    tags = layers.TimeDistributed(layers.Dense(4, activation="softmax", kernel_initializer=WIDE))(x)
    export(keras.Model(ids, {"tags": tags}), path)


def seq2seq(path: str) -> None:
    """An encoder that gives its state to a decoder, with attention over the masked source."""
    source = keras.Input((9,), dtype="int32", name="source")
    target = keras.Input((7,), dtype="int32", name="target")
    keys, h, c = layers.LSTM(8, return_sequences=True, return_state=True)(
        layers.Embedding(40, 6, mask_zero=True, embeddings_initializer=WIDE)(source)
    )
    x = layers.Embedding(30, 6, mask_zero=True, embeddings_initializer=WIDE)(target)
    x = layers.LSTM(8, return_sequences=True)(x, initial_state=[h, c])
    context = layers.AdditiveAttention()([x, keys])
    both = layers.Concatenate()([x, context])
    export(keras.Model([source, target], layers.Dense(30, kernel_initializer=WIDE)(both)), path)


def einsum_transformer(path: str) -> None:
    """Attention written with EinsumDense, a padding mask and learned positions."""
    tokens = keras.Input((10,), dtype="int32", name="tokens")
    mask = keras.ops.cast(keras.ops.not_equal(tokens, 0), "float32")
    x = layers.Embedding(60, 12, embeddings_initializer=WIDE)(tokens)
    x = x + layers.Embedding(10, 12, embeddings_initializer=WIDE)(keras.ops.arange(10))
    q, k, v = (layers.EinsumDense("btw,whd->bthd", (None, 3, 4), bias_axes="hd")(x) for _ in range(3))
    scores = keras.ops.einsum("bqhd,bkhd->bhqk", q, k) / 2.0 - 1e9 * (1 - mask[:, None, None, :])
    y = keras.ops.einsum("bhqk,bkhd->bqhd", keras.ops.softmax(scores), v)
    x = layers.LayerNormalization()(x + layers.EinsumDense("bthd,hdw->btw", (None, 12), bias_axes="w")(y))
    x = layers.Dense(12, activation="gelu")(x)
    pooled = keras.ops.sum(x * mask[..., None], 1) / keras.ops.maximum(
        keras.ops.sum(mask, 1, keepdims=True), 1
    )
    export(keras.Model(tokens, {"pooled": pooled, "attention": scores}), path)


def mixture_of_experts(path: str) -> None:
    """A mixture of experts: top-k routing by keras.ops, experts in one einsum."""
    x = keras.Input((8,), name="features")
    gate = layers.Dense(4, kernel_initializer=WIDE)(x)
    best, which = keras.ops.top_k(gate, 2)
    chosen = keras.ops.sum(keras.ops.one_hot(which, 4) * keras.ops.softmax(best)[..., None], 1)
    experts = layers.EinsumDense("bw,weu->beu", (4, 6), bias_axes="eu", activation="elu")(x)
    mixed = keras.ops.einsum("beu,be->bu", experts, chosen)
    export(keras.Model(x, {"mixed": mixed, "which": which}), path)


def scanned(path: str) -> None:
    """keras.ops.scan in a subclassed layer: a state-space model."""

    class StateSpace(layers.Layer):
        def build(self, shape):
            self.a = self.add_weight(
                shape=(shape[-1],), initializer=keras.initializers.RandomUniform(0.2, 0.9, 1)
            )
            self.b = self.add_weight(
                shape=(shape[-1],), initializer=keras.initializers.RandomNormal(0, 0.5, 2)
            )

        def call(self, x):
            steps = keras.ops.transpose(x, (1, 0, 2))
            last, ys = keras.ops.scan(
                lambda h, u: (self.a * h + self.b * u, keras.ops.tanh(self.a * h + self.b * u)),
                keras.ops.zeros_like(steps[0]),
                steps,
            )
            return keras.ops.transpose(ys, (1, 0, 2)), last

        def compute_output_shape(self, shape):
            return shape, (shape[0], shape[2])

    x = keras.Input((8, 3), name="x")
    ys, last = StateSpace()(x)
    export(keras.Model(x, {"ys": ys, "last": last}), path)
