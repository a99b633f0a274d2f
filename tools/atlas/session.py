"""Load a SavedModel with the libraries of a release, and run it.

    python session.py PACKAGE MODEL < QUESTION

QUESTION is JSON: tags, feeds (tensor name: [dtype number, shape, elements]) and
fetches (tensor names); with no fetches the model is only loaded. Prints JSON:
stage ("load" or "run" if that failed, else null), says (TensorFlow's message), and the
answers in the format of the feeds. It runs in its own process, and needs only the
standard library.
"""

import ctypes
import json
import sys
from pathlib import Path

from native import Status, load
from tensors import from_tensor, to_tensor


class Output(ctypes.Structure):
    """TF_Output."""

    _fields_ = (("operation", ctypes.c_void_p), ("index", ctypes.c_int))


def main(package: Path, model: str) -> None:
    question = json.load(sys.stdin)
    tf = load(package)
    status, graph = Status(tf), ctypes.c_void_p(tf.TF_NewGraph())
    session = load_session(tf, graph, model, question["tags"], status)
    stage, answers = None if status.ok else "load", {}
    if status.ok and question["fetches"]:
        answers = run(tf, graph, session, question, status)
        stage = None if status.ok else "run"
    print(json.dumps({"stage": stage, "says": status.message, "answers": answers}))


def load_session(
    tf, graph, model: str, tags: list[str], status: Status, config: bytes = b""
) -> ctypes.c_void_p:
    options = session_options(tf, status, config)
    names = (ctypes.c_char_p * len(tags))(*(tag.encode() for tag in tags))
    return ctypes.c_void_p(
        tf.TF_LoadSessionFromSavedModel(
            options, None, model.encode(), names, len(tags), graph, None, status.handle
        )
    )


def session_options(tf, status: Status, config: bytes = b"") -> ctypes.c_void_p:
    """Return options with a serialized ConfigProto."""
    options = ctypes.c_void_p(tf.TF_NewSessionOptions())
    if config:
        tf.TF_SetConfig(options, config, ctypes.c_size_t(len(config)), status.handle)
    return options


def run(tf, graph, session, question: dict, status: Status) -> dict:
    """Run the session; return the answers by tensor name."""
    results = fetch(tf, graph, session, question, status)
    return {name: from_tensor(tf, ctypes.c_void_p(t)) for name, t in results.items()} if status.ok else {}


def fetch(tf, graph, session, question: dict, status: Status) -> dict[str, int]:
    """Run the session; return the resulting tensors by name."""
    feeds, fetches = question["feeds"], question["fetches"]
    tensors = [to_tensor(tf, *value) for value in feeds.values()]
    results = (ctypes.c_void_p * len(fetches))()
    tf.TF_SessionRun(
        session, None,
        outputs(tf, graph, feeds), (ctypes.c_void_p * len(feeds))(*tensors), len(feeds),
        outputs(tf, graph, fetches), results, len(fetches),
        None, 0, None, status.handle,
    )  # fmt: skip
    return dict(zip(fetches, results, strict=True))


def outputs(tf, graph, names) -> ctypes.Array:
    """Convert names such as `x:0` to TF_Output."""
    pairs = [name.rsplit(":", 1) for name in names]
    structures = [Output(tf.TF_GraphOperationByName(graph, op.encode()), int(index)) for op, index in pairs]
    return (Output * len(structures))(*structures)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
