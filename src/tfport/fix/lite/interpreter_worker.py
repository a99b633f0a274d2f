# mypy: ignore-errors
# ruff: noqa
"""Run TensorFlow Lite files in an interpreter: `python interpreter_worker.py FOLDER...`.

This runs in a process of its own, in the Python of that interpreter: it uses only the standard library,
numpy and the interpreter, and must be valid Python 3.6. It reads FOLDER/job.json and writes the outputs to
FOLDER, one folder after the other; `tensor_file` describes the format of tensor files.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# the modules next to this file are not for that Python, and some have names of its packages
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != HERE]

import io
import json
import struct

NAMES = {"FLOAT32": "float32", "FLOAT64": "float64", "FLOAT16": "float16", "STRING": "string", "BOOL": "bool"}
"""Types of the schema that are not the lower-case name of the dtype."""


def read_tensors(path, np):
    with io.open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    tensors, at = {}, 8 + length
    for header in json.loads(data[8 : 8 + length].decode("utf-8")):
        raw = data[at : at + header["bytes"]]
        at += header["bytes"]
        if header["dtype"] == "string":
            array, start = np.empty(len(header["lengths"]), object), 0
            for i, size in enumerate(header["lengths"]):
                array[i] = raw[start : start + size]
                start += size
        else:
            array = np.frombuffer(raw, np.dtype(header["dtype"]))
        tensors[header["name"]] = array.reshape(header["shape"])
    return tensors


def write_tensors(path, tensors, np):
    headers, blobs = [], []
    for name, value, kind in tensors:
        array = np.asarray(value)
        header = {"name": name, "dtype": NAMES.get(kind, kind.lower()), "shape": list(array.shape)}
        if kind == "STRING":
            flat = [t if isinstance(t, bytes) else str(t).encode("utf-8") for t in array.reshape(-1).tolist()]
            header["lengths"], raw = [len(t) for t in flat], b"".join(flat)
        else:
            raw = np.ascontiguousarray(array).tobytes()
        header["bytes"] = len(raw)
        headers.append(header)
        blobs.append(raw)
    head = json.dumps(headers).encode("utf-8")
    with io.open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + b"".join(blobs))
    os.rename(path + ".part", path)


def write_text(path, text):
    with io.open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".part", path)


def message(error):
    return "%s: %s" % (type(error).__name__, error)


def limit_memory(size):
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    except Exception:  # not supported on this system: only time is limited
        pass


def found_interpreter():
    """The module with `Interpreter`, the name of its package and the version."""
    for package, module in (
        ("ai_edge_litert", "ai_edge_litert.interpreter"),
        ("tflite_runtime", "tflite_runtime.interpreter"),
        ("tensorflow", "tensorflow.lite.python.interpreter"),
    ):
        try:
            __import__(package)  # tensorflow links the Flex delegate
            __import__(module)
        except ImportError:
            continue
        return sys.modules[module], package.replace("_", "-"), release(package)
    raise ImportError("no ai_edge_litert, tflite_runtime or tensorflow in this Python")


def release(package):
    try:
        from importlib.metadata import version

        return version(package.replace("_", "-"))
    except Exception:  # Python 3.7 and older, or a package of another name
        return str(getattr(sys.modules[package], "__version__", ""))


def answer(folder, job, module, np):
    with io.open(job["model"], "rb") as file:
        content = file.read()  # must outlive the interpreter: old ones do not copy it
    try:
        module.Interpreter(model_content=content).allocate_tensors()
    except Exception as error:
        write_text(os.path.join(folder, "load.txt"), message(error))
        return
    write_text(os.path.join(folder, "loaded.txt"), "")
    for i, trial in enumerate(job["trials"]):
        place = os.path.join(folder, str(i))
        if trial is None:
            continue
        try:
            write_tensors(
                place + ".out", outputs(module.Interpreter(model_content=content), trial, place, np), np
            )
        except Exception as error:
            write_text(place + ".txt", message(error))


def outputs(interpreter, trial, place, np):
    """The outputs of a trial in a new interpreter, so that no state is left of another trial."""
    feeds = read_tensors(place + ".in", np)
    shapes = {detail["index"]: tuple(detail["shape"]) for detail in interpreter.get_input_details()}
    for name, index in trial["inputs"].items():
        if index in shapes and shapes[index] != feeds[name].shape:
            interpreter.resize_tensor_input(index, feeds[name].shape)
    interpreter.allocate_tensors()
    for name, index in trial["inputs"].items():
        if index in shapes:
            interpreter.set_tensor(index, feeds[name])
    interpreter.invoke()
    return [(name, interpreter.get_tensor(index), kind) for name, (index, kind) in trial["outputs"].items()]


def read_job(folder):
    with io.open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
        return json.load(file)


def main(folders):
    jobs = [read_job(folder) for folder in folders]
    limit_memory(jobs[0]["memory"])
    import numpy as np

    module, runtime, version = found_interpreter()
    python = ".".join(str(n) for n in sys.version_info[:3])
    for folder, job in zip(folders, jobs):
        about = json.dumps({"runtime": runtime, "version": version, "python": python})
        write_text(os.path.join(folder, "about.json"), about)
        answer(folder, job, module, np)


if __name__ == "__main__":
    main(sys.argv[1:])
