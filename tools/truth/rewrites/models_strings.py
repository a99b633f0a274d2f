"""Strings and tables of plain TensorFlow functions: tokens, groups, ragged words, CSV."""

import numpy as np
import tensorflow as tf
from making import SEED, WORDS, integers, save, strings, weights


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


def changing_tables(path: str) -> None:
    """A table that counts: words of the request are inserted into a mutable table and read again."""

    def call(words):
        table = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "<none>", "<gone>")
        other = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.0)
        unique, where, counts = tf.unique_with_counts(words)
        done = [
            table.insert(unique, tf.cast(counts, tf.int64)),
            other.insert(unique, tf.cast(tf.strings.length(unique), tf.float32)),
        ]
        with tf.control_dependencies(done):
            return {
                "counts": table.lookup(words),
                "lengths": other.lookup(words),
                "size": other.size(),
                "where": where,
            }

    save(path, tf.Module(), call, words=strings(None))


def tokenizer(path: str) -> None:
    """Cleaning by regular expressions, splitting to ragged words, pairs of words, hashes, a padded result."""

    def call(text):
        clean = tf.strings.regex_replace(tf.strings.lower(text, "utf-8"), r"[^\w\s]|_", "")
        words = tf.strings.split(tf.strings.strip(clean))
        pairs = tf.strings.ngrams(words, 2, separator="_")
        ids = tf.ragged.map_flat_values(tf.strings.to_hash_bucket_fast, words, 1000)
        return {
            "ids": ids.to_tensor(-1, shape=[None, 8]),
            "pairs": pairs.to_tensor(""),
            "lengths": words.row_lengths(),
            "first": tf.strings.substr(clean, 0, 3, "UTF8_CHAR"),
            "joined": tf.strings.reduce_join(pairs, -1, separator="|"),
        }

    save(path, tf.Module(), call, text=strings(None))


def unicode_letters(path: str) -> None:
    """Code points of words, scripts, normalization of case, and strings of them again."""

    def call(text):
        points = tf.strings.unicode_decode(text, "UTF-8", errors="replace", replacement_char=63)
        script = tf.ragged.map_flat_values(tf.strings.unicode_script, points)
        upper = tf.strings.upper(text, "utf-8")
        capitals = tf.reduce_sum(tf.cast((points >= 65) & (points <= 90), tf.int32), axis=1)
        back = tf.strings.unicode_encode(points[:, ::-1], "UTF-8")
        return {
            "script": script.to_tensor(-1),
            "capitals": capitals,
            "back": back,
            "upper": upper,
            "length": tf.strings.length(text, "UTF8_CHAR"),
        }

    save(path, tf.Module(), call, text=strings(None))


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


def sentence_pairs(path: str) -> None:
    """map_fn over ragged words with a ragged result: neighbors in each sentence."""

    def neighbors(words):
        return tf.strings.join([words[:-1], words[1:]], "-")

    def call(text):
        words = tf.strings.split(text, sep=",")
        pairs = tf.map_fn(neighbors, words, fn_output_signature=tf.RaggedTensorSpec([None], tf.string, 0))
        lengths = tf.map_fn(
            tf.strings.length, words, fn_output_signature=tf.RaggedTensorSpec([None], tf.int32)
        )
        return {"pairs": pairs.to_tensor(""), "count": pairs.row_lengths(), "lengths": lengths.to_tensor(0)}

    save(path, tf.Module(), call, text=strings(None))


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
