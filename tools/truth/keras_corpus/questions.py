"""Choose two sets of inputs for a model, the second with other sizes where the model leaves them open."""

import numpy as np

SIZES = [{0: 2, 1: 5, 2: 6, 3: 5, 4: 5}, {0: 3, 1: 7, 2: 7, 3: 6, 4: 6}]


def questions(k, model, case):
    if case.feeds is not None:
        return [[np.asarray(feed) for feed in feeds] for feeds in case.feeds]
    inputs = model.inputs
    return [[random_input(k, tensor, sizes, case) for tensor in inputs] for sizes in SIZES]


def random_input(k, tensor, sizes, case):
    shape = [sizes[axis] if size is None else size for axis, size in enumerate(k.shape_of(tensor))]
    dtype = k.dtype_of(tensor)
    if case.ints or "int" in dtype:
        return np.random.randint(0, case.ints or 4, shape).astype(dtype)
    if dtype == "bool":
        return np.random.uniform(size=shape) < 0.6
    return (np.random.normal(size=shape) * 1.5).astype(dtype if dtype != "bfloat16" else "float32")
