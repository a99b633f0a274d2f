"""Sequence, text and tabular models as users of the converter have them."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers as L
from models_vision import Made, model


def sequence(steps: int = 12, size: int = 6, batch: int | None = 1, kind: str = "float32") -> Any:
    return keras.Input((steps, size), batch_size=batch, dtype=kind)


def tokens(steps: int = 10, batch: int | None = 1) -> Any:
    return keras.Input((steps,), batch_size=batch, dtype="int32")


def lstm() -> Made:
    inputs = sequence()
    return model(inputs, L.Dense(3)(L.LSTM(8)(L.LSTM(8, return_sequences=True)(inputs))))


def lstm_unrolled() -> Made:
    inputs = sequence(5)
    return model(inputs, L.Dense(2)(L.LSTM(6, unroll=True)(inputs)))


def lstm_any_batch() -> Made:
    inputs = sequence(9, 4, None)
    return model(inputs, L.LSTM(5, return_sequences=True)(inputs))


def gru() -> Made:
    inputs = sequence()
    return model(inputs, L.Dense(4, activation="softmax")(L.GRU(7)(inputs)))


def gru_unrolled() -> Made:
    inputs = sequence(6)
    return model(inputs, L.GRU(5, reset_after=False, unroll=True, return_sequences=True)(inputs))


def simple_rnn() -> Made:
    inputs = sequence(7)
    return model(inputs, L.Dense(2)(L.SimpleRNN(6, unroll=True)(inputs)))


def bidirectional() -> Made:
    inputs = sequence(8)
    x = L.Bidirectional(L.LSTM(4, return_sequences=True))(inputs)
    return model(inputs, L.Dense(2)(L.Bidirectional(L.GRU(3))(x)))


def conv_lstm() -> Made:
    x = inputs = keras.Input((4, 10, 10, 2), batch_size=1)
    return model(inputs, L.ConvLSTM2D(3, 3, padding="same")(x))


def transformer() -> Made:
    x = inputs = sequence(10, 16)
    x = L.LayerNormalization()(x + L.MultiHeadAttention(4, 4)(x, x))
    x = L.LayerNormalization()(x + L.Dense(16)(L.Dense(32, activation="gelu")(x)))
    return model(inputs, L.Dense(5, activation="softmax")(L.GlobalAveragePooling1D()(x)))


def bert() -> Made:
    ids, mask = tokens(), tokens()
    x = L.Embedding(50, 12)(ids) + L.Embedding(10, 12)(keras.ops.arange(10))
    blocked = keras.ops.cast(mask[:, None, :] > 0, "bool")
    x = L.LayerNormalization()(x + L.MultiHeadAttention(3, 4)(x, x, attention_mask=blocked))
    return model([ids, mask], L.Dense(2)(x[:, 0]))


def decoder() -> Made:
    inputs = tokens(8)
    x = L.Embedding(40, 16)(inputs)
    x = L.LayerNormalization(rms_scaling=True)(x + L.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True))
    gate = L.Dense(24, activation="silu")(x) * L.Dense(24)(x)
    return model(inputs, L.Dense(40)(x + L.Dense(16)(gate)))


def bag_of_words() -> Made:
    inputs = tokens(16, None)
    x = L.GlobalAveragePooling1D()(L.Embedding(64, 8)(inputs))
    return model(inputs, L.Dense(1, activation="sigmoid")(L.Dense(8, activation="relu")(x)))


def text_cnn() -> Made:
    inputs = tokens(20)
    x = L.Embedding(30, 8)(inputs)
    parts = [L.GlobalMaxPooling1D()(L.Conv1D(6, k, activation="relu")(x)) for k in (2, 3, 4)]
    return model(inputs, L.Dense(4, activation="softmax")(L.Concatenate()(parts)))


def activations() -> Made:
    x = inputs = keras.Input((24,), batch_size=2)
    names = (
        "relu",
        "elu",
        "selu",
        "softplus",
        "softsign",
        "tanh",
        "sigmoid",
        "swish",
        "gelu",
        "exponential",
        "mish",
    )
    return model(inputs, L.Concatenate()([L.Dense(3, activation=name)(x) for name in names]))


def wide_and_deep() -> Made:
    numbers = keras.Input((7,), batch_size=None)
    kind = keras.Input((1,), batch_size=None, dtype="int32")
    deep = L.Concatenate()(
        [L.Normalization(mean=[0.1] * 7, variance=[0.5] * 7)(numbers), L.Flatten()(L.Embedding(9, 4)(kind))]
    )
    deep = L.Dense(8, activation="relu")(L.BatchNormalization()(L.Dense(16, activation="relu")(deep)))
    return model([numbers, kind], L.Dense(1)(deep) + L.Dense(1)(numbers))


def autoencoder() -> Made:
    x = inputs = keras.Input((30,), batch_size=1)
    code = L.Dense(4, activation="tanh", name="code")(L.Dense(12, activation="relu")(x))
    back = L.Dense(30, activation="sigmoid")(L.Dense(12, activation="relu")(code))
    return model(inputs, [back, keras.ops.mean(keras.ops.square(back - inputs), axis=-1)])


def siamese() -> Made:
    left, right = sequence(1, 10, 3), sequence(1, 10, 3)
    encode = L.Dense(6, activation="relu")
    a, b = (L.UnitNormalization()(encode(x)) for x in (left, right))
    return model([left, right], [L.Dot(-1)([a, b]), keras.ops.norm(a - b, axis=-1)])


def tcn() -> Made:
    x = inputs = sequence(32, 4)
    for rate in (1, 2, 4):
        block = L.Conv1D(8, 3, padding="causal", dilation_rate=rate, activation="relu")(x)
        x = L.Conv1D(8, 1)(x) + block
    return model(inputs, x[:, -1, :])


MODELS = {
    f.__name__: f
    for f in (
        lstm, lstm_unrolled, lstm_any_batch, gru, gru_unrolled, simple_rnn, bidirectional, conv_lstm,
        transformer, bert, decoder, bag_of_words, text_cnn, activations, wide_and_deep, autoencoder,
        siamese, tcn,
    )
}  # fmt: skip
