"""What the makers of models share: saving, specs of inputs, random weights, and a vocabulary."""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

SEED = 7
WORDS = [
    "the", "a", "good", "bad", "film", "plot", "actor", "was", "is", "not", "very", "boring", "great", "end",
]  # fmt: skip


def weights(rng: np.random.Generator, *shape: int, scale: float = 0.3) -> np.ndarray:
    return rng.normal(0, scale, shape).astype(np.float32)


def save(path: str, module: tf.Module, call: Callable, **inputs: tf.TensorSpec) -> None:
    """A SavedModel with one signature; what the function uses hangs on the module."""
    specs = [tf.TensorSpec(spec.shape, spec.dtype, name) for name, spec in inputs.items()]
    module.call = tf.function(call, input_signature=specs)
    tf.saved_model.save(module, path, signatures={"serving_default": module.call})


def floats(*shape: int | None) -> tf.TensorSpec:
    return tf.TensorSpec(shape, tf.float32)


def integers(*shape: int | None) -> tf.TensorSpec:
    return tf.TensorSpec(shape, tf.int32)


def strings(*shape: int | None) -> tf.TensorSpec:
    return tf.TensorSpec(shape, tf.string)


def export(model: keras.Model, path: str) -> None:
    """Export a Keras model as its users do, after its statistics were moved away from zero and one."""
    rng = np.random.default_rng(SEED)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.BatchNormalization) and layer.built:
            layer.gamma.assign(rng.uniform(0.7, 1.3, layer.gamma.shape))
            layer.beta.assign(rng.uniform(-0.2, 0.2, layer.beta.shape))
            layer.moving_mean.assign(rng.uniform(-0.1, 0.1, layer.moving_mean.shape))
            layer.moving_variance.assign(rng.uniform(0.5, 1.5, layer.moving_variance.shape))
    model.export(path, verbose=False)
