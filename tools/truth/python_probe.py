"""What does this Python's TensorFlow do with a model? Asked of the loaders that people call.

    python python_probe.py < QUESTIONS

QUESTIONS is JSON: limit (seconds for each), and asked: [[loader, question]], where a question has
a path and, by signature, inputs. Prints a line of JSON for each in turn: stage ("load" or "run" if
that failed, else null), says, the signature that failed, by (what ran it, if not a signature).

TensorFlow is imported once; a copy of the process answers some questions, and where one ends it,
another copy goes on; where the first question of a copy ends it, that is the answer. It runs in
the Pythons of old releases: from 3.6 on.
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
        answers = in_a_copy(asked[:TOGETHER], questions["limit"])
        for said in answers:
            print(json.dumps(said), flush=True)
        asked = asked[len(answers) :]


# Some questions, one process


def in_a_copy(asked, limit):
    """The answers of a child process; where it ended early, how it did is the last one."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as log:
        child = os.fork()
        if not child:
            answer_and_exit(asked, limit, writer, log)
        os.close(writer)
        with os.fdopen(reader) as lines:
            told = dict(json.loads(line) for line in lines)
        ended, last = os.waitpid(child, 0)[1], told[max(told)]
        answered = last["says"] or not last["stage"]
        if ended and not answered:
            if len(told) > 1:
                del told[max(told)]  # it may be the fault of one before: ask it again, first of a copy
            else:
                last["says"] = how(ended, limit) + last_words(log)
    return [told[index] for index in sorted(told)]


def answer_and_exit(asked, limit, writer, log):
    for stream in (1, 2):
        os.dup2(log.fileno(), stream)
    with os.fdopen(writer, "w") as out:
        for index, (loader, question) in enumerate(asked):
            signal.alarm(limit)  # nobody handles it, so it ends the process wherever it is
            for said in answers(loader, question):
                print(json.dumps([index, said]), file=out, flush=True)
    os._exit(0)


def how(ended, limit):
    if not os.WIFSIGNALED(ended):
        return f"ends the process: exit code {os.WEXITSTATUS(ended)}"
    if os.WTERMSIG(ended) == signal.SIGALRM:
        return f"no answer in {limit} s"
    return f"ends the process: {signal.Signals(os.WTERMSIG(ended)).name}"


def last_words(log):
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()
    fatal = [line for line in lines if FATAL.search(line)]
    return f": {fatal[-1]}" if fatal else ""


def answers(loader, question):
    """Load, then run each signature; the last thing said is the answer."""
    said = {"stage": "load", "says": ""}
    yield said
    try:
        run, by = LOADERS[loader](question["path"]), {}
        for signature, inputs in sorted(question["signatures"].items()):
            said = {"stage": "run", "says": "", "signature": signature}
            yield said
            by = run(signature, inputs) or {}
        yield dict(by, stage=None, says="")
    except BaseException as error:  # a SystemExit would be an answer as well
        yield dict(said, says=f"{type(error).__name__}: {error}"[:LONGEST])


# The loaders: each loads a model, and gives what runs one of its signatures


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
    if not hasattr(model, "predict"):  # not a Keras model: the object that saved_model.load gives
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
    """The tensors of an output: three where it is sparse, some where it is ragged."""
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
    """The argument, tensor and array for each input, of the type that the signature says; three if sparse."""
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
