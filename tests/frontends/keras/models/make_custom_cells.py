"""Save models with RNN cells of one's own, and the answers of the Keras that saves them.

    PYTHON tests/frontends/keras/models/make_custom_cells.py FOLDER  TensorFlow 2.15, and 2.21 with Keras 3
    tar -C FOLDER -cJf tests/frontends/keras/models/custom_cells.tar.xz .

`.h5` and `.keras` files have the models, the `.npz` beside each the inputs (`x`, `s`, `c`) and the answer.
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

keras = tf.keras
IS_3 = hasattr(keras, "ops")
dot = tf.matmul


@keras.utils.register_keras_serializable("mine")
class GatedCell(keras.layers.Layer):
    """Two states of different sizes; the second is the output. Constants, if any, are added to the input."""

    def __init__(self, units, memory, **kwargs):
        super().__init__(**kwargs)
        self.units, self.memory = units, memory
        self.state_size = [memory, units]
        self.output_size = units

    def build(self, input_shape):
        size = input_shape[0][-1] if isinstance(input_shape, list) else input_shape[-1]
        self.kernel = self.add_weight(shape=(size, self.units), initializer="uniform", name="kernel")
        self.mixer = self.add_weight(shape=(self.units, self.memory), initializer="uniform", name="mixer")
        self.back = self.add_weight(shape=(self.memory, self.units), initializer="uniform", name="back")

    def step(self, inputs, states, added=None):
        memory, output = states
        total = inputs if added is None else inputs + added
        output = tf.tanh(dot(total, self.kernel) + dot(memory, self.back) + 0.5 * output)
        return output, [0.9 * memory + dot(output, self.mixer), output]

    def call(self, inputs, states, training=None):
        return self.step(inputs, states)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "memory": self.memory}


@keras.utils.register_keras_serializable("mine")
class ContextCell(GatedCell):
    def call(self, inputs, states, constants, training=None):
        return self.step(inputs, states, constants[0])


def layer(cell, **options):
    return keras.layers.RNN(cell(4, 2) if isinstance(cell, type) else cell, **options)


def models():
    x, s, c = (keras.Input(shape, name=n) for n, shape in (("x", (5, 3)), ("s", (2,)), ("c", (3,))))
    masked = keras.layers.Masking()(x)
    yield "plain", [x], layer(GatedCell, return_sequences=True)(masked)
    yield "stacked", [x], layer([keras.layers.LSTMCell(3), GatedCell(4, 2)])(x)
    if not IS_3:
        context = keras.layers.RNN(ContextCell(4, 2))
        yield "constants", [x, c], context(x, constants=c)
        first = keras.layers.Dense(4, name="first")(s)
        yield (
            "states",
            [x, s, c],
            layer(ContextCell, go_backwards=True)(x, initial_state=[s, first], constants=c),
        )
        both = keras.layers.Bidirectional(layer(ContextCell, return_sequences=True))
        yield "bidirectional", [x, c], both(masked, constants=c)


def main(folder):
    rng = np.random.default_rng(5)
    for name, inputs, output in models():
        model = keras.Model(inputs, output)
        model.set_weights([rng.standard_normal(w.shape).astype("f") * 0.7 for w in model.get_weights()])
        arrays = {t.name.split(":")[0]: rng.standard_normal((3, *t.shape[1:])).astype("f") for t in inputs}
        arrays["x"][0, 2:] = arrays["x"][1, 0] = 0
        answer = model([arrays[t.name.split(":")[0]] for t in inputs], training=False)
        release = "keras-3.15.1.keras" if IS_3 else "tensorflow-2.15.1.h5"
        path = Path(folder) / f"{name}-{release}"
        model.save(path)
        np.savez_compressed(path.with_suffix(".npz"), **arrays, answer=answer.numpy())
        print(path.name, answer.shape)


if __name__ == "__main__":
    main(sys.argv[1])
