"""Preprocessing layers of Keras 3 in front of a network: text, tables of features, tags."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from making import WORDS, export

WIDE = keras.initializers.RandomNormal(stddev=0.5, seed=3)


def review_classifier(path: str) -> None:
    """TextVectorization to ids in the model, an embedding, pooling."""
    text = keras.Input((), dtype="string", name="text")
    ids = layers.TextVectorization(vocabulary=WORDS, output_sequence_length=12)(text)
    x = layers.GlobalAveragePooling1D()(
        layers.Embedding(20, 8, mask_zero=True, embeddings_initializer=WIDE)(ids)
    )
    export(keras.Model(text, layers.Dense(2, activation="softmax")(x)), path)


def review_counts(path: str) -> None:
    """TextVectorization that counts words and pairs of words."""
    text = keras.Input((), dtype="string", name="text")
    pairs = [*WORDS, "good film", "bad film", "was not"]
    counts = layers.TextVectorization(ngrams=2, output_mode="count", vocabulary=pairs)(text)
    export(
        keras.Model(text, {"scores": layers.Dense(3, kernel_initializer=WIDE)(counts), "counts": counts}),
        path,
    )


def review_tf_idf(path: str) -> None:
    """TextVectorization with tf-idf and characters beside words."""
    text = keras.Input((), dtype="string", name="text")
    idf = np.linspace(0.5, 2.5, len(WORDS)).astype("float32")
    words = layers.TextVectorization(output_mode="tf_idf", vocabulary=WORDS, idf_weights=idf)(text)
    letters = layers.TextVectorization(
        split="character", output_sequence_length=16, vocabulary=list("abcdefghijklmnopqrstuvwxyz ")
    )(text)
    x = layers.GRU(5)(layers.Embedding(30, 4, mask_zero=True, embeddings_initializer=WIDE)(letters))
    export(keras.Model(text, layers.Dense(2)(layers.Concatenate()([words, x]))), path)


def tabular(path: str) -> None:
    """A table of features through preprocessing layers: buckets, lookups, hashes, crosses."""
    age = keras.Input((1,), name="age")
    city = keras.Input((1,), dtype="string", name="city")
    plan = keras.Input((1,), dtype="int64", name="plan")
    bucket = layers.Discretization([18.0, 30.0, 45.0, 60.0])(age)
    known = layers.StringLookup(
        vocabulary=["Paris", "Oslo", "Lima"], output_mode="one_hot", num_oov_indices=2
    )(city)
    hashed = layers.Hashing(11)(city)
    plans = layers.IntegerLookup(vocabulary=[10, 20, 40], output_mode="one_hot")(plan)
    crossed = layers.HashedCrossing(13, output_mode="one_hot")((city, keras.ops.cast(bucket, "int64")))
    parts = [
        layers.CategoryEncoding(5, output_mode="one_hot")(bucket),
        known,
        plans,
        crossed,
        layers.Flatten()(layers.Embedding(11, 3, embeddings_initializer=WIDE)(hashed)),
        layers.Normalization(mean=40.0, variance=225.0)(age),
    ]
    x = layers.Concatenate()([keras.ops.cast(p, "float32") for p in parts])
    export(
        keras.Model([age, city, plan], layers.Dense(1, activation="sigmoid", kernel_initializer=WIDE)(x)),
        path,
    )


def feature_space(path: str) -> None:
    """keras.utils.FeatureSpace in front of a model."""
    space = keras.utils.FeatureSpace(
        features={"job": "string_categorical", "hours": "float_discretized", "pay": "float_normalized"},
        crosses=[("job", "hours")],
        crossing_dim=8,
        output_mode="concat",
    )
    rows = {
        "job": ["nurse", "cook", "pilot", "cook"],
        "hours": [10.0, 35.0, 50.0, 42.0],
        "pay": [1.0, 2.0, 9.0, 2.5],
    }
    space.adapt(tf.data.Dataset.from_tensor_slices(rows))
    raw, encoded = space.get_inputs(), space.get_encoded_features()
    export(keras.Model(raw, layers.Dense(2, kernel_initializer=WIDE)(encoded)), path)


def multi_hot_tags(path: str) -> None:
    """Several tags of a row: StringLookup to multi-hot and count, and back to strings."""
    tags = keras.Input((4,), dtype="string", name="tags")
    lookup = layers.StringLookup(vocabulary=["red", "blue", "green", "gray"], mask_token="")
    ids = lookup(tags)
    hot = layers.CategoryEncoding(6, output_mode="multi_hot")(ids)
    counts = layers.StringLookup(vocabulary=["red", "blue"], output_mode="count")(tags)
    back = layers.StringLookup(vocabulary=["red", "blue", "green", "gray"], mask_token="", invert=True)(ids)
    export(keras.Model(tags, {"hot": hot, "counts": counts, "back": back}), path)
