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
        arrays = [feeds[name] for name in trial["inputs"]]
        values = self.model.predict_on_batch(arrays[0] if len(arrays) == 1 else arrays)
        if isinstance(values, dict):
            values = list(values.values())
        elif not isinstance(values, (list, tuple)):
            values = [values]
        return [(name, value, dtype(value)) for name, value in zip(trial["outputs"], values)]

    def close(self):
        pass


def dtype(value):
    name = str(getattr(value, "dtype", "string"))
    return "string" if name == "object" or name.startswith(("|S", "<U", "|O")) else name


if __name__ == "__main__":
    main(start)
