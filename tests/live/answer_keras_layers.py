"""Build cases of layers with a release of Keras, and answer with configurations and outputs.

    RELEASE_PYTHON answer_keras_layers.py CASES.json ANSWERS.npz keras|tensorflow

It runs in the Python of the release (3.6 and newer), which has no tfport; `record_keras_layers.py` calls it.
The elements of inputs and weights follow from their shapes (`tests/frontends/keras/recorded_layers.py`).
"""

import importlib
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, os.pardir, "frontends", "keras"))

import numpy as np  # noqa: E402
from layer_elements import elements, inputs_of, kind_of  # type: ignore[import-not-found]  # noqa: E402

if sys.argv[3] == "tensorflow":
    tensorflow = importlib.import_module("tensorflow")
    keras = tensorflow.keras
    numbers = tuple(int(n) for n in tensorflow.__version__.split(".")[:2])
    VERSION = keras.__version__ if numbers < (2, 6) else importlib.import_module("keras").__version__
else:
    keras = importlib.import_module("keras")
    VERSION = keras.__version__


def option(value):
    """The value of an option: tuples for lists, and layers for their configurations."""
    if isinstance(value, dict):
        return layer_of(value["class_name"], value["config"])
    if isinstance(value, list):
        inner = [option(each) for each in value]
        return inner if any(isinstance(each, dict) for each in value) else tuple(inner)
    return value


def layer_of(name, options):
    kind = getattr(keras.layers, name, None) or getattr(keras.engine, name)
    return kind(**{key: option(value) for key, value in options.items()})


def built(shapes, chain):
    """The model of a case: a layer after the other, the first on all inputs."""
    inputs = [keras.layers.Input(batch_shape=[None, *shape]) for shape in shapes]
    tensor = inputs[0] if len(inputs) == 1 else list(inputs)
    for position, (name, options) in enumerate(chain):
        if position == 0 and len(chain) > 1 and isinstance(tensor, list):
            tensor = [layer_of(name, options)(t) for t in tensor]
        else:
            tensor = layer_of(name, options)(tensor)
    return keras.models.Model(inputs, tensor)


def set_weights(model):
    """Give every weight its elements; returns their kinds and shapes by layer."""
    weights = {}
    for layer in model.layers:
        variables = list(layer.trainable_weights) + list(layer.non_trainable_weights)
        if not variables:
            continue
        kinds = [kind_of(getattr(variable, "path", None) or variable.name) for variable in variables]
        shapes = [list(array.shape) for array in layer.get_weights()]
        weights[layer.name] = [[kinds[i], shape] for i, shape in enumerate(shapes)]
        layer.set_weights([elements(shape, kinds[i], i) for i, shape in enumerate(shapes)])
    return weights


def answer(model, inputs):
    """What the model answers; Keras 3 without a compiler, as old ones of JAX get some layers wrong."""
    if VERSION.startswith("3."):
        return keras.ops.convert_to_numpy(model(inputs))
    return np.asarray(model.predict(inputs, verbose=0))


def main(cases_path, answers_path):
    with open(cases_path) as stream:
        cases = json.load(stream)
    records, arrays = {}, {}
    for name, (shapes, chain) in sorted(cases.items()):
        try:
            if hasattr(keras.backend, "clear_session"):
                keras.backend.clear_session()
            model = built(shapes, chain)
            weights = set_weights(model)
            inputs = inputs_of(shapes, chain[0][0])
            arrays[name] = answer(model, inputs if len(inputs) > 1 else inputs[0])
            records[name] = {"config": json.loads(model.to_json()), "weights": weights}
        except Exception as error:  # this release does not have the layer, or not the option
            records[name] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
    answered = {"version": VERSION, "backend": keras.backend.backend(), "cases": records}
    arrays["answered"] = np.frombuffer(json.dumps(answered).encode(), "u1")
    np.savez_compressed(answers_path, **arrays)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
