"""Networks in half precision and in int8."""

import numpy as np
import tensorflow as tf
from making import SEED, export, floats, integers, save

import keras
from keras import layers

WIDE = keras.initializers.RandomNormal(stddev=0.5, seed=3)


def quantized_embedding(path: str) -> None:
    """Embedding and EinsumDense in int8."""
    ids = keras.Input((6,), dtype="int32", name="ids")
    x = layers.Embedding(30, 8, embeddings_initializer=WIDE)(ids)
    x = layers.EinsumDense("btw,wu->btu", (6, 10), bias_axes="u", activation="relu")(x)
    model = keras.Model(ids, layers.Dense(2)(layers.Flatten()(x)))
    model.quantize("int8")
    export(model, path)


def quantized_activations(path: str) -> None:
    """Features quantized by channel at run time, and back; fake quantization by channel too."""
    low, high = np.array([-1, -2, -0.5, -4], np.float32), np.array([1, 2, 0.5, 4], np.float32)

    def call(x):
        coded = tf.quantization.quantize(x, low, high, tf.qint8, mode="SCALED", axis=1)
        back = tf.quantization.dequantize(
            coded.output, coded.output_min, coded.output_max, mode="SCALED", axis=1
        )
        faked = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, low, high, num_bits=6)
        return {"back": back, "faked": faked, "codes": tf.cast(tf.bitcast(coded.output, tf.int8), tf.int32)}

    save(path, tf.Module(), call, x=floats(None, 4))


def quantized_table(path: str) -> None:
    """An embedding table in uint8, dequantized by row, and a ranking of it."""
    rng = np.random.default_rng(SEED)
    table = rng.integers(0, 256, (25, 6)).astype(np.uint8)
    low = rng.uniform(-2, -1, 25).astype(np.float32)
    high = rng.uniform(1, 2, 25).astype(np.float32)

    def call(ids):
        rows = tf.quantization.dequantize(
            tf.bitcast(tf.constant(table), tf.quint8), low, high, mode="MIN_COMBINED", axis=0
        )
        chosen = tf.gather(rows, ids)
        return {
            "pooled": tf.reduce_mean(chosen, 1),
            "order": tf.argsort(tf.reduce_sum(chosen, -1), 1, "DESCENDING"),
        }

    save(path, tf.Module(), call, ids=integers(None, None))
