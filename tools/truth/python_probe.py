"""Load and run models with the Python loaders of the installed TensorFlow.

    python python_probe.py < QUESTIONS

QUESTIONS is JSON: limit (seconds for each), and asked: [[loader, question]], where a question has
a path and, by signature, inputs. Prints a line of JSON for each in turn: stage ("load" or "run" if
that failed, else null), message, the signature that failed, by (what ran it, if not a signature).

TensorFlow is imported once; a fork of the process answers several questions, and if one of them
ends the process, another fork continues; if the first question of a fork ends it, that is the
answer. It must run on the Pythons of old releases, from 3.6 on.
"""

import json
import os
import re
import signal
import sys
import tempfile

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

V1 = tf.__version__.startswith("1.")
SERVE = ["serve"]
TOGETHER = 30
LONGEST = 4000
FATAL = re.compile(r"(: F |^F\d{4} |terminate called)")


def main():
    questions = json.load(sys.stdin)
    asked = questions["asked"]
    while asked:
        answers = in_a_fork(asked[:TOGETHER], questions["limit"])
        for answer in answers:
            print(json.dumps(answer), flush=True)
        asked = asked[len(answers) :]


# Some questions, one process


def in_a_fork(asked, limit):
    """Return the answers of a child process; if it ended early, the last one says how."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as log:
        child = os.fork()
        if not child:
            answer_and_exit(asked, limit, writer, log)
        os.close(writer)
        with os.fdopen(reader) as lines:
            answered = dict(json.loads(line) for line in lines)
        ended, last = os.waitpid(child, 0)[1], answered[max(answered)]
        is_complete = last["message"] or not last["stage"]
        if ended and not is_complete:
            if len(answered) > 1:
                del answered[max(answered)]  # an earlier question may be the cause: repeat it first in a fork
            else:
                last["message"] = how(ended, limit) + fatal_line(log)
    return [answered[index] for index in sorted(answered)]


def answer_and_exit(asked, limit, writer, log):
    for stream in (1, 2):
        os.dup2(log.fileno(), stream)
    with os.fdopen(writer, "w") as out:
        for index, (loader, question) in enumerate(asked):
            signal.alarm(limit)  # there is no handler, so it ends the process
            for answer in answers(loader, question):
                print(json.dumps([index, answer]), file=out, flush=True)
    os._exit(0)


def how(ended, limit):
    if not os.WIFSIGNALED(ended):
        return f"ends the process: exit code {os.WEXITSTATUS(ended)}"
    if os.WTERMSIG(ended) == signal.SIGALRM:
        return f"no answer in {limit} s"
    return f"ends the process: {signal.Signals(os.WTERMSIG(ended)).name}"


def fatal_line(log):
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()
    fatal = [line for line in lines if FATAL.search(line)]
    return f": {fatal[-1]}" if fatal else ""


def answers(loader, question):
    """Load, then run each signature; the last value is the answer."""
    answer = {"stage": "load", "message": ""}
    yield answer
    try:
        run, by = LOADERS[loader](question["path"]), {}
        for signature, inputs in sorted(question["signatures"].items()):
            answer = {"stage": "run", "message": "", "signature": signature}
            yield answer
            by = run(signature, inputs) or {}
        yield dict(by, stage=None, message="")
    except BaseException as error:  # a SystemExit is an answer too
        yield dict(answer, message=f"{type(error).__name__}: {error}"[:LONGEST])


# The loaders: each loads a model and returns a function that runs one of its signatures


def by_session(path):
    session = tf.Session(graph=tf.Graph())
    meta_graph = tf.saved_model.loader.load(session, SERVE, path)

    def run(name, inputs):
        signature = meta_graph.signature_def[name]
        feeds = {tensor: value for _, tensor, value in fed(signature, inputs)}
        session.run([name for output in signature.outputs.values() for name in parts(output)], feeds)

    return run


def by_saved_model_load(path):
    return by_signature(path, tf.saved_model.load(path))


def by_signature(path, loaded):
    def run(name, inputs):
        feeds = {k: tf.constant(value) for k, _, value in fed(signature_of(path, name), inputs)}
        loaded.signatures[name](**feeds)

    return run


def by_keras(path):
    model = tf.keras.models.load_model(path)
    if not hasattr(model, "predict"):  # not a Keras model: the object that saved_model.load returns
        return by_signature(path, model)

    def run(name, inputs):
        feeds = {k: value for k, _, value in fed(signature_of(path, name), inputs)}
        names = getattr(model, "input_names", None) or list(feeds)
        values = [feeds[n] for n in names] if set(names) == set(feeds) else list(feeds.values())
        model.predict(values[0] if len(values) == 1 else values)
        return {"by": "predict"}

    return run


LOADERS = {"python": by_session if V1 else by_saved_model_load, "keras": by_keras}


# Inputs and outputs


def parts(output):
    """Return the tensors of an output: three if sparse, several if ragged."""
    if output.WhichOneof("encoding") == "coo_sparse":
        sparse = output.coo_sparse
        return [sparse.indices_tensor_name, sparse.values_tensor_name, sparse.dense_shape_tensor_name]
    if output.WhichOneof("encoding") == "composite_tensor":
        return [part for component in output.composite_tensor.components for part in parts(component)]
    return [output.name]


def signature_of(path, name):
    saved, binary = saved_model_pb2.SavedModel(), os.path.join(path, "saved_model.pb")
    if os.path.exists(binary):
        with open(binary, "rb") as file:
            saved.ParseFromString(file.read())
    else:
        with open(binary + "txt") as file:
            text_format.Merge(file.read(), saved)
    to_serve = [g for g in saved.meta_graphs if list(g.meta_info_def.tags) == SERVE]
    return (to_serve or saved.meta_graphs)[0].signature_def[name]


def fed(signature, inputs):
    """Yield argument, tensor name and array of each input, in the signature's dtype; three if sparse."""
    for name, value in inputs.items():
        info = signature.inputs[name]
        if isinstance(value, dict):
            names = info.coo_sparse
            yield name + "_indices", names.indices_tensor_name, np.array(value["indices"], np.int64)
            yield name + "_values", names.values_tensor_name, array(info.dtype, value["values"])
            yield name + "_dense_shape", names.dense_shape_tensor_name, np.array(value["shape"], np.int64)
        else:
            yield name, info.name, array(info.dtype, value)


def array(dtype, value):
    dtype = tf.as_dtype(dtype)
    if dtype == tf.string:
        return np.array(np.array(value), object)
    return np.array(value, dtype.as_numpy_dtype)


if __name__ == "__main__":
    main()
