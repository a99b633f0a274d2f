"""Write small typical models with the installed release of TensorFlow.

    python keras_models.py OUT NAME...

Each function below writes one SavedModel to OUT/NAME. Which release writes which, and what is
asked of them, is in `make_keras_models`. It must run on the Pythons of old releases, from 3.6 on.
"""

import os
import sys

import numpy as np
import tensorflow as tf

keras, layers, v1 = tf.keras, tf.keras.layers, tf.compat.v1

ROW = np.array([[0.5, -1.0, 2.0]], np.float32)


# Keras


def dense_model():
    x = keras.Input((3,), name="x")
    return keras.Model(x, layers.Dense(2, activation="relu", name="y")(x))


def trained(optimizer):
    """Return a fitted model, so that its optimizer has state."""
    model = dense_model()
    model.compile(optimizer, loss="mse", metrics=["mae"])
    model.fit(ROW, np.ones((1, 2), np.float32), verbose=0)
    return model


def functional(out):
    dense_model().save(out, save_format="tf")


def functional_adam(out):
    trained("adam").save(out, save_format="tf")


def functional_legacy_adam(out):
    trained(keras.optimizers.legacy.Adam()).save(out, save_format="tf")


def functional_sgd(out):
    trained("sgd").save(out, save_format="tf")


def functional_without_optimizer(out):
    trained("adam").save(out, save_format="tf", include_optimizer=False)


def functional_without_traces(out):
    dense_model().save(out, save_format="tf", save_traces=False)


def two_inputs(out):
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    joined = layers.Concatenate()([a, layers.Multiply()([a, b])])
    keras.Model([a, b], layers.Dense(1)(joined)).save(out, save_format="tf")


def recurrent(cell):
    return keras.Sequential([keras.Input((None, 3), name="x"), cell])


def save_without_traces(model, out):
    """A minimal Keras model with loops: one function, and the config of the layers."""
    spec = tf.TensorSpec((None, None, 3), tf.float32, name="x")
    call = tf.function(lambda x: {"y": model(x)}).get_concrete_function(spec)
    model.save(out, save_format="tf", save_traces=False, signatures={"serving_default": call})


def lstm(out):
    save_without_traces(recurrent(layers.LSTM(2)), out)


def gru_with_batch_norm(out):
    model = recurrent(layers.GRU(2))
    model.add(layers.BatchNormalization())
    save_without_traces(model, out)


def lstm_in_a_function(out):
    """The program and variables of the layer, without the layer: a tenth of the size."""
    layer, model = recurrent(layers.LSTM(2)), tf.Module()
    model.kept = layer.variables
    spec = tf.TensorSpec((None, None, 3), tf.float32, name="x")
    tf.saved_model.save(model, out, signatures=tf.function(lambda x: {"y": layer(x)}, input_signature=[spec]))


def embedding(out):
    x = keras.Input((4,), dtype="int32", name="x")
    y = layers.Dense(1)(layers.Flatten()(layers.Embedding(5, 2)(x)))
    keras.Model(x, y).save(out, save_format="tf")


def convolution(out):
    x = keras.Input((4, 4, 1), name="x")
    y = layers.Conv2D(2, 3, padding="same", use_bias=False)(x)
    keras.Model(x, layers.BatchNormalization()(y)).save(out, save_format="tf")


def lambda_layer(out):
    x = keras.Input((3,), name="x")
    keras.Model(x, layers.Lambda(lambda value: value * 2.0 + 1.0)(x)).save(out, save_format="tf")


def operators(out):
    """Operators on symbolic tensors, which each version of Keras saves differently."""
    x = keras.Input((3,), name="x")
    keras.Model(x, tf.nn.relu(x * 2.0 - 1.0)).save(out, save_format="tf")


def string_lookup(out):
    x = keras.Input((1,), dtype="string", name="x")
    lookup = layers.StringLookup(vocabulary=["boil", "fry", "bake"])
    keras.Model(x, lookup(x)).save(out, save_format="tf")


def text_vectorization(out):
    x = keras.Input((1,), dtype="string", name="x")
    words = layers.TextVectorization(max_tokens=10, output_sequence_length=4)
    words.adapt(np.array([["boil the pasta"], ["fry the egg"]]))
    keras.Model(x, words(x)).save(out, save_format="tf", save_traces=False)


class Doubling(layers.Layer):
    """A custom layer; without get_config, Keras cannot recreate it."""

    def build(self, shape):
        self.factor = self.add_weight(name="factor", shape=(), initializer="ones")

    def call(self, inputs):
        return inputs * self.factor * 2.0


class Scaling(layers.Layer):
    """With get_config and the class, Keras can recreate it."""

    def __init__(self, by=3.0, **more):
        super().__init__(**more)
        self.by = by

    def call(self, inputs):
        return inputs * self.by

    def get_config(self):
        return dict(super().get_config(), by=self.by)


class Network(keras.Model):
    """A subclassed model."""

    def __init__(self):
        super().__init__()
        self.top = layers.Dense(1)

    def call(self, inputs):
        return self.top(tf.nn.relu(inputs))


def custom_layer(out):
    x = keras.Input((3,), name="x")
    keras.Model(x, Doubling()(x)).save(out, save_format="tf")


def custom_layer_with_config(out):
    x = keras.Input((3,), name="x")
    keras.Model(x, Scaling()(x)).save(out, save_format="tf")


def subclassed(out):
    model = Network()
    model(ROW)
    model._set_inputs(ROW)
    model.save(out, save_format="tf")


def subclassed_adam(out):
    model = Network()
    model.compile("adam", "mse")
    model.fit(ROW, np.ones((1, 1), np.float32), verbose=0)
    model.save(out, save_format="tf")


# Keras 3 writes SavedModels by `export`


def exported(out):
    dense_model().export(out, verbose=False)


def exported_adam(out):
    trained("adam").export(out, verbose=False)


def exported_lstm(out):
    recurrent(layers.LSTM(2)).export(out, verbose=False)


def exported_string_lookup(out):
    x = keras.Input((1,), dtype="string", name="x")
    lookup = layers.StringLookup(vocabulary=["boil", "fry", "bake"])
    keras.Model(x, lookup(x)).export(out, verbose=False)


def saved_as_object(out):
    """A Keras 3 model saved by tf.saved_model.save."""
    tf.saved_model.save(trained("adam"), out)


# Without Keras


class Linear(tf.Module):
    def __init__(self):
        super().__init__()
        self.weights = tf.Variable(tf.ones((3, 2)), name="weights")

    @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32, name="x")])
    def __call__(self, x):
        return {"y": tf.matmul(x, self.weights)}


def module(out):
    model = Linear()
    tf.saved_model.save(model, out, signatures=model.__call__)


def module_with_optimizer(out):
    """An optimizer saved with the model that it trained."""
    model = Linear()
    model.optimizer = keras.optimizers.Adam()
    model.optimizer.apply_gradients([(tf.ones((3, 2)), model.weights)])
    tf.saved_model.save(model, out, signatures=model.__call__)


def module_with_table(out):
    names = out + ".names"
    with open(names, "w") as file:
        file.write("boil\nfry\nbake\n")
    last = tf.lookup.TextFileIndex.LINE_NUMBER, tf.lookup.TextFileIndex.WHOLE_LINE
    rows = tf.lookup.TextFileInitializer(names, tf.string, last[1], tf.int64, last[0])
    model = tf.Module()
    model.table = tf.lookup.StaticHashTable(rows, -1)
    spec = tf.TensorSpec((None,), tf.string, name="x")
    model.find = tf.function(lambda x: {"y": model.table.lookup(x)}, input_signature=[spec])
    tf.saved_model.save(model, out, signatures=model.find)
    os.remove(names)


def hub_module(out):
    """A module for TF Hub: callable, with variables and losses by name."""
    model = Linear()
    model.trainable_variables_of_hub = [model.weights]
    model.variables_of_hub = [model.weights]
    model.regularization_losses = [tf.function(lambda: tf.reduce_sum(model.weights), input_signature=[])]
    tf.saved_model.save(model, out, signatures=model.__call__)


# TensorFlow 1


def graph_of_a_line():
    x = v1.placeholder(tf.float32, (None, 3), name="x")
    weights = v1.get_variable("weights", (3, 2))
    return x, tf.matmul(x, weights, name="y")


def simple_save(out):
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = graph_of_a_line()
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, out, {"x": x}, {"y": y})


def hub_module_v1(out):
    """A MetaGraph without tags, as in the first hub modules."""
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = graph_of_a_line()
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(out)
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(session, [], {"serving_default": signature})
        builder.save()


def estimator(out):
    words = tf.feature_column.categorical_column_with_vocabulary_list("word", ["boil", "fry"])
    columns = [tf.feature_column.numeric_column("size"), tf.feature_column.indicator_column(words)]
    model = tf.estimator.DNNClassifier([2], columns, model_dir=out + ".model")
    rows = {"word": [["fry"], ["boil"]], "size": [[1.0], [2.0]]}
    model.train(lambda: tf.data.Dataset.from_tensors((rows, [0, 1])), steps=1)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        tf.feature_column.make_parse_example_spec(columns)
    )
    os.rename(model.export_saved_model(out + ".export", receiver).decode(), out)


if __name__ == "__main__":
    os.chdir(sys.argv[1])  # keep paths of this machine out of the models: tables store the name of their file
    for name in sys.argv[2:]:
        np.random.seed(0)
        v1.set_random_seed(0)
        keras.backend.clear_session()
        globals()[name](name)
