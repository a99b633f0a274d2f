"""Examples, and ragged and sparse features."""

import numpy as np
import tensorflow as tf
from making import SEED, floats, integers, save, strings, weights


def example_ranker(path: str) -> None:
    """Serialized Examples with ragged, sparse and dense features."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.table = tf.Variable(weights(rng, 30, 4, scale=1))
    spec = {
        "clicks": tf.io.RaggedFeature(tf.int64),
        "price": tf.io.FixedLenFeature([2], tf.float32, [1.0, 2.0]),
        "tags": tf.io.VarLenFeature(tf.string),
        "title": tf.io.FixedLenFeature([], tf.string, ""),
        "grid": tf.io.RaggedFeature(
            tf.float32, "grid_values", [tf.io.RaggedFeature.RowLengths("grid_lengths")]
        ),
    }

    def call(examples):
        row = tf.io.parse_example(examples, spec)
        clicks = tf.reduce_mean(tf.gather(module.table, row["clicks"] % 30), 1)
        tags = tf.sparse.to_dense(row["tags"], "")
        return {
            "clicks": clicks,
            "price": row["price"],
            "tags": tags,
            "title": row["title"],
            "grid": tf.reduce_sum(row["grid"], -1).to_tensor(),
        }

    save(path, module, call, examples=strings(None))


def example_sequences(path: str) -> None:
    """SequenceExamples: context and frames, padded."""

    def call(examples):
        context, frames, lengths = tf.io.parse_sequence_example(
            examples,
            context_features={"user": tf.io.FixedLenFeature([], tf.int64, -1)},
            sequence_features={
                "item": tf.io.RaggedFeature(tf.int64),
                "time": tf.io.FixedLenSequenceFeature([1], tf.float32),
            },
        )
        return {
            "user": context["user"],
            "item": frames["item"].to_tensor(-1),
            "time": frames["time"],
            "lengths": lengths["time"],
        }

    save(path, tf.Module(), call, examples=strings(None))


def ragged_cross(path: str) -> None:
    """Crosses of ragged features, as words and as hashes into an embedding."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.table = tf.Variable(weights(rng, 50, 3, scale=1))

    def call(colors, sizes):
        a, b = tf.strings.split(colors, ","), tf.strings.split(sizes, ",")
        crossed = tf.ragged.cross([a, b])
        hashed = tf.ragged.cross_hashed([a, b], num_buckets=50, hash_key=99)
        rows = tf.reduce_sum(tf.gather(module.table, hashed), 1)
        return {"crossed": crossed.to_tensor(""), "hashed": hashed.to_tensor(-1), "rows": rows}

    save(path, module, call, colors=strings(None), sizes=strings(None))


def visited_places(path: str) -> None:
    """A cross of ragged numbers, a dense column and sparse words by hash: wide features of a user."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.wide = tf.Variable(weights(rng, 200, 1, scale=1))

    def call(places, counts, country):
        ragged = tf.RaggedTensor.from_row_lengths(places, counts)
        hashed = tf.ragged.cross_hashed([ragged, country[:, None]], num_buckets=200)
        return {"score": tf.reduce_sum(tf.gather(module.wide, hashed), [1]), "hashed": hashed.flat_values}

    save(
        path,
        module,
        call,
        places=tf.TensorSpec([None], tf.int64),
        counts=tf.TensorSpec([None], tf.int64),
        country=strings(None),
    )


def sparse_cross(path: str) -> None:
    """tf.sparse.cross_hashed, a sparse product and sparse softmax."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.w = tf.Variable(weights(rng, 64, 2))

    def call(a, b, x):
        crossed = tf.sparse.cross_hashed(
            [tf.sparse.from_dense(a[:, None]), tf.sparse.from_dense(b[:, None])], 64
        )
        rows = tf.nn.embedding_lookup_sparse(module.w, crossed, None, combiner="sum")
        sparse = tf.sparse.from_dense(tf.nn.relu(x))
        product = tf.sparse.sparse_dense_matmul(sparse, module.w[:5])
        soft = tf.sparse.to_dense(tf.sparse.softmax(sparse))
        top = tf.sparse.reduce_max(sparse, 1)
        return {"rows": rows, "product": product, "soft": soft, "top": top}

    save(path, module, call, a=strings(None), b=strings(None), x=floats(None, 5))


def bag_of_words(path: str) -> None:
    """Counts of hashed words by tf.sparse.bincount, and a linear model over them."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.w = tf.Variable(weights(rng, 32, 3))

    def call(tokens):
        ids = tf.strings.to_hash_bucket_fast(tokens, 32)
        counts = tf.sparse.bincount(ids, minlength=32, maxlength=32, axis=-1)
        dense = tf.sparse.to_dense(counts)
        dense = tf.ensure_shape(tf.cast(dense, tf.float32), [None, 32])
        return {"scores": dense @ module.w, "counts": dense}

    save(path, module, call, tokens=strings(None, None))


def weighted_histogram(path: str) -> None:
    """Weighted and binary counts of integers, dense and ragged."""

    def call(ids, weight):
        weighted = tf.sparse.bincount(ids, weights=weight, axis=-1, minlength=10)
        seen = tf.sparse.bincount(ids, axis=-1, binary_output=True, maxlength=8)
        every = tf.math.bincount(ids, weights=weight, minlength=6, axis=0)
        rows = tf.math.bincount(ids, minlength=4, maxlength=9, axis=-1)
        return {
            "weighted": tf.sparse.to_dense(weighted),
            "seen_indices": seen.indices,
            "seen": seen.values,
            "every": every,
            "rows": rows,
        }

    save(path, tf.Module(), call, ids=integers(None, None), weight=floats(None, None))


def ragged_counts(path: str) -> None:
    """Counts of ragged and sparse ids: RaggedCountSparseOutput and SparseCountSparseOutput."""

    def call(values, lengths):
        ragged = tf.RaggedTensor.from_row_lengths(values, lengths)
        counts = tf.sparse.bincount(ragged, axis=-1, minlength=9)
        again = tf.sparse.bincount(ragged.to_sparse(), axis=-1, minlength=9)
        rows = tf.math.bincount(ragged, axis=-1, minlength=9)
        return {"counts": tf.sparse.to_dense(counts), "again": tf.sparse.to_dense(again), "rows": rows}

    save(path, tf.Module(), call, values=integers(None), lengths=tf.TensorSpec([None], tf.int64))


def ragged_algebra(path: str) -> None:
    """Ragged arithmetic: sums, softmax by row, sorting, gather, boolean masks, concat, range."""

    def call(values, lengths):
        x = tf.RaggedTensor.from_row_lengths(values, lengths)
        soft = tf.exp(x - tf.reduce_max(x, 1, keepdims=True))
        soft = soft / tf.reduce_sum(soft, 1, keepdims=True)
        kept = tf.ragged.boolean_mask(x, x > 0)
        both = tf.concat([x, kept], 1)
        counts = tf.ragged.range(tf.cast(x.row_lengths(), tf.int32))
        return {
            "soft": soft.to_tensor(),
            "both": both.to_tensor(-1.0),
            "counts": counts.to_tensor(-1),
            "flipped": x[:, ::-1].to_tensor(),
            "mean": tf.reduce_mean(x, 1),
            "stacked": tf.ragged.stack([x, kept]).to_tensor(),
        }

    save(path, tf.Module(), call, values=floats(None), lengths=tf.TensorSpec([None], tf.int64))


def graph_network(path: str) -> None:
    """Messages on a graph: gathers, segment sums, means and maxima, scatter."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.w, module.u = tf.Variable(weights(rng, 4, 6)), tf.Variable(weights(rng, 12, 3))

    def call(nodes, sender, receiver):
        count = tf.shape(nodes)[0]
        message = tf.nn.elu(tf.gather(nodes, sender) @ module.w)
        total = tf.math.unsorted_segment_sum(message, receiver, count)
        best = tf.math.unsorted_segment_max(message, receiver, count)
        best = tf.where(best < -1e30, tf.zeros_like(best), best)
        out = tf.concat([total, best], 1) @ module.u
        degree = tf.tensor_scatter_nd_add(
            tf.zeros([count], tf.int32), receiver[:, None], tf.ones_like(receiver)
        )
        peak = tf.tensor_scatter_nd_max(tf.fill([count], -9.0), receiver[:, None], tf.reduce_max(message, 1))
        mean = tf.math.segment_mean(tf.gather(message, tf.argsort(receiver, stable=True)), tf.sort(receiver))
        return {"out": out, "degree": degree, "peak": peak, "mean": mean}

    save(path, module, call, nodes=floats(None, 4), sender=integers(None), receiver=integers(None))


def sets_and_search(path: str) -> None:
    """Set operations, searchsorted, unique, top-k, histogram, edit distance: a retrieval's book-keeping."""

    def call(a, b, words, truth):
        common = tf.sets.intersection(a, b)
        place = tf.searchsorted(tf.sort(a, axis=-1), b, side="right")
        best = tf.math.top_k(tf.cast(a, tf.float32) + 0.01 * tf.cast(b, tf.float32), 2)
        near = tf.math.in_top_k(tf.zeros([tf.shape(a)[0]], tf.int32), tf.cast(a, tf.float32), 2)
        letters = tf.strings.unicode_split(words, "UTF-8").to_sparse()
        wanted = tf.strings.unicode_split(truth, "UTF-8").to_sparse()
        return {
            "common": tf.sparse.to_dense(common),
            "size": tf.sets.size(common),
            "place": place,
            "best": best.values,
            "which": best.indices,
            "near": near,
            "distance": tf.edit_distance(letters, wanted, normalize=False),
            "bins": tf.histogram_fixed_width(tf.cast(b, tf.float32), [0.0, 10.0], 5),
        }

    save(
        path,
        tf.Module(),
        call,
        a=integers(None, 5),
        b=integers(None, 5),
        words=strings(None),
        truth=strings(None),
    )
