"""Networks in half precision and in int8."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from making import SEED, export, floats, integers, save, weights

WIDE = keras.initializers.RandomNormal(stddev=0.5, seed=3)


def policy(path: str, name: str) -> None:
    keras.config.set_dtype_policy(name)
    try:
        image = keras.Input((20, 20, 3), name="image")
        x = layers.Conv2D(8, 3, activation="relu")(layers.Rescaling(1 / 255)(image))
        x = layers.BatchNormalization()(layers.SeparableConv2D(12, 3, strides=2)(x))
        x = layers.Dense(16, activation="gelu")(layers.GlobalAveragePooling2D()(x))
        out = layers.Dense(4, activation="softmax", dtype="float32", kernel_initializer=WIDE)(x)
        export(keras.Model(image, out), path)
    finally:
        keras.config.set_dtype_policy("float32")


def mixed_half(path: str) -> None:
    """A convnet under the policy mixed_float16."""
    policy(path, "mixed_float16")


def mixed_bfloat(path: str) -> None:
    """The same under mixed_bfloat16."""
    policy(path, "mixed_bfloat16")


def half_transformer(path: str) -> None:
    """Attention in float16 inside, float32 outside."""
    keras.config.set_dtype_policy("mixed_float16")
    try:
        tokens = keras.Input((11,), dtype="int32", name="tokens")
        x = layers.Embedding(40, 16, embeddings_initializer=WIDE)(tokens)
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True))
        out = layers.Dense(3, activation="softmax", dtype="float32")(layers.GlobalAveragePooling1D()(x))
        export(keras.Model(tokens, out), path)
    finally:
        keras.config.set_dtype_policy("float32")


def quantized_int8(path: str) -> None:
    """A trained network after model.quantize("int8")."""
    x = features = keras.Input((16,), name="features")
    for units in (24, 12):
        x = layers.Dense(units, activation="relu", kernel_initializer=WIDE)(x)
    model = keras.Model(features, layers.Dense(3)(x))
    model.quantize("int8")
    export(model, path)


def quantized_embedding(path: str) -> None:
    """Embedding and EinsumDense in int8."""
    ids = keras.Input((6,), dtype="int32", name="ids")
    x = layers.Embedding(30, 8, embeddings_initializer=WIDE)(ids)
    x = layers.EinsumDense("btw,wu->btu", (6, 10), bias_axes="u", activation="relu")(x)
    model = keras.Model(ids, layers.Dense(2)(layers.Flatten()(x)))
    model.quantize("int8")
    export(model, path)


def per_channel_weights(path: str) -> None:
    """Weights in qint8 with a range for each channel, dequantized by axis before a convolution."""
    rng = np.random.default_rng(SEED)
    kernel = weights(rng, 3, 3, 3, 8)
    top = np.abs(kernel).max((0, 1, 2))
    module = tf.Module()
    whole = np.clip(np.round(kernel / top * 127), -127, 127).astype(np.int8)
    module.whole, module.top = tf.constant(whole), tf.constant(top)

    def call(image):
        quantized = tf.bitcast(module.whole, tf.qint8)
        w = tf.quantization.dequantize(
            quantized, -module.top, module.top, mode="SCALED", axis=3, narrow_range=True
        )
        return {"y": tf.nn.relu6(tf.nn.conv2d(image, w, 2, "SAME"))}

    save(path, module, call, image=floats(None, 16, 16, 3))


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
