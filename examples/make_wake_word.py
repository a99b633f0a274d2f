"""Write `wake_word.tflite`: a small keyword spotter with GELU, by the converter of TensorFlow 2.21.

    python examples/make_wake_word.py         in an environment with TensorFlow

Its weights are random: it shows what happens to such a file, not how to recognize words.
"""

from __future__ import annotations

from pathlib import Path

import keras
import tensorflow as tf

WORDS = 4


def wake_word() -> keras.Model:
    """A depthwise separable network over 49 frames of 40 frequencies, one batch."""
    keras.utils.set_random_seed(20)
    layers = keras.layers
    sound = keras.Input((49, 40, 1), batch_size=1, name="spectrogram")
    x = layers.Conv2D(16, (10, 4), strides=2, padding="same")(sound)
    x = keras.activations.gelu(x, approximate=True)
    x = layers.DepthwiseConv2D(3, padding="same")(x)
    x = layers.Conv2D(16, 1)(x)
    x = keras.activations.gelu(x, approximate=True)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(sound, layers.Dense(WORDS, activation="softmax", name="word")(x))


if __name__ == "__main__":
    data = tf.lite.TFLiteConverter.from_keras_model(wake_word()).convert()
    Path(__file__).with_name("wake_word.tflite").write_bytes(data)
