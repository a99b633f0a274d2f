"""Load, allocate and run .tflite files in the interpreter of this Python; started by ask.py.

    python probe.py TASKS.json

Each task has `model`, `way` (default, plain, reference), and optionally `inputs` (.npz to feed), `outputs`
(.npz to write), `tensors` (.npz to write: every tensor) and `steps` (load, allocate, invoke). One line of
JSON per task is printed on the original standard output; what the native library prints goes to the standard
error. Works from Python 3.6.
"""

import json
import os
import sys

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
RESOLVERS = {"plain": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "reference": "BUILTIN_REF"}


def interpreter_module():
    """Return the module that has `Interpreter`, of LiteRT, of tflite-runtime or of TensorFlow."""
    try:
        from ai_edge_litert import interpreter
    except ImportError:
        try:
            from tflite_runtime import interpreter
        except ImportError:
            import tensorflow  # noqa: F401  links the Flex delegate
            from tensorflow.lite.python import interpreter
    return interpreter


def inputs_for(details, seed):
    """Return an array for each input, the same ones each time."""
    made = []
    for index, detail in enumerate(details):
        rng = np.random.RandomState(seed * 1000 + index)
        shape, kind = tuple(int(n) for n in detail["shape"]), np.dtype(detail["dtype"])
        made.append(values(rng, shape, kind))
    return made


def values(rng, shape, kind):
    if kind.kind in "OS":
        words = np.array([b"turn on the light", b"hello", b"", b"TensorFlow Lite 2", b"a b  c"])
        return words[rng.randint(0, len(words), shape)]
    if kind.kind == "b":
        return rng.randint(0, 2, shape).astype(bool)
    if kind.kind == "c":
        return (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(kind)
    if kind in (np.int8, np.uint8, np.int16):
        limits = np.iinfo(kind)
        return rng.randint(limits.min, limits.max + 1, shape).astype(kind)
    if kind.kind in "iu":
        return rng.randint(0, 5, shape).astype(kind)
    return rng.uniform(-1, 1, shape).astype(kind)


def ask(module, task):
    """Return the outcome of a task: the last step that succeeded, or the step that failed and its text."""
    outcome = {"model": task["model"], "way": task["way"], "step": "load", "ok": False}
    steps = task.get("steps", ["load", "allocate", "invoke"])
    try:
        with open(task["model"], "rb") as file:
            content = file.read()  # must outlive the interpreter: old ones do not copy it
        options = {}
        if task["way"] in RESOLVERS:
            options["experimental_op_resolver_type"] = getattr(module.OpResolverType, RESOLVERS[task["way"]])
        if task.get("tensors"):
            options["experimental_preserve_all_tensors"] = True
        interpreter = module.Interpreter(model_content=content, **options)
        if "allocate" in steps:
            outcome["step"] = "allocate"
            inputs = fed(interpreter, task)
            interpreter.allocate_tensors()
        if "invoke" in steps:
            outcome["step"] = "invoke"
            run(interpreter, inputs, task, outcome)
        outcome["ok"] = True
    except Exception as error:
        outcome["error"], outcome["text"] = type(error).__name__, str(error)
    return outcome


def fed(interpreter, task):
    """Return the inputs and give the interpreter their shapes."""
    details = interpreter.get_input_details()
    if task.get("inputs") and os.path.exists(task["inputs"]):
        with np.load(task["inputs"]) as file:
            inputs = [file[str(i)] for i in range(len(details))]
    else:
        inputs = inputs_for(details, task.get("seed", 0))
        if task.get("inputs"):
            save(task["inputs"], {str(i): a for i, a in enumerate(inputs)})
    for detail, array in zip(details, inputs):  # noqa: B905
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    return inputs


def run(interpreter, inputs, task, outcome):
    first = answers(interpreter, inputs)
    again = answers(interpreter, inputs)
    details = interpreter.get_output_details()
    outcome["inputs"] = [described(d) for d in interpreter.get_input_details()]
    outcome["outputs"] = [described(d) for d in details]
    outcome["stateful"] = not all(same(a, b) for a, b in zip(first, again))  # noqa: B905
    if task.get("tensors"):
        save(task["tensors"], all_tensors(interpreter))
    if task.get("outputs"):
        arrays = {str(i): a for i, a in enumerate(first)}
        if outcome["stateful"]:
            arrays.update({f"again.{i}": a for i, a in enumerate(again)})
        save(task["outputs"], arrays)


def all_tensors(interpreter):
    """Return every tensor of the first subgraph that has a value, by its index."""
    arrays = {}
    for detail in interpreter.get_tensor_details():
        try:
            arrays[str(detail["index"])] = np.array(interpreter.get_tensor(detail["index"]))
        except ValueError:
            continue  # a temporary tensor, or one without data
    return arrays


def answers(interpreter, inputs):
    for detail, array in zip(interpreter.get_input_details(), inputs):  # noqa: B905
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [np.array(interpreter.get_tensor(d["index"])) for d in interpreter.get_output_details()]


def same(a, b):
    return a.shape == b.shape and (
        a.tobytes() == b.tobytes() if a.dtype != object else a.tolist() == b.tolist()
    )


def described(detail):
    scales = detail.get("quantization_parameters", {})
    return {
        "name": detail["name"],
        "dtype": np.dtype(detail["dtype"]).name,
        "shape": [int(n) for n in detail["shape"]],
        "signature": [int(n) for n in detail.get("shape_signature", [])],
        "scales": [float(s) for s in scales.get("scales", [])][:8],
        "zero_points": [int(z) for z in scales.get("zero_points", [])][:8],
    }


def save(path, arrays):
    """Write a .npz without pickles: strings become fixed-size bytes."""
    plain = {k: a.astype(bytes) if a.dtype == object else a for k, a in arrays.items()}
    np.savez_compressed(path, **plain)


def main():
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with open(sys.argv[1]) as file:
        tasks = json.load(file)
    module = interpreter_module()
    for task in tasks:
        lines.write("start\n")
        lines.flush()
        lines.write(json.dumps(ask(module, task)) + "\n")
        lines.flush()


if __name__ == "__main__":
    main()
