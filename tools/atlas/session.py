"""Does a release load a SavedModel, and what does it answer? Asked of its own libraries.

    python session.py PACKAGE MODEL < QUESTION

QUESTION is JSON: tags, feeds (tensor name: [dtype number, shape, elements]) and
fetches (tensor names); with no fetches the model is only loaded. Prints JSON:
stage ("load" or "run" if that failed, else null), what TensorFlow says, and the
answers in the form of the feeds. It runs in a process of its own, and needs the
standard library only.
"""

import ctypes
import itertools
import json
import math
import struct
import sys
from pathlib import Path

from native import Status, load

STRING = 7
CODES = {1: "f", 2: "d", 3: "i", 4: "B", 5: "h", 6: "b", 9: "q", 10: "?"}
"""How `struct` calls each DataType that is a number."""


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


def load_session(tf, graph, model: str, tags: list[str], status: Status) -> ctypes.c_void_p:
    options = ctypes.c_void_p(tf.TF_NewSessionOptions())
    names = (ctypes.c_char_p * len(tags))(*(tag.encode() for tag in tags))
    return ctypes.c_void_p(
        tf.TF_LoadSessionFromSavedModel(
            options, None, model.encode(), names, len(tags), graph, None, status.handle
        )
    )


def run(tf, graph, session, question: dict, status: Status) -> dict:
    """Feed, run, fetch."""
    feeds, fetches = question["feeds"], question["fetches"]
    tensors = [to_tensor(tf, *value) for value in feeds.values()]
    results = (ctypes.c_void_p * len(fetches))()
    tf.TF_SessionRun(
        session, None,
        outputs(tf, graph, feeds), (ctypes.c_void_p * len(feeds))(*tensors), len(feeds),
        outputs(tf, graph, fetches), results, len(fetches),
        None, 0, None, status.handle,
    )  # fmt: skip
    if not status.ok:
        return {}
    return {name: from_tensor(tf, ctypes.c_void_p(t)) for name, t in zip(fetches, results, strict=True)}


def outputs(tf, graph, names) -> ctypes.Array:
    """`x:0` as TensorFlow's C API names it."""
    pairs = [name.rsplit(":", 1) for name in names]
    found = [Output(tf.TF_GraphOperationByName(graph, op.encode()), int(index)) for op, index in pairs]
    return (Output * len(found))(*found)


def to_tensor(tf, dtype: int, shape: list[int], elements: list) -> int:
    content = strings(tf, elements) if dtype == STRING else numbers(dtype, elements)
    dims = (ctypes.c_int64 * len(shape))(*shape)
    tensor = tf.TF_AllocateTensor(dtype, dims, len(shape), ctypes.c_size_t(len(content)))
    ctypes.memmove(tf.TF_TensorData(ctypes.c_void_p(tensor)), content, len(content))
    return tensor


def numbers(dtype: int, elements: list) -> bytes:
    return struct.pack(f"={len(elements)}{CODES[dtype]}", *elements)


def strings(tf, elements: list[str]) -> bytes:
    """String elements as the release lays them out in a tensor; each shorter than 23 bytes."""
    encoded = [e.encode() for e in elements]
    assert max(map(len, encoded), default=0) < 23
    if hasattr(tf, "TF_StringEncode"):  # until 2.3: offsets, then each with its length before it
        parts = [bytes([len(e)]) + e for e in encoded]
        offsets = [0, *itertools.accumulate(map(len, parts))][: len(parts)]
        return struct.pack(f"={len(parts)}Q", *offsets) + b"".join(parts)
    # tstring: four times the length, then the characters, in 24 bytes
    return b"".join((bytes([len(e) << 2]) + e).ljust(24, b"\0") for e in encoded)


def from_tensor(tf, tensor: ctypes.c_void_p) -> list:
    dtype, rank = tf.TF_TensorType(tensor), tf.TF_NumDims(tensor)
    shape = [tf.TF_Dim(tensor, axis) for axis in range(rank)]
    form = f"={math.prod(shape)}{CODES[dtype]}"
    content = ctypes.string_at(tf.TF_TensorData(tensor), struct.calcsize(form))
    return [dtype, shape, list(struct.unpack(form, content))]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
