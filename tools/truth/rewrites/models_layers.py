"""Sequence models of Keras 3: recurrent layers with masks, attention, convolutions in time."""

import keras
import numpy as np
from keras import layers
from making import export

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


def video_conv_lstm(path: str) -> None:
    """The next frame of a video: ConvLSTM2D and a transposed convolution."""
    clip = keras.Input((4, 12, 10, 1), name="clip")
    x = layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True)(clip)
    x = layers.BatchNormalization()(x)
    x = layers.ConvLSTM2D(3, 3, strides=2, padding="same", recurrent_dropout=0.1)(x)
    x = layers.Conv2DTranspose(1, 3, strides=2, padding="same", activation="sigmoid")(x)
    export(keras.Model(clip, x), path)


class Block(layers.Layer):
    """A decoder block as language models have it: RMS norms, grouped queries, a gated feed-forward."""

    def __init__(self, width: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.norm1, self.norm2 = layers.RMSNormalization(), layers.RMSNormalization()
        self.attention = layers.GroupQueryAttention(8, 4, 2)
        self.gate, self.up = layers.Dense(2 * width, activation="silu"), layers.Dense(2 * width)
        self.down = layers.Dense(width)

    def call(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, use_causal_mask=True)
        y = self.norm2(x)
        return x + self.down(self.gate(y) * self.up(y))


class Decoder(keras.Model):
    """A subclassed language model with rotary positions and tied embeddings."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        self.embedding = layers.ReversibleEmbedding(64, 16, embeddings_initializer=WIDE)
        self.blocks = [Block(16) for _ in range(2)]
        self.norm = layers.RMSNormalization()

    def call(self, tokens):
        x = self.rotated(self.embedding(tokens))
        for block in self.blocks:
            x = block(x)
        return self.embedding(self.norm(x), reverse=True)

    def rotated(self, x):
        half = x.shape[-1] // 2
        place = keras.ops.cast(keras.ops.arange(keras.ops.shape(x)[1]), "float32")
        turn = place[:, None] / (10000 ** (np.arange(half, dtype="float32") / half))
        a, b = x[..., :half], x[..., half:]
        sin, cos = keras.ops.sin(turn), keras.ops.cos(turn)
        return keras.ops.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def language_model(path: str) -> None:
    model = Decoder()
    model(np.zeros((1, 6), "int32"))
    model.export(
        path,
        verbose=False,
        input_signature=[keras.InputSpec(shape=(None, None), dtype="int32", name="tokens")],
    )


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


def cross_attention(path: str) -> None:
    """MultiHeadAttention of a query over a memory with masks, flash attention off."""
    query = keras.Input((5, 8), name="query")
    memory = keras.Input((None, 6), name="memory")
    keep = keras.Input((5, None), dtype="bool", name="keep")
    attended, scores = layers.MultiHeadAttention(2, 4, value_dim=3, output_shape=8)(
        query, memory, attention_mask=keep, return_attention_scores=True
    )
    x = layers.LayerNormalization(epsilon=1e-5)(layers.Add()([query, attended]))
    export(keras.Model([query, memory, keep], {"x": layers.UnitNormalization()(x), "scores": scores}), path)


def wavenet(path: str) -> None:
    """Dilated causal convolutions with gates and residuals, as for sound."""
    sound = keras.Input((None, 1), name="sound")
    x = layers.Conv1D(8, 2, padding="causal")(sound)
    skips = []
    for dilation in (1, 2, 4, 8):
        a = layers.Conv1D(8, 2, padding="causal", dilation_rate=dilation, activation="tanh")(x)
        b = layers.Conv1D(8, 2, padding="causal", dilation_rate=dilation, activation="sigmoid")(x)
        y = layers.Multiply()([a, b])
        skips.append(layers.Conv1D(6, 1)(y))
        x = layers.Add()([x, layers.Conv1D(8, 1)(y)])
    x = layers.GroupNormalization(3)(layers.Activation("mish")(layers.Add()(skips)))
    export(keras.Model(sound, layers.GlobalMaxPooling1D()(x)), path)


def time_series(path: str) -> None:
    """A forecast: normalization, masking by value, peepholes of a custom cell in RNN, hard activations."""
    series = keras.Input((15, 3), name="series")
    normal = layers.Normalization(mean=[1.0, -2.0, 0.5], variance=[4.0, 1.0, 0.25])
    x = layers.Masking(-99.0)(series)
    x = layers.RNN([layers.LSTMCell(6, recurrent_activation="hard_sigmoid"), layers.GRUCell(5)])(normal(x))
    x = layers.LayerNormalization(rms_scaling=False, center=False)(x)
    export(keras.Model(series, layers.Dense(2)(layers.Activation("hard_swish")(x))), path)


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
