"""Give the weights of a model random values that a wrong reader would notice."""

import numpy as np


def randomize(k, model):
    """Set each weight: variances and scales around 1, counts and states as they are, the rest around 0."""
    values = [random_value(name, value) for name, value in k.weights(model)]
    if values:
        model.set_weights(values)


def random_value(name, value):
    value, last = np.asarray(value), name.split("/")[-1]
    if value.dtype.kind != "f" or any(word in last for word in ["count", "seed", "state", "scale", "amax"]):
        return value
    if any(word in last for word in ["variance", "std", "gamma"]):
        return np.random.uniform(0.5, 1.5, value.shape).astype(value.dtype)
    return np.random.uniform(-0.7, 0.7, value.shape).astype(value.dtype)
