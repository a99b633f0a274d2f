"""The models and inputs of `batch.py`: wide and deep on Examples, an LSTM on texts, MobileNetV2 on JPEGs.

    python benchmarks/batch_models.py FOLDER [NAME…]

Keras makes them with random weights. Each SavedModel takes strings, as is usual for tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

NUMBERS, CATEGORIES, BUCKETS = 13, 8, 1000
WORDS = [f"word{number}" for number in range(5000)]
TOKENS, SIZE = 48, 224
Export = tuple[tf.Module, Callable[[tf.Tensor], dict[str, tf.Tensor]]]


def wide_and_deep() -> Export:
    layers = tf.keras.layers
    numbers = tf.keras.Input((NUMBERS,))
    categories = tf.keras.Input((CATEGORIES,), dtype=tf.int64)
    offset = categories + tf.range(CATEGORIES, dtype=tf.int64) * BUCKETS
    deep = layers.Flatten()(layers.Embedding(CATEGORIES * BUCKETS, 16)(offset))
    deep = layers.Concatenate()([deep, layers.BatchNormalization()(numbers)])
    for units in (256, 128, 64):
        deep = layers.Dense(units, activation="relu")(deep)
    wide = layers.Flatten()(layers.Embedding(CATEGORIES * BUCKETS, 1)(offset))
    output = layers.Dense(1, activation="sigmoid")(layers.Concatenate()([wide, deep]))
    model = tf.keras.Model([numbers, categories], output)
    features = {f"i{n}": tf.io.FixedLenFeature((), tf.float32, 0.0) for n in range(NUMBERS)}
    features |= {f"c{n}": tf.io.FixedLenFeature((), tf.string, "") for n in range(CATEGORIES)}

    def score(examples: tf.Tensor) -> dict[str, tf.Tensor]:
        parsed = tf.io.parse_example(examples, features)
        dense = tf.stack([parsed[f"i{n}"] for n in range(NUMBERS)], 1)
        hashed = [tf.strings.to_hash_bucket_fast(parsed[f"c{n}"], BUCKETS) for n in range(CATEGORIES)]
        return {"score": model([tf.math.log1p(dense), tf.stack(hashed, 1)])}

    return model, score


def text_lstm() -> Export:
    layers = tf.keras.layers
    tokens = layers.TextVectorization(output_sequence_length=TOKENS, vocabulary=WORDS)
    ids = tf.keras.Input((TOKENS,), dtype=tf.int64)
    hidden = layers.LSTM(64)(layers.Embedding(len(WORDS) + 2, 64)(ids))
    model = tf.keras.Model(ids, layers.Dense(4, activation="softmax")(hidden))
    model.tokens = tokens

    def score(texts: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"classes": model(tokens(texts))}

    return model, score


def mobilenet() -> Export:
    model = tf.keras.applications.MobileNetV2(weights=None)

    def decode(image: tf.Tensor) -> tf.Tensor:
        pixels = tf.image.resize(tf.io.decode_jpeg(image, channels=3), (SIZE, SIZE))
        return pixels / 127.5 - 1

    def score(images: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"classes": model(tf.map_fn(decode, images, fn_output_signature=tf.float32))}

    return model, score


def examples(rows: int) -> Iterator[bytes]:
    random = np.random.default_rng(0)
    for _ in range(rows):
        example = tf.train.Example()
        for n, value in enumerate(random.exponential(2, NUMBERS)):
            example.features.feature[f"i{n}"].float_list.value.append(value)
        for n, value in enumerate(random.zipf(1.3, CATEGORIES)):
            example.features.feature[f"c{n}"].bytes_list.value.append(f"{value:x}".encode())
        yield example.SerializeToString()


def texts(rows: int) -> Iterator[bytes]:
    random = np.random.default_rng(0)
    for _ in range(rows):
        words = (random.zipf(1.2, random.integers(5, 80)) - 1) % len(WORDS)
        yield " ".join(WORDS[word] for word in words).encode()


def jpegs(rows: int) -> Iterator[bytes]:
    random = np.random.default_rng(0)
    for _ in range(rows):
        noise = tf.constant(random.integers(0, 256, (12, 16, 3)), tf.float32)
        pixels = tf.cast(tf.image.resize(noise, (360, 480), "bicubic"), tf.uint8)
        yield tf.io.encode_jpeg(pixels, quality=90).numpy()


MODELS = {  # the model, its rows, how many of them, and how often the file has them
    "wide_and_deep": (wide_and_deep, examples, 40_000, 5),
    "text_lstm": (text_lstm, texts, 8_000, 8),
    "mobilenet_jpeg": (mobilenet, jpegs, 192, 4),
}


def main() -> None:
    for name in sys.argv[2:] or MODELS:
        make, rows, number, times = MODELS[name]
        folder = Path(sys.argv[1]) / name
        tf.keras.utils.set_random_seed(0)
        model, score = make()
        model.score = tf.function(score, [tf.TensorSpec([None], tf.string, name="rows")])
        tf.saved_model.save(model, str(folder / "model"), model.score)
        with tf.io.TFRecordWriter(str(folder / "rows.tfrecord")) as file:
            for row in list(rows(number)) * times:
                file.write(row)


if __name__ == "__main__":
    main()
