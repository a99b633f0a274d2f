"""Import graphs into the installed TensorFlow and run some of their tensors in a session.

    python imported_probe.py < QUESTIONS

QUESTIONS is JSON: by case, graph_def (base64), fetches and config: "" for the defaults of a session,
"pruned" for place_pruned_graph. Prints JSON: by case, the stage that failed ("load" for the import, "run",
else null) and the message. It must run on the Pythons of old releases, from 3.6 on.
"""

import base64
import json
import os
import sys

import numpy as np
import tensorflow as tf

V1 = tf if tf.__version__.startswith("1.") else tf.compat.v1
FED = {"x:0": np.zeros(2, np.float32)}
LONGEST = 300


def main():
    questions = json.load(sys.stdin)
    json.dump({case: in_a_fork(question) for case, question in questions.items()}, sys.stdout)


def in_a_fork(question):
    """Return the answer of a child process: some releases end the process instead of raising."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writer, "w") as out:
            for partial in answers(**question):
                print(json.dumps(partial), file=out, flush=True)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        last = [json.loads(line) for line in lines][-1]
    if os.waitpid(child, 0)[1]:
        last["message"] = "ends the process"
    return last


def answers(graph_def, fetches, config):
    """Yield the stage that is tried; the last value is the answer."""
    definition = V1.GraphDef()
    definition.ParseFromString(base64.b64decode(graph_def))
    stage = "load"
    yield {"stage": stage, "message": ""}
    try:
        with V1.Graph().as_default():
            V1.import_graph_def(definition, name="")
            stage = "run"
            yield {"stage": stage, "message": ""}
            options = V1.GraphOptions(place_pruned_graph=config == "pruned")
            with V1.Session(config=V1.ConfigProto(graph_options=options)) as session:
                session.run(fetches, FED)
        yield {"stage": None, "message": ""}
    except Exception as error:  # whatever TensorFlow raises is the answer
        yield {"stage": stage, "message": str(error)[:LONGEST]}


if __name__ == "__main__":
    main()
