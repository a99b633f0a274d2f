"""What do the loader and TensorFlow say to a file? Asked of both, each time in a child process.

    python ask.py < TASKS

It runs in the Python that has TensorFlow. A task is a line of JSON: `given` (the path to
load), `folder` (where to stand), `first` (a library to load before, or null), `calls` (ops
to call once it is loaded) and `user` (the number of a user to become, or null). Prints a
line of JSON for each: what dlopen and tf.load_op_library said, and what was then there.
"""

import ctypes
import json
import os
import re
import sys
from collections import Counter

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from children import in_child
from google.protobuf.json_format import MessageToDict
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import kernels


def main() -> None:
    for line in sys.stdin:
        task = json.loads(line)
        answer = {
            "dlopen": in_child(lambda task=task: tried(task, dlopen)),
            "load_op_library": in_child(lambda task=task: tried(task, load_op_library)),
        }
        print(json.dumps(answer), flush=True)


def tried(task: dict, load) -> dict:
    os.chdir(task["folder"])
    if task["user"] is not None:
        os.setuid(task["user"])
    try:
        return {"loads": True, "says": None, **load(task)}
    except Exception as error:
        said = error.message if isinstance(error, tf.errors.OpError) else str(error)
        return {"loads": False, "says": said, "raises": type(error).__name__}


def dlopen(task: dict) -> dict:
    if task["first"]:
        ctypes.CDLL(task["first"])
    ctypes.CDLL(task["given"])
    return {}


def load_op_library(task: dict) -> dict:
    first = tf.load_op_library(task["first"]) if task["first"] else None
    ops, known = all_ops(), all_kernels()
    module = tf.load_op_library(task["given"])
    found = {
        "ops": sorted((all_ops() - ops).elements()),
        "kernels": [json.loads(kernel) for kernel in sorted((all_kernels() - known).elements())],
        "module": sorted(n for n in vars(module) if f"{n}_eager_fallback" in vars(module)),
        "calls": {op: called(module, op) for op in task["calls"]},
    }
    return found | ({"calls_of_first": {op: called(first, op) for op in task["calls"]}} if first else {})


def all_ops() -> Counter:
    content = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    return Counter(op.name for op in op_def_pb2.OpList.FromString(content).op)


def all_kernels() -> Counter:
    """Each kernel as JSON: that can be counted, and sorted."""
    found = kernels.get_all_registered_kernels().kernel
    return Counter(as_json(kernel) for kernel in found)


def as_json(kernel) -> str:
    return json.dumps(MessageToDict(kernel, preserving_proto_field_name=True), sort_keys=True)


def called(module, op: str) -> str | None:
    """What TensorFlow says when the op is called with floats; nothing if it runs."""
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", op).lower()
    try:
        function = getattr(tf.raw_ops, op, None) or getattr(module, snake)
        function(**{name: tf.constant([1.0, 2.0]) for name in arguments(function)})
    except tf.errors.OpError as error:
        return error.message
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace(module.__name__, "MODULE")


def arguments(function) -> list[str]:
    code = function.__wrapped__.__code__ if hasattr(function, "__wrapped__") else function.__code__
    return [n for n in code.co_varnames[: code.co_argcount] if n in ("x", "features", "a", "b")]


if __name__ == "__main__":
    main()
