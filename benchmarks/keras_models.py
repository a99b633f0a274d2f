"""The models of the Keras benchmark, saved by Keras itself: `python keras_models.py NAME FILE.keras`.

Weights are random; sizes are those of real models. The inputs of a batch are saved beside the file.
"""

import sys
from pathlib import Path

import numpy as np

BATCH = 1


def mobilenet_v2():
    import keras

    return keras.applications.MobileNetV2(weights=None)


def resnet50():
    import keras

    return keras.applications.ResNet50(weights=None)


def transformer():
    """An encoder of 6 layers and width 256 for 128 tokens."""
    import keras
    from keras import layers

    tokens = keras.Input((128,), dtype="int32", name="tokens")
    x = layers.Embedding(20000, 256)(tokens)
    for _ in range(6):
        attended = layers.MultiHeadAttention(8, 32)(x, x)
        x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, attended]))
        wide = layers.Dense(1024, activation="gelu")(x)
        x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, layers.Dense(256)(wide)]))
    pooled = layers.GlobalAveragePooling1D()(x)
    return keras.Model(tokens, layers.Dense(10, activation="softmax")(pooled))


def text_lstm():
    """Two bidirectional LSTMs over 100 words, the padding masked."""
    import keras
    from keras import layers

    words = keras.Input((100,), dtype="int32", name="words")
    x = layers.Embedding(2000, 64, mask_zero=True)(words)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(32))(x)
    return keras.Model(words, layers.Dense(2, activation="softmax")(x))


def audio_gru():
    """Separable convolutions over 400 frames of a spectrogram, then a GRU."""
    import keras
    from keras import layers

    frames = keras.Input((400, 80), name="frames")
    x = layers.BatchNormalization()(frames)
    for filters in (128, 192, 256):
        x = layers.SeparableConv1D(filters, 9, strides=2, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(x)
    x = layers.GRU(128)(x)
    return keras.Model(frames, layers.Dense(35, activation="softmax")(x))


MODELS = {f.__name__: f for f in (mobilenet_v2, resnet50, transformer, text_lstm, audio_gru)}


def main(name: str, path: str) -> None:
    model = MODELS[name]()
    model.save(path)
    rng = np.random.default_rng(0)
    inputs = {}
    for tensor in model.inputs:
        shape = (BATCH, *tensor.shape[1:])
        whole = rng.integers(1, 2000, shape).astype(np.int32)
        name = tensor._keras_history.operation.name  # of the input layer: its tensor has another name
        inputs[name] = whole if "int" in str(tensor.dtype) else rng.random(shape, np.float32)
    np.savez(Path(path).with_suffix(".npz"), **inputs)


if __name__ == "__main__":
    main(*sys.argv[1:])
