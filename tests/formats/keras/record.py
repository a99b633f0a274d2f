"""Save one small model in every layout that a release of Keras writes.

    python tests/formats/keras/record.py FOLDER

Run it with the Python of the release: Keras 1.2.2 and later, alone or in TensorFlow. The folders of several
releases, packed with `tar --sort=name --mtime=@0 -cJf recorded.tar.xz RELEASE…`, are what `test_recorded.py`
reads. `weights.npz` has the weights as Keras returns them. `tfjs-4.22.0` is model.h5 of TensorFlow 2.15.1,
converted by `tensorflowjs_converter --input_format keras --quantize_uint8 '*'`.
"""

import os
import sys

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    from tensorflow import keras
except ImportError:
    import keras
if "standalone" in sys.argv:
    import keras
L = keras.layers
IS_KERAS_1 = getattr(keras, "__version__", "").startswith("1.")
IS_KERAS_3 = hasattr(keras, "ops")


def model():
    """A nested model, statistics, and a layer with two layers inside it."""
    if IS_KERAS_1:
        inner = keras.models.Sequential([L.Dense(3, input_dim=4, name="inner_dense")])
        steps = L.TimeDistributed(inner, input_shape=(5, 4), name="steps")
        both = L.Bidirectional(L.LSTM(2), name="both")
        return keras.models.Sequential([steps, both, L.Dense(2, name="last")])
    first = [L.Dense(3, name="inner_dense")]
    first = [keras.Input((5, 4)), *first] if IS_KERAS_3 else [L.InputLayer((5, 4)), *first]
    x = L.Input((5, 4), name="x")
    y = keras.models.Sequential(first, name="inner")(x)
    y = L.BatchNormalization(name="norm")(y)
    y = L.Bidirectional(L.LSTM(2), name="both")(y)
    return keras.models.Model(x, L.Dense(2, name="last")(y), name="outer")


def save_text(path, text):
    with open(path, "w") as file:
        file.write(text)


def save_shards(path):
    large = keras.Sequential([keras.Input((4,)), L.Dense(30, name="first"), L.Dense(30, name="second")])
    large.save_weights(path, max_shard_size=4e-6)


def save_quantized(path):
    quantized = model()
    quantized.quantize("int8")
    quantized.save(path)


def save_half(path):
    keras.Sequential([keras.Input((4,)), L.Dense(3, dtype="bfloat16", name="half")]).save(path)


def save_words(path):
    words = L.TextVectorization(name="words")
    words.adapt(["b a b c"])
    keras.Sequential([keras.Input((1,), dtype="string"), words]).save(path)


def main(folder):
    saved = model()
    random = np.random.RandomState(1)
    saved.set_weights([random.normal(size=w.shape).astype("f4") for w in saved.get_weights()])
    saved.compile("sgd", "mse")
    ways = {
        "model.h5": saved.save,
        "model.weights.h5": saved.save_weights,
        "model.keras": saved.save,
        "model.json": lambda path: save_text(path, saved.to_json()),
    }
    if IS_KERAS_3:
        ways.update({"int8.keras": save_quantized, "bfloat16.keras": save_half})
        ways.update({"shards.weights.json": save_shards, "words.keras": save_words})
    elif hasattr(keras, "saving"):  # from 2.12 on
        ways["archive.keras"] = lambda path: saved.save(path, save_format="keras_v3")
    os.makedirs(folder)
    for name, save in ways.items():
        try:
            save(os.path.join(folder, name))
        except Exception as error:  # this release cannot
            print(name, type(error).__name__, str(error)[:100])
    np.savez(os.path.join(folder, "weights.npz"), *saved.get_weights())


if __name__ == "__main__":
    main(sys.argv[1])
