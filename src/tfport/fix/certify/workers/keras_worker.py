# mypy: ignore-errors
# ruff: noqa
"""Run Keras files in a Keras: `python keras_worker.py FOLDER...`.

See `worker_jobs`: only the standard library, numpy and Keras, and valid Python 3.6.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # not so with PYTHONSAFEPATH

from worker_jobs import main

PACKAGES = ("tf_keras", "keras", "tensorflow")
"""Where to look for a Keras: TensorFlow requires a package keras, so that one of them comes first."""


def start():
    for package in PACKAGES:
        try:
            module = __import__(package)
        except ImportError:
            continue
        keras = module.keras if package == "tensorflow" else module
        facts = {"runtime": package.replace("_", "-"), "version": str(module.__version__)}
        return facts, lambda job: LoadedKeras(job, keras)
    raise ImportError("no tf_keras, keras or tensorflow in this Python")


class LoadedKeras(object):
    """A Keras model that was read from a file."""

    def __init__(self, job, keras):
        self.model = keras.models.load_model(job["model"], compile=False)

    def run(self, trial, feeds):
        names = in_order(trial["inputs"], self.model, "input")
        arrays = [feeds[trial["inputs"][name]] for name in names]
        values = self.model.predict_on_batch(arrays[0] if len(arrays) == 1 else arrays)
        names = in_order(trial["outputs"], self.model, "output")
        if isinstance(values, dict):
            names, values = list(values), list(values.values())
        elif not isinstance(values, (list, tuple)):
            values = [values]
        return [(trial["outputs"][name], value, dtype(value)) for name, value in zip(names, values)]

    def close(self):
        pass


def in_order(tensors, model, kind):
    """The names of the inputs or outputs in the order of the model, if they are its names."""
    names = getattr(model, kind + "_names", None)
    if not names:
        names = [tensor.name.split(":")[0] for tensor in getattr(model, kind + "s")]
    return names if sorted(names) == sorted(tensors) else list(tensors)


def dtype(value):
    name = str(getattr(value, "dtype", "string"))
    return "string" if name == "object" or name.startswith(("|S", "<U", "|O")) else name


if __name__ == "__main__":
    main(start)
