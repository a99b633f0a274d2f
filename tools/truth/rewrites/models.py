"""Models of single ops and whole networks: `build_models` builds them, `making` has what makers share.

Each function saves the model of its name at a path. Weights are random with a fixed seed, and
so are the statistics of batch norms: the models are not trained, and no weight is zero or one.
"""

from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from cudnn_twin import bidirectional, gru_cell, lstm_cell, packed, parts_for, unrolled
from keras import layers
from making import SEED, floats, save, weights

WORDS = [f"word{i}" for i in range(40)]
LABELS = ["sport", "science", "weather"]


# The stories


def batch_matmul_v2(path: str) -> None:
    """Batched products whose batch dimensions are broadcast, one with a factor turned over."""
    module, rng = tf.Module(), np.random.default_rng(SEED)
    module.w = tf.Variable(weights(rng, 3, 5, 6))

    def call(x, y):
        wide = tf.raw_ops.BatchMatMulV2(x=x, y=module.w.read_value())
        same = tf.raw_ops.BatchMatMulV2(x=wide, y=y, adj_y=True)
        return {"wide": wide, "same": tf.nn.relu(same)}

    save(path, module, call, x=floats(None, 1, 4, 5), y=floats(None, 3, 2, 6))


def batch_matmul_v3(path: str) -> None:
    """The same of the newest op: float32, and int8 factors with a product of int32."""
    module, rng = tf.Module(), np.random.default_rng(SEED)
    module.w = tf.Variable(weights(rng, 3, 5, 6))
    table = tf.constant(rng.integers(-100, 100, (2, 1, 3, 4)), tf.int8)

    def call(x, n):
        wide = tf.raw_ops.BatchMatMulV3(x=x, y=module.w.read_value(), Tout=tf.float32)
        whole = tf.raw_ops.BatchMatMulV3(x=n, y=table, Tout=tf.int32)
        return {"wide": wide, "whole": whole}

    save(path, module, call, x=floats(None, 1, 4, 5), n=tf.TensorSpec([None, 2, 3], tf.int8))


def batch_norm_convnet(path: str) -> None:
    """Convolutions and FusedBatchNormV3, exported by Keras."""
    image = keras.Input((32, 32, 3), name="image")
    x = image
    for filters in (8, 16):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    model = keras.Model(image, layers.Dense(4, activation="softmax")(layers.GlobalAveragePooling2D()(x)))
    with_statistics(model).export(path, verbose=False)


def with_statistics(model: keras.Model) -> keras.Model:
    """The model with batch norms as after training: random factors, and statistics of what they see."""
    rng = np.random.default_rng(SEED)
    norms = [layer for layer in model.layers if isinstance(layer, layers.BatchNormalization)]
    for norm in norms:
        norm.gamma.assign(rng.uniform(0.7, 1.3, norm.gamma.shape))
        norm.beta.assign(rng.uniform(-0.2, 0.2, norm.beta.shape))
        norm.momentum = 0.0  # of one look
    _, *size, channels = model.input_shape
    coarse = rng.random((8, *(-(-side // 8) for side in size), channels), np.float32)
    model(coarse.repeat(8, 1).repeat(8, 2)[:, : size[0], : size[1]], training=True)
    return model


def embedded(module: tf.Module, ids: tf.Tensor) -> tf.Tensor:
    vectors = tf.gather(module.embedding, ids)
    return tf.nn.softmax(tf.matmul(tf.reduce_mean(vectors, 1), module.dense))


def text_model(path: str, filled_by) -> None:
    """Words to ids, ids to scores, and the best score to a label by a second table."""
    module, rng = tf.Module(), np.random.default_rng(SEED)
    module.words = tf.lookup.StaticHashTable(filled_by, default_value=len(WORDS))
    names = tf.lookup.KeyValueTensorInitializer(tf.range(len(LABELS), dtype=tf.int64), LABELS)
    module.labels = tf.lookup.StaticHashTable(names, default_value="unknown")
    module.embedding = tf.Variable(weights(rng, len(WORDS) + 1, 8, scale=1))
    module.dense = tf.Variable(weights(rng, 8, len(LABELS), scale=1))

    def call(words):
        ids = module.words.lookup(words)
        scores = embedded(module, ids)
        return {"ids": ids, "scores": scores, "label": module.labels.lookup(tf.argmax(scores, 1))}

    save(path, module, call, words=tf.TensorSpec([None, 6], tf.string))


def hash_table_from_asset(path: str) -> None:
    """The table of words is filled from a file."""
    vocabulary = Path(path).with_suffix(".txt")
    vocabulary.write_text("".join(f"{word}\n" for word in WORDS))
    whole, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    text_model(path, tf.lookup.TextFileInitializer(str(vocabulary), tf.string, whole, tf.int64, number))
    vocabulary.unlink()


def hash_table_from_constants(path: str) -> None:
    """The table of words is filled from constants."""
    text_model(path, tf.lookup.KeyValueTensorInitializer(WORDS, tf.range(len(WORDS), dtype=tf.int64)))


# cuDNN's recurrent layers: each has a twin in ordinary ops, since they have no kernel for the CPU.

STEPS, WIDTH, UNITS = 7, 5, 4


def cudnn_lstm_v3(path: str) -> None:
    """One layer, with lengths of the sequences."""

    def call(input, input_h, input_c, sequence_lengths):
        result = tf.raw_ops.CudnnRNNV3(
            input=input, input_h=input_h, input_c=input_c, sequence_lengths=sequence_lengths,
            params=packed(parts_for("lstm", WIDTH, UNITS)), is_training=False, rnn_mode="lstm",
        )  # fmt: skip
        return {"output": result.output, "output_h": result.output_h, "output_c": result.output_c}

    save(path, tf.Module(), call, **cudnn_inputs(1), sequence_lengths=tf.TensorSpec([None], tf.int32))


def cudnn_lstm_v3_twin(path: str) -> None:
    def call(input, input_h, input_c, sequence_lengths):
        (part,) = parts_for("lstm", WIDTH, UNITS)
        output, h, c = unrolled(lstm_cell(part), input, STEPS, input_h[0], input_c[0], sequence_lengths)
        return {"output": output, "output_h": h[None], "output_c": c[None]}

    save(path, tf.Module(), call, **cudnn_inputs(1), sequence_lengths=tf.TensorSpec([None], tf.int32))


def cudnn_gru_v2(path: str) -> None:
    """One layer of a GRU, which has no memory cell."""

    def call(input, input_h):
        result = tf.raw_ops.CudnnRNNV2(
            input=input, input_h=input_h, input_c=tf.zeros_like(input_h),
            params=packed(parts_for("gru", WIDTH, UNITS)), is_training=False, rnn_mode="gru",
        )  # fmt: skip
        return {"output": result.output, "output_h": result.output_h}

    save(path, tf.Module(), call, input=floats(STEPS, None, WIDTH), input_h=floats(1, None, UNITS))


def cudnn_gru_v2_twin(path: str) -> None:
    def call(input, input_h):
        (part,) = parts_for("gru", WIDTH, UNITS)
        output, h, _ = unrolled(gru_cell(part), input, STEPS, input_h[0])
        return {"output": output, "output_h": h[None]}

    save(path, tf.Module(), call, input=floats(STEPS, None, WIDTH), input_h=floats(1, None, UNITS))


def cudnn_bidirectional_v2(path: str) -> None:
    """Two layers of an LSTM in both directions."""

    def call(input, input_h, input_c):
        result = tf.raw_ops.CudnnRNNV2(
            input=input, input_h=input_h, input_c=input_c, direction="bidirectional", is_training=False,
            params=packed(parts_for("lstm", WIDTH, UNITS, count=2, directions=2)), rnn_mode="lstm",
        )  # fmt: skip
        return {"output": result.output, "output_h": result.output_h, "output_c": result.output_c}

    save(path, tf.Module(), call, **cudnn_inputs(4))


def cudnn_bidirectional_v2_twin(path: str) -> None:
    def call(input, input_h, input_c):
        parts = parts_for("lstm", WIDTH, UNITS, count=2, directions=2)
        output, h, c = bidirectional(parts, input, STEPS, input_h, input_c)
        return {"output": output, "output_h": h, "output_c": c}

    save(path, tf.Module(), call, **cudnn_inputs(4))


def cudnn_inputs(states: int) -> dict[str, tf.TensorSpec]:
    state = floats(states, None, UNITS)
    return {"input": floats(STEPS, None, WIDTH), "input_h": state, "input_c": state}


# Whole models


def mobilenet_v2(path: str) -> None:
    application(keras.applications.MobileNetV2, path)


def resnet50(path: str) -> None:
    application(keras.applications.ResNet50, path)


def application(make: Callable[..., keras.Model], path: str) -> None:
    model = make(weights=None, input_tensor=keras.Input((224, 224, 3), name="image"))
    with_statistics(model).export(path, verbose=False)


def lstm_classifier() -> keras.Model:
    ids = keras.Input((20,), dtype="int32", name="ids")
    wide = keras.initializers.RandomNormal(stddev=1)
    x = layers.LSTM(32)(layers.Embedding(1000, 16, embeddings_initializer=wide)(ids))
    return keras.Model(ids, layers.Dense(3, activation="softmax", kernel_initializer=wide)(x))


def lstm_text(path: str) -> None:
    """Embedding, LSTM, Dense, exported by Keras."""
    lstm_classifier().export(path, verbose=False)


def lstm_text_saved(path: str) -> None:
    """The same model, saved by tf.saved_model.save."""
    module, model = tf.Module(), lstm_classifier()
    module.parts = [variable.value for variable in model.variables]
    save(path, module, lambda ids: {"scores": model(ids)}, ids=tf.TensorSpec([None, 20], tf.int32))


def transformer(path: str) -> None:
    """An encoder of two layers over 24 tokens."""
    tokens = keras.Input((24,), dtype="int32", name="tokens")
    x = layers.Embedding(500, 32)(tokens)
    for _ in range(2):
        x = layers.LayerNormalization(epsilon=1e-6)(x + layers.MultiHeadAttention(4, 8)(x, x))
        wide = layers.Dense(64, activation="gelu")(x)
        x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dense(32)(wide))
    pooled = layers.GlobalAveragePooling1D()(x)
    keras.Model(tokens, layers.Dense(5, activation="softmax")(pooled)).export(path, verbose=False)
