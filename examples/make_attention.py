"""Write examples/attention: a small SavedModel that TensorFlow 1.13 refuses and 1.14 runs.

    python examples/make_attention.py        run by the Python of an environment with TensorFlow

Words in, scores for three topics out. It is written as for an old server: a TF1
graph, plain variables, defaults stripped. One thing is too new all the same: a
product of batches has been saved as `BatchMatMulV2` since 1.14.
"""

import contextlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

OUT = Path(__file__).resolve().with_name("attention")
TOPICS = {
    "cooking": """bake boil bread butter cook dinner flour garlic
                  honey oil onion oven pasta pepper salt soup""",
    "sport": """ball coach cup final goal keeper league match
                pitch player race referee score season team win""",
    "travel": """airport beach border bus flight hotel island map
                 passport port seat ticket tour train trip visa""",
}
WORDS = [word for words in TOPICS.values() for word in words.split()]
UNKNOWN = len(WORDS)  # the number of every other word
WIDTH = 8
v1 = tf.compat.v1


def weights() -> dict[str, np.ndarray]:
    """What training would find: words of a topic are alike, words of none say little."""
    noise = np.random.default_rng(seed=1).normal(scale=0.2, size=(UNKNOWN + 1, WIDTH))
    topic = np.repeat(np.eye(len(TOPICS), WIDTH), UNKNOWN // len(TOPICS), axis=0)
    return {
        "embedding": np.vstack([topic, np.zeros((1, WIDTH))]) + noise,
        "query": 2 * np.eye(WIDTH),
        "key": 2 * np.eye(WIDTH),
        "value": 4 * np.eye(WIDTH),
        "topics": np.eye(WIDTH, len(TOPICS)),
        "bias": np.zeros(len(TOPICS)),
    }


def attend(words, w):
    """Each word looks at the words beside it; the mean of what they see is scored."""
    x = tf.gather(w["embedding"], words)
    query, key, value = (tf.matmul(x, w[name]) for name in ("query", "key", "value"))
    seen = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / WIDTH**0.5)
    meaning = tf.reduce_mean(tf.matmul(seen, value), axis=1)
    return tf.nn.softmax(tf.matmul(meaning, w["topics"]) + w["bias"], name="scores")


def table(vocabulary: str):
    lines = tf.lookup.TextFileInitializer(
        vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
        tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER,
    )  # fmt: skip
    return tf.lookup.StaticHashTable(lines, default_value=UNKNOWN)


def save(session, words, scores) -> None:
    signature = v1.saved_model.predict_signature_def({"words": words}, {"scores": scores})
    builder = v1.saved_model.Builder(str(OUT))
    builder.add_meta_graph_and_variables(
        session,
        [tf.saved_model.SERVING],
        {tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
        main_op=v1.tables_initializer(),
        strip_default_attrs=True,
    )
    builder.save()


def build(session) -> None:
    variables = {
        name: v1.get_variable(name, initializer=array.astype(np.float32), use_resource=False)
        for name, array in weights().items()
    }
    words = v1.placeholder(tf.string, [None, None], name="words")
    scores = attend(table("vocabulary.txt").lookup(words), variables)
    session.run(v1.global_variables_initializer())
    save(session, words, scores)


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    # the model keeps the vocabulary's path, so it is a relative one
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("vocabulary.txt").write_text("\n".join(WORDS) + "\n")
        with tf.Graph().as_default(), v1.Session() as session:
            build(session)


if __name__ == "__main__":
    main()
