# mypy: ignore-errors
# ruff: noqa
"""Run TensorFlow Lite files in an interpreter: `python lite_worker.py FOLDER...`.

See `worker_jobs`: only the standard library, numpy and the interpreter, and valid Python 3.6.
"""

import io
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # not so with PYTHONSAFEPATH

from worker_jobs import main

PACKAGES = (
    ("ai_edge_litert", "ai_edge_litert.interpreter"),
    ("tflite_runtime", "tflite_runtime.interpreter"),
    ("tensorflow", "tensorflow.lite.python.interpreter"),
)


def start():
    for package, module in PACKAGES:
        try:
            __import__(package)  # tensorflow links the Flex delegate
            __import__(module)
        except ImportError:
            continue
        facts = {"runtime": package.replace("_", "-"), "version": release(package)}
        return facts, lambda job: LoadedFile(job, sys.modules[module])
    raise ImportError("no ai_edge_litert, tflite_runtime or tensorflow in this Python")


def release(package):
    try:
        from importlib.metadata import version

        return version(package.replace("_", "-"))
    except Exception:  # Python 3.7 and older, or a package of another name
        return str(getattr(sys.modules[package], "__version__", ""))


class LoadedFile(object):
    """A file; each trial gets a new interpreter, so that no state is left of another trial."""

    def __init__(self, job, module):
        if not os.path.exists(job["model"]):  # the original, if it has another format
            raise ValueError("it is no TensorFlow Lite file")
        with io.open(job["model"], "rb") as file:
            self.content = file.read()  # must outlive the interpreter: old ones do not copy it
        self.module = module
        module.Interpreter(model_content=self.content).allocate_tensors()

    def run(self, trial, feeds):
        interpreter = self.module.Interpreter(model_content=self.content)
        if trial.get("signature"):
            return self.run_signature(interpreter, trial, feeds)
        shapes = {detail["index"]: tuple(detail["shape"]) for detail in interpreter.get_input_details()}
        for name, index in trial["inputs"].items():
            if index in shapes and shapes[index] != feeds[name].shape:
                interpreter.resize_tensor_input(index, feeds[name].shape)
        interpreter.allocate_tensors()
        for name, index in trial["inputs"].items():
            if index in shapes:
                interpreter.set_tensor(index, feeds[name])
        interpreter.invoke()
        outputs = trial["outputs"].items()
        return [(name, interpreter.get_tensor(index), kind.lower()) for name, (index, kind) in outputs]

    def run_signature(self, interpreter, trial, feeds):
        runner = interpreter.get_signature_runner(trial["signature"])
        answers = runner(**{name: feeds[tensor] for tensor, name in trial["inputs"].items()})
        outputs = trial["outputs"].items()
        return [(tensor, answers[name], kind.lower()) for tensor, (name, kind) in outputs]

    def close(self):
        pass


if __name__ == "__main__":
    main(start)
