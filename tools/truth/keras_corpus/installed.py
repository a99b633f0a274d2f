"""The Keras of an environment, behind one interface for all versions.

`Keras("tensorflow")` is tf.keras, `Keras("keras")` the package of that name.
"""

import gc
import importlib
import os

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


class Missing(Exception):
    """This release does not have it."""


class Keras:
    def __init__(self, package):
        self.tf = optional("tensorflow")
        self.module = self.tf.keras if package == "tensorflow" else importlib.import_module(package)
        self.version = self.module.__version__ if hasattr(self.module, "__version__") else package_version()
        numbers = self.version.split("-")[0].split(".")
        self.major, self.minor = int(numbers[0]), int(numbers[1])
        self.layers = self.module.layers
        if self.major == 1:
            self.Model = importlib.import_module("keras.models").Model
        else:
            self.Model = self.module.Model if hasattr(self.module, "Model") else self.module.models.Model
        self.Sequential = self.module.models.Sequential
        self.eager = self.major >= 3 or bool(package != "keras" and self.tf and self.tf.executing_eagerly())
        self.ops = getattr(self.module, "ops", None)
        self.backend = self.module.backend
        if hasattr(gc, "freeze"):
            gc.freeze()  # clear_session collects garbage: without this it walks all of TensorFlow each time

    def Input(self, shape=None, dtype=None, batch_size=None, **more):
        if batch_size:
            return self.layers.Input(
                batch_shape=(batch_size, *tuple(shape)), dtype=dtype or "float32", **more
            )
        return self.layers.Input(shape=shape, dtype=dtype or "float32", **more)

    def kind(self, name):
        """Return a class of layers."""
        places = [self.layers]
        if hasattr(self.layers, "experimental"):
            places.append(self.layers.experimental.preprocessing)
            places.append(self.layers.experimental)
        if self.tf and self.major == 2 and self.eager:
            places.append(self.tf.compat.v1.keras.layers)
        for place in places:
            if isinstance(getattr(place, name, None), type):
                return getattr(place, name)
        raise Missing("no class " + name)

    def layer(self, *kind_name, **arguments):
        (kind_name,) = kind_name  # not by its name: `name` is an argument of layers
        kind = self.kind(kind_name)
        try:
            return kind(**arguments)
        except TypeError as problem:
            raise Missing(f"{kind_name}: {problem}") from None
        except ValueError as problem:  # Keras 3 refuses unknown arguments so
            if "nrecognized keyword arguments" in str(problem) or "Invalid" in str(problem):
                raise Missing(f"{kind_name}: {problem}") from None
            raise

    def clear(self):
        self.backend.clear_session() if hasattr(self.backend, "clear_session") else None

    def shape_of(self, tensor):
        if self.major < 3 and not self.eager:
            return tuple(self.backend.int_shape(tensor))
        return tuple(tensor.shape.as_list() if hasattr(tensor.shape, "as_list") else tensor.shape)

    def dtype_of(self, tensor):
        dtype = tensor.dtype
        return dtype if isinstance(dtype, str) else dtype.base_dtype.name

    def answer(self, model, arrays):
        """Return the outputs of a model in inference, as arrays."""
        if not self.eager:
            outputs = model.predict(arrays if len(arrays) > 1 else arrays[0], batch_size=len(arrays[0]))
        else:
            tensors = [self.tensor(array) for array in arrays]
            outputs = model(tensors if len(tensors) > 1 else tensors[0], training=False)
        return [dense(output) for output in flat(outputs)]

    def tensor(self, array):
        if self.major == 3 and array.dtype.kind not in "SO":
            return self.ops.convert_to_tensor(array)
        return self.tf.constant(array)

    def weights(self, model):
        """Return the weights as pairs of a name and a value."""
        names = [getattr(weight, "path", None) or weight.name for weight in model.weights]
        return list(zip(names, model.get_weights()))  # noqa: B905

    def reset_states(self, model):
        for part in all_layers(model):
            if getattr(part, "stateful", False) and hasattr(part, "reset_states"):
                part.reset_states()
            elif getattr(part, "stateful", False) and hasattr(part, "reset_state"):
                part.reset_state()


def all_layers(model):
    for part in getattr(model, "layers", []):
        yield part
        yield from all_layers(part)
        for name in ["layer", "forward_layer", "backward_layer"]:
            if hasattr(part, name):
                yield getattr(part, name)


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def package_version():
    return importlib.import_module("keras").__version__


def flat(outputs):
    if isinstance(outputs, dict):
        return [each for key in sorted(outputs) for each in flat(outputs[key])]
    if isinstance(outputs, (list, tuple)):
        return [each for output in outputs for each in flat(output)]
    return [outputs]


def dense(output):
    """Return a tensor of any kind as an array; bfloat16, which NumPy lacks, as float32."""
    if type(output).__name__ == "SparseTensor":
        output = importlib.import_module("tensorflow").sparse.to_dense(output)
    if hasattr(output, "to_tensor"):
        output = output.to_tensor()
    array = np.asarray(output)
    return array.astype("float32") if array.dtype.name == "bfloat16" else array
