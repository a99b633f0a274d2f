"""Strings, tables and tabular features: what users put in front of a network."""

import numpy as np
import tensorflow as tf
from making import SEED, export, integers, save, strings, weights

import keras
from keras import layers

WORDS = [
    "the",
    "a",
    "good",
    "bad",
    "film",
    "plot",
    "actor",
    "was",
    "is",
    "not",
    "very",
    "boring",
    "great",
    "end",
]
WIDE = keras.initializers.RandomNormal(stddev=0.5, seed=3)


def review_classifier(path: str) -> None:
    """TextVectorization to ids in the model, an embedding, pooling."""
    text = keras.Input((), dtype="string", name="text")
    ids = layers.TextVectorization(vocabulary=WORDS, output_sequence_length=12)(text)
    x = layers.GlobalAveragePooling1D()(
        layers.Embedding(20, 8, mask_zero=True, embeddings_initializer=WIDE)(ids)
    )
    export(keras.Model(text, layers.Dense(2, activation="softmax")(x)), path)


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


def tables(path: str) -> None:
    """All kinds of tables: static, with buckets for unknown words, mutable and dense."""
    module = tf.Module()
    keys = tf.constant(WORDS)
    fill = tf.lookup.KeyValueTensorInitializer(keys, tf.range(len(WORDS), dtype=tf.int64))
    module.buckets = tf.lookup.StaticVocabularyTable(fill, 3)
    module.prices = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2, 5], tf.int64), tf.constant([0.5, 1.25, 9.0])),
        -1.0,
    )
    module.names = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.range(17, dtype=tf.int64), [*WORDS, "x", "y", "z"]), "?"
    )

    def call(words, ids):
        number = module.buckets.lookup(words)
        return {
            "number": number,
            "price": module.prices.lookup(ids),
            "name": module.names.lookup(number),
            "size": module.buckets.size(),
        }

    save(path, module, call, words=strings(None, None), ids=tf.TensorSpec([None], tf.int64))


def sentence_features(path: str) -> None:
    """map_fn over ragged words: a feature row for each sentence of any length."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.vectors = tf.Variable(weights(rng, 64, 5, scale=1))

    def features(words):
        rows = tf.gather(module.vectors, tf.strings.to_hash_bucket_fast(words, 64))
        return tf.concat([tf.reduce_sum(rows, 0), [tf.cast(tf.size(words), tf.float32)]], 0)

    def call(text):
        words = tf.strings.split(text)
        return {"features": tf.map_fn(features, words, fn_output_signature=tf.TensorSpec([6], tf.float32))}

    save(path, module, call, text=strings(None))


def grouped_words(path: str) -> None:
    """Words joined by group with unsorted_segment_join: a document for each author."""

    def call(words, author):
        known = tf.reduce_max(tf.concat([author, [-1]], 0)) + 1
        documents = tf.strings.unsorted_segment_join(words, author, num_segments=known, separator=" ")
        return {"documents": documents, "lengths": tf.strings.length(documents)}

    save(path, tf.Module(), call, words=strings(None), author=integers(None))


def joined_rows(path: str) -> None:
    """Cells of a table joined by row key, keys by unique: a group-by of strings."""

    def call(key, value):
        names, where = tf.unique(key)
        lines = tf.strings.unsorted_segment_join(value, where, tf.size(names), ";")
        return {"lines": tf.strings.join([names, lines], "="), "count": tf.math.bincount(where)}

    save(path, tf.Module(), call, key=strings(None), value=strings(None))


def csv_rows(path: str) -> None:
    """Lines of a CSV file to features and a score."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.w = tf.Variable(weights(rng, 6, 2))

    def call(lines):
        name, age, pay, day = tf.io.decode_csv(lines, [["none"], [0], [1.5], [""]], na_value="NA")
        parts = tf.strings.split(day, "-").to_tensor("0", shape=[None, 3])
        numbers = tf.strings.to_number(
            tf.where(tf.strings.regex_full_match(parts, r"\d+"), parts, "0"), tf.float32
        )
        kind = tf.one_hot(tf.strings.to_hash_bucket_strong(name, 1, [3, 5]), 1)
        x = tf.concat([tf.cast(age, tf.float32)[:, None] / 50, pay[:, None], numbers / 30, kind], 1)
        return {
            "score": x @ module.w,
            "text": tf.strings.format("{} rows", tf.shape(lines)[0]),
            "shown": tf.strings.as_string(pay, precision=2),
        }

    save(path, module, call, lines=strings(None))
