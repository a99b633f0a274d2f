"""Load libraries with dlopen and tf.load_op_library, each in a child process, and print what happened.

    python load_probe.py < TASKS

It runs in the Python that has TensorFlow. A task is a line of JSON: `path` (the path to load),
`folder` (the working directory), `first` (a library to load before, or null), `calls` (ops to
call once it is loaded) and `user` (the user id to switch to, or null). Prints a line of JSON
for each task: the outcome of both, and what the library registered.
"""

import ctypes
import json
import os
import re
import sys
from collections import Counter

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from child_process import in_child
from google.protobuf.json_format import MessageToDict
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import kernels


def main() -> None:
    for line in sys.stdin:
        task = json.loads(line)
        answer = {
            "dlopen": in_child(lambda task=task: attempt(task, dlopen)),
            "load_op_library": in_child(lambda task=task: attempt(task, load_op_library)),
        }
        print(json.dumps(answer), flush=True)


def attempt(task: dict, load) -> dict:
    os.chdir(task["folder"])
    if task["user"] is not None:
        os.setuid(task["user"])
    try:
        return {"loads": True, "says": None, **load(task)}
    except Exception as error:
        message = error.message if isinstance(error, tf.errors.OpError) else str(error)
        return {"loads": False, "says": message, "raises": type(error).__name__}


def dlopen(task: dict) -> dict:
    if task["first"]:
        ctypes.CDLL(task["first"])
    ctypes.CDLL(task["path"])
    return {}


def load_op_library(task: dict) -> dict:
    first = tf.load_op_library(task["first"]) if task["first"] else None
    ops, known = all_ops(), all_kernels()
    module = tf.load_op_library(task["path"])
    outcome = {
        "ops": sorted((all_ops() - ops).elements()),
        "kernels": [json.loads(kernel) for kernel in sorted((all_kernels() - known).elements())],
        "module": sorted(n for n in vars(module) if f"{n}_eager_fallback" in vars(module)),
        "calls": {op: call_op(module, op) for op in task["calls"]},
    }
    return outcome | ({"calls_of_first": {op: call_op(first, op) for op in task["calls"]}} if first else {})


def all_ops() -> Counter:
    content = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    return Counter(op.name for op in op_def_pb2.OpList.FromString(content).op)


def all_kernels() -> Counter:
    """Each kernel as JSON text, which can be counted and sorted."""
    return Counter(as_json(kernel) for kernel in kernels.get_all_registered_kernels().kernel)


def as_json(kernel) -> str:
    return json.dumps(MessageToDict(kernel, preserving_proto_field_name=True), sort_keys=True)


def call_op(module, op: str) -> str | None:
    """The error message of a call of the op with floats; None if it runs."""
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
