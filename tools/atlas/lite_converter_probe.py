"""Convert graphs of many independent nodes to TensorFlow Lite; runs in the Python of one TensorFlow release.

    python lite_converter_probe.py CASES OUT

CASES is a folder of GraphDefs `NUMBER.pb` with nodes `in0`, `in1`, … and `node`. What converts is written to
OUT as `.tflite` files of many cases, whose tensors have the prefix `cNUMBER_`; what does not is listed in
`errors.json` by number. Ops that the converter does not know stay in the file as custom ops. A group of
cases that fails is split until the case that fails is alone. Works from TensorFlow 2.3 and Python 3.6 on.

    python lite_converter_probe.py --saved-model FOLDER OUT.tflite
"""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf

GROUP = 40
SKIPPED = "not in this release"


def renamed(number, data, known):
    """The nodes of a case with a prefix; None if the release does not have its op."""
    graph = tf.compat.v1.GraphDef.FromString(data)
    prefix = f"c{number}_"
    for node in graph.node:
        definition = known.get(node.op)
        if definition is None:
            return None
        attrs = {attr.name for attr in definition.attr}
        for name in [name for name in node.attr if name not in attrs]:
            del node.attr[name]
        node.name = prefix + node.name
        node.input[:] = [prefix + name for name in node.input]
    return graph


def convert(graphs):
    """The bytes of one file with all these cases."""
    whole = tf.compat.v1.GraphDef()
    for graph in graphs.values():
        whole.node.extend(graph.node)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(whole, name="")
        inputs = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        outputs = [t for n in graphs for t in graph.get_operation_by_name(f"c{n}_node").outputs]
        with tf.compat.v1.Session(graph=graph) as session:
            converter = tf.compat.v1.lite.TFLiteConverter.from_session(session, inputs, outputs)
            converter.allow_custom_ops = True
            return converter.convert()


def attempt(graphs, path):
    """Convert in a process of its own, as the converter may abort; returns the error, or None."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            data = convert(graphs)
            with open(path, "wb") as file:
                file.write(data)
            message = ""
        except BaseException as error:
            message = (str(error) or type(error).__name__)[:2000]
        os.write(write, message.encode("utf-8", "replace"))
        os._exit(0 if not message else 1)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        message = file.read().decode("utf-8", "replace")
    status = os.waitpid(child, 0)[1]
    return (message or "the converter ended the process") if status else None


def search(graphs, out, errors):
    """Convert the cases, in halves where they fail together."""
    if not graphs:
        return
    path = os.path.join(out, f"{min(graphs)}-{max(graphs)}.tflite")
    error = attempt(graphs, path)
    if error is None:
        return
    if len(graphs) == 1:
        errors[next(iter(graphs))] = error
        return
    numbers = sorted(graphs)
    half = len(numbers) // 2
    for part in (numbers[:half], numbers[half:]):
        search({n: graphs[n] for n in part}, out, errors)


def main(cases, out):
    from tensorflow.python.framework import op_def_registry

    get = getattr(op_def_registry, "get", None)
    known = {}
    graphs, errors = {}, {}
    for name in sorted(os.listdir(cases), key=lambda n: int(n.split(".")[0])):
        with open(os.path.join(cases, name), "rb") as file:
            data = file.read()
        for node in tf.compat.v1.GraphDef.FromString(data).node:
            if node.op not in known:
                known[node.op] = get(node.op)
        number = int(name.split(".")[0])
        graph = renamed(number, data, known)
        if graph is None:
            errors[number] = SKIPPED
        else:
            graphs[number] = graph
    numbers = sorted(graphs)
    for start in range(0, len(numbers), GROUP):
        search({n: graphs[n] for n in numbers[start : start + GROUP]}, out, errors)
        with open(os.path.join(out, "errors.json"), "w") as file:
            json.dump(errors, file)


def convert_saved_model(folder, path):
    """Convert a SavedModel."""
    converter = tf.lite.TFLiteConverter.from_saved_model(folder)
    converter.allow_custom_ops = True
    with open(path, "wb") as file:
        file.write(converter.convert())


if __name__ == "__main__":
    if sys.argv[1] == "--saved-model":
        convert_saved_model(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
