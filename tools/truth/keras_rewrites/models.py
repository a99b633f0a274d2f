"""Models whose layers have equal shapes, so that weights in another order load and answer wrongly.

    python models.py FOLDER SUFFIX COUNT [plain]     in a Python with a Keras; SUFFIX is .keras or .h5

Each is built from its number: graphs with branches, shared layers, models inside models, recurrent layers,
attention, convolutions and masks. Those that are `plain` have only classes and activations that each release
of Keras 2 has. Inputs and answers of `FOLDER/c07.keras` are in `c07.keras.npz`.
"""

import os
import random
import sys

os.environ.setdefault("KERAS_BACKEND", "numpy")
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

try:
    import keras

    if int(keras.__version__.split(".")[0]) < 3:
        from tensorflow import keras
except ImportError:
    from tensorflow import keras

L = keras.layers
IS_PLAIN = sys.argv[4:] == ["plain"]
ACTIVATIONS = ["elu", "hard_sigmoid", "tanh", "relu", "sigmoid", "linear", "hard_sigmoid"]
if IS_PLAIN:
    ACTIVATIONS = [name for name in ACTIVATIONS if name != "hard_sigmoid"]


def dense(r, size=8):
    return L.Dense(size, r.choice(ACTIVATIONS))


def graph(r, x, count):
    """Random layers after a tensor; returns the tensors."""
    tensors, shared = [x], [dense(r) for _ in range(2)]
    for _ in range(count):
        kind, a, b = r.random(), r.choice(tensors[-4:]), r.choice(tensors)
        if kind < 0.45:
            y = dense(r)(a)
        elif kind < 0.6:
            y = r.choice([L.Add, L.Multiply, L.Average, L.Maximum])()([a, dense(r)(b)])
        elif kind < 0.7:
            y = r.choice(shared)(a)
        elif kind < 0.78:
            y = L.BatchNormalization()(a)
        elif kind < 0.84:
            y = L.BatchNormalization()(a) if IS_PLAIN else L.LayerNormalization()(a)
        elif kind < 0.9:
            y = dense(r)(L.Concatenate()([a, b]))
        elif kind < 0.95:
            y = L.Dropout(0.2)(a)
        else:
            y = L.Add()([a, b]) if IS_PLAIN else a + b if r.random() < 0.5 else a * 0.5
        tensors.append(y)
    return tensors


def branches(r, number):
    x = keras.Input((8,))
    tensors = graph(r, x, 8 + number % 7)
    outputs = r.sample(tensors[1:], min(2, len(tensors) - 1)) if number % 3 == 0 else [tensors[-1]]
    outputs[0] = L.Add()([tensors[-1], tensors[-3], outputs[0]])
    return keras.Model(x, outputs if len(outputs) > 1 else outputs[0])


def two_inputs(r, number):
    x, y = keras.Input((8,)), keras.Input((8,))
    a, b = graph(r, x, 4), graph(r, y, 3)
    return keras.Model([y, x], L.Multiply()([dense(r)(a[-1]), dense(r)(b[-1])]))


def inner_models(r, number):
    x, start = keras.Input((8,)), keras.Input((8,))
    tensors = graph(r, start, 4)
    inner = keras.Model(start, L.Add()([tensors[-1], tensors[-2]]))
    first = keras.Input((8,)) if hasattr(keras, "ops") else L.InputLayer((8,))
    sequential = keras.Sequential([first, dense(r), dense(r)])
    y = L.Add()([inner(dense(r)(x)), sequential(dense(r)(x))])
    return keras.Model(x, [inner(y), dense(r)(y)] if number % 2 else inner(y))


def recurrent(r, number):
    x = keras.Input((5, 4))
    a = L.Bidirectional(L.LSTM(4, return_sequences=True))(x)
    b = L.LSTM(8, return_sequences=True)(x)
    c = L.GRU(8, return_sequences=True, reset_after=True)(L.Add()([a, b]))
    d = L.SimpleRNN(8)(L.TimeDistributed(dense(r))(c))
    means = L.GlobalAveragePooling1D()(dense(r)(a))
    return keras.Model(x, L.Multiply()([d, means, dense(r)(L.Flatten()(b))]))


def attention(r, number):
    x = keras.Input((5, 8))
    q, k = dense(r)(x), dense(r)(x)
    a, b = L.MultiHeadAttention(2, 4)(q, k), L.MultiHeadAttention(2, 4)(k, q, k)
    y = L.LayerNormalization()(L.Add()([a, b, x]))
    z = L.Add()([y, dense(r)(dense(r)(y))])
    return keras.Model(x, L.Dense(3)(L.GlobalAveragePooling1D()(z)))


def convolutions(r, number):
    x = keras.Input((8, 8, 3))

    def convolved(x):
        return L.Conv2D(4, 3, padding="same", activation=r.choice(ACTIVATIONS))(x)

    a, b = convolved(x), convolved(x)
    y = L.MaxPooling2D()(L.Add()([a, L.BatchNormalization()(b)]))
    separable = L.SeparableConv2D(4, 3, padding="same")(y)
    z = L.Concatenate()([convolved(y), separable, L.DepthwiseConv2D(3, padding="same")(y)])
    return keras.Model(x, L.Dense(3, ACTIVATIONS[1])(L.GlobalAveragePooling2D()(z)))


def masks(r, number):
    x, y = keras.Input((6,), dtype="int32"), keras.Input((6, 8))
    embedded, d = L.Embedding(9, 8, mask_zero=True)(x), dense(r)(y)
    masked = L.Masking()(dense(r)(y)) if number % 4 == 1 else embedded
    return keras.Model(
        [x, y], L.Multiply()([L.LSTM(8)(embedded), L.LSTM(8)(masked), L.Dense(8)(L.Flatten()(d))])
    )


KINDS = (branches, branches, branches, branches, two_inputs, inner_models, recurrent, attention, convolutions,
         masks)  # fmt: skip
PLAIN_KINDS = (branches, two_inputs, inner_models, recurrent, convolutions, masks)


def set_weights(model, seed):
    g = np.random.default_rng(seed)

    def value(weight):
        array = (g.normal(size=tuple(weight.shape)) * 0.5).astype("f4")
        return np.abs(array) + 0.3 if "variance" in str(getattr(weight, "path", weight.name)) else array

    model.set_weights([value(weight) for weight in model.weights])


def inputs_of(model, number):
    g = np.random.default_rng(number)
    shapes = [((3, *t.shape[1:]), "int" in str(t.dtype)) for t in model.inputs]
    return [
        g.integers(0, 9, shape).astype("i4") if is_int else g.normal(size=shape).astype("f4")
        for shape, is_int in shapes
    ]


def main():
    folder, suffix, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for number in range(count):
        kinds = PLAIN_KINDS if IS_PLAIN else KINDS
        model = kinds[number % len(kinds)](random.Random(number), number)
        set_weights(model, number)
        inputs = inputs_of(model, number)
        outputs = model(inputs if len(inputs) > 1 else inputs[0])
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        path = f"{folder}/c{number:02}{suffix}"
        model.save(path)
        named = {f"x{i}": x for i, x in enumerate(inputs)} | {f"y{i}": y for i, y in enumerate(outputs)}
        np.savez(f"{path}.npz", **{name: np.asarray(array) for name, array in named.items()})


if __name__ == "__main__":
    main()
