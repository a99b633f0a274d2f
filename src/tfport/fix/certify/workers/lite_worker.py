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
    """The version in the name of the folder that pip makes: importing importlib.metadata takes long."""
    start, end = package + "-", ".dist-info"
    try:
        for name in os.listdir(os.path.dirname(os.path.dirname(sys.modules[package].__file__))):
            if name.startswith(start) and name.endswith(end):
                return name[len(start) : -len(end)]
    except Exception:  # a package in another form
        pass
    return str(getattr(sys.modules[package], "__version__", ""))  # or of another name


class LoadedFile(object):
    """A file.

    With variables, one interpreter runs all trials: each finds what the one before it assigned, as in other
    runtimes. Otherwise each trial gets a new one, so that nothing is left of another trial; one is kept for
    trials of the same shapes if the file allows it, as a new one prepares all weights again.
    """

    def __init__(self, job, module):
        if not os.path.exists(job["model"]):  # the original, if it has another format
            raise ValueError("it is no TensorFlow Lite file")
        with io.open(job["model"], "rb") as file:
            self.content = file.read()  # must outlive the interpreter: old ones do not copy it
        self.module = module
        self.keeps = job["keeps"]
        self.kept = {}
        self.with_state = self.interpreter() if job["has_state"] else None
        try:
            self.keep(self.prepared({}))
        except (RuntimeError, ValueError):
            if not self.has_open_sizes():
                raise  # otherwise: a file says 1 for an open size, where a window may need more

    def has_open_sizes(self):
        """Whether callers choose sizes of inputs; releases before 2.3 do not tell."""
        inputs = self.interpreter().get_input_details()
        return any(-1 in detail.get("shape_signature", ()) for detail in inputs)

    def run(self, trial, feeds):
        if trial.get("signature"):
            return self.run_signature(self.with_state or self.interpreter(), trial, feeds)
        shapes = {index: feeds[name].shape for name, index in trial["inputs"].items()}
        interpreter = self.kept.pop(frozenset(shapes.items()), None)
        if interpreter is None:
            self.kept.clear()  # frees its memory
            interpreter = self.prepared(shapes)
        inputs = {detail["index"] for detail in interpreter.get_input_details()}
        for name, index in trial["inputs"].items():
            if index in inputs:
                interpreter.set_tensor(index, feeds[name])
        interpreter.invoke()
        outputs = trial["outputs"].items()
        answers = [(name, interpreter.get_tensor(index), kind.lower()) for name, (index, kind) in outputs]
        self.keep(interpreter)
        return answers

    def prepared(self, shapes):
        """An interpreter with inputs of these shapes, by their indices."""
        interpreter = self.with_state or self.interpreter()
        for detail in interpreter.get_input_details():
            index, shape = detail["index"], tuple(detail["shape"])
            if shapes.get(index, shape) != shape:
                interpreter.resize_tensor_input(index, shapes[index])
        interpreter.allocate_tensors()
        return interpreter

    def interpreter(self):
        return self.module.Interpreter(model_content=self.content)

    def keep(self, interpreter):
        if self.keeps:
            shapes = {detail["index"]: tuple(detail["shape"]) for detail in interpreter.get_input_details()}
            self.kept[frozenset(shapes.items())] = interpreter

    def run_signature(self, interpreter, trial, feeds):
        runner = interpreter.get_signature_runner(trial["signature"])
        answers = runner(**{name: feeds[tensor] for tensor, name in trial["inputs"].items()})
        outputs = trial["outputs"].items()
        return [(tensor, answers[name], kind.lower()) for tensor, (name, kind) in outputs]

    def close(self):
        pass


if __name__ == "__main__":
    main(start)
