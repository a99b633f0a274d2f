"""The models of the runtime benchmark, made with TensorFlow: `python runtime_models.py NAME PATH`.

Weights are random; sizes are those of the real models.
"""

import sys

import numpy as np

MODELS = ("mobilenet_v2", "resnet50", "efficientnet_b0", "transformer", "text_lstm", "wide_and_deep")
"""Those of the benchmark; `resnet50_bytes` is for servers."""
BATCHES = (1, 8)
WORDS = [
    "the",
    "a",
    "of",
    "to",
    "and",
    "in",
    "that",
    "it",
    "is",
    "was",
    "for",
    "on",
    "with",
    "as",
    "his",
    "they",
    "be",
    "at",
    "one",
    "have",
    "this",
    "from",
    "or",
    "had",
    "by",
]


def mobilenet_v2(path: str) -> None:
    import keras

    keras.applications.MobileNetV2(weights=None).export(path, verbose=False)


def resnet50(path: str) -> None:
    import keras

    keras.applications.ResNet50(weights=None).export(path, verbose=False)


def resnet50_bytes(path: str) -> None:
    """ResNet-50 as it is served: images are bytes, which the model scales itself."""
    import keras

    image = keras.Input((224, 224, 3), dtype="uint8", name="image")
    scaled = keras.layers.Rescaling(1 / 127.5, offset=-1)(image)
    scores = keras.applications.ResNet50(weights=None)(scaled)
    keras.Model(image, scores).export(path, verbose=False)


def efficientnet_b0(path: str) -> None:
    import keras

    keras.applications.EfficientNetB0(weights=None).export(path, verbose=False)


def transformer(path: str) -> None:
    """Make a 6-layer encoder of width 256 for 128 tokens."""
    import keras
    from keras import layers

    tokens = keras.Input((128,), dtype="int32", name="tokens")
    x = layers.Embedding(20000, 256)(tokens)
    for _ in range(6):
        attended = layers.MultiHeadAttention(8, 32)(x, x)
        x = layers.LayerNormalization(epsilon=1e-6)(x + attended)
        wide = layers.Dense(1024, activation="gelu")(x)
        x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dense(256)(wide))
    pooled = layers.GlobalAveragePooling1D()(x)
    keras.Model(tokens, layers.Dense(10, activation="softmax")(pooled)).export(path, verbose=False)


def text_lstm(path: str) -> None:
    """Make a bidirectional LSTM over the words of a text."""
    import keras
    import tensorflow as tf
    from keras import layers

    vectorise = layers.TextVectorization(max_tokens=2000, output_sequence_length=100)
    vectorise.set_vocabulary(WORDS + [f"word{i}" for i in range(1900)])
    ids = keras.Input((100,), dtype="int64")
    x = layers.Embedding(2000, 64)(ids)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(32))(x)
    classify = keras.Model(ids, layers.Dense(2, activation="softmax")(x))

    module = tf.Module()
    module.parts = [vectorise, classify]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def call(text):
        return {"scores": classify(vectorise(text))}

    tf.saved_model.save(module, path, signatures={"serving_default": call})


def wide_and_deep(path: str) -> None:
    """Make a model like an Estimator: serialized Examples, hashed and embedded categories, buckets, a DNN."""
    import tensorflow as tf

    keys = [f"c{i}" for i in range(8)]
    spec = {key: tf.io.VarLenFeature(tf.string) for key in keys}
    spec |= {f"n{i}": tf.io.FixedLenFeature([4], tf.float32) for i in range(4)}
    rng = np.random.default_rng(0)

    def variable(*shape: int):
        return tf.Variable(rng.normal(0, 0.1, shape).astype(np.float32))

    module = tf.Module()
    module.embeddings = [variable(1000, 16) for _ in keys]
    module.wide = [variable(1000, 1) for _ in keys]
    module.layers = [variable(8 * 16 + 16, 256), variable(256, 128), variable(128, 1)]
    module.biases = [variable(256), variable(128), variable(1)]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def call(examples):
        parsed = tf.io.parse_example(examples, spec)
        deep, wide = [], []
        for key, table, linear in zip(keys, module.embeddings, module.wide, strict=True):
            words = parsed[key]
            ids = tf.SparseTensor(
                words.indices, tf.strings.to_hash_bucket_fast(words.values, 1000), words.dense_shape
            )
            deep.append(tf.nn.safe_embedding_lookup_sparse([table], ids, combiner="mean"))
            wide.append(tf.nn.safe_embedding_lookup_sparse([linear], ids, combiner="sum"))
        x = tf.concat([*deep, *(parsed[f"n{i}"] for i in range(4))], 1)
        for w, b in zip(module.layers, module.biases, strict=True):
            x = tf.matmul(tf.nn.relu(x), w) + b
        return {"probabilities": tf.sigmoid(x + tf.add_n(wide))}

    tf.saved_model.save(module, path, signatures={"serving_default": call})


def sentences(batch: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.array([" ".join(rng.choice(WORDS, 60)).encode() for _ in range(batch)])


def examples(batch: int) -> np.ndarray:
    import tensorflow as tf

    rng = np.random.default_rng(2)

    def example() -> bytes:
        made = tf.train.Example()
        for i in range(8):
            words = [w.encode() for w in rng.choice(WORDS, 3)]
            made.features.feature[f"c{i}"].bytes_list.value.extend(words)
        for i in range(4):
            made.features.feature[f"n{i}"].float_list.value.extend(rng.normal(size=4))
        return (
            made.SerializeToString() + b"\x78\x01"
        )  # an unknown field: numpy's bytes type drops trailing zeros

    return np.array([example() for _ in range(batch)])


def images(batch: int) -> np.ndarray:
    return np.random.default_rng(0).random((batch, 224, 224, 3), np.float32)


def byte_images(batch: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (batch, 224, 224, 3), np.uint8)


def tokens(batch: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 20000, (batch, 128)).astype(np.int32)


INPUTS = {
    "mobilenet_v2": images,
    "resnet50": images,
    "resnet50_bytes": byte_images,
    "efficientnet_b0": images,
    "transformer": tokens,
    "text_lstm": sentences,
    "wide_and_deep": examples,
}


def main(name: str, path: str) -> None:
    globals()[name](path)
    import tensorflow as tf

    (wanted,) = tf.saved_model.load(path).signatures["serving_default"].structured_input_signature[1]
    for batch in BATCHES:
        np.savez(f"{path}/inputs_{batch}.npz", **{wanted: INPUTS[name](batch)})


if __name__ == "__main__":
    main(*sys.argv[1:])
