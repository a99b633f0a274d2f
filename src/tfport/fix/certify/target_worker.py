# mypy: ignore-errors
# ruff: noqa
"""A TensorFlow of any release from 1.4 on, asked for answers: `python target_worker.py FOLDER`.

This runs in a process of its own, under whatever Python that TensorFlow has: standard library,
numpy and tensorflow only, and nothing that Python 2.7 would not read. What is asked lies in
FOLDER/job.json, what comes of it is written there; the form of tensor files is that of `exchange`.
"""

from __future__ import print_function

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# the modules beside this file are not for that Python, and some are called as its own are
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != HERE]

import io
import json
import struct


def read_tensors(path, tf, np):
    with io.open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    found, at = {}, 8 + length
    for one in json.loads(data[8 : 8 + length].decode("utf-8")):
        raw = data[at : at + one["bytes"]]
        at += one["bytes"]
        if one["dtype"] == "string":
            array, start = np.empty(len(one["lengths"]), object), 0
            for i, size in enumerate(one["lengths"]):
                array[i] = raw[start : start + size]
                start += size
        else:
            array = np.frombuffer(raw, np.dtype(tf.as_dtype(one["dtype"]).as_numpy_dtype))
        found[one["name"]] = array.reshape(one["shape"])
    return found


def write_tensors(path, names, values, types, np):
    told, blobs = [], []
    for name, value, dtype in zip(names, values, types):
        array = np.asarray(value)
        one = {"name": name, "dtype": dtype, "shape": list(array.shape)}
        if dtype == "string":
            flat = [t if isinstance(t, bytes) else t.encode("utf-8") for t in array.reshape(-1).tolist()]
            one["lengths"], raw = [len(t) for t in flat], b"".join(flat)
        else:
            raw = np.ascontiguousarray(array).tobytes()
        one["bytes"] = len(raw)
        told.append(one)
        blobs.append(raw)
    head = json.dumps(told).encode("utf-8")
    with io.open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for raw in blobs:
            file.write(raw)
    os.rename(path + ".part", path)


def write_text(path, text):
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    with io.open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".part", path)


def said(error):
    try:
        return "%s: %s" % (type(error).__name__, error)
    except UnicodeError:  # Python 2, and a message that is not ASCII
        return "%s: %r" % (type(error).__name__, error)


def limit_memory(size):
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    except Exception:  # a system without: then only time is limited
        pass


def load(job, v1, session):
    if job["kind"] == "saved_model":
        loader = v1.saved_model.loader if hasattr(v1.saved_model, "loader") else v1.saved_model
        loader.load(session, job["tags"], job["model"])
    elif job["kind"] == "meta_graph":
        saver = v1.train.import_meta_graph(job["model"])
        if saver is not None and job["checkpoint"]:
            saver.restore(session, job["checkpoint"])
    else:
        graph = v1.GraphDef()
        with io.open(job["model"], "rb") as file:
            graph.ParseFromString(file.read())
        v1.import_graph_def(graph, name="")


def answer(folder, job, tf, v1, np):
    graph = v1.Graph()
    with graph.as_default():
        session = v1.Session(graph=graph)
        try:
            load(job, v1, session)
        except Exception as error:
            write_text(os.path.join(folder, "load.txt"), said(error))
            return
        write_text(os.path.join(folder, "loaded.txt"), "")
        for i, trial in enumerate(job["trials"]):
            place = os.path.join(folder, str(i))
            try:
                feeds = read_tensors(place + ".in", tf, np)
                values = session.run(trial["fetches"], feeds)
                types = [graph.get_tensor_by_name(n).dtype.base_dtype.name for n in trial["fetches"]]
                write_tensors(place + ".out", trial["fetches"], values, types, np)
            except Exception as error:
                write_text(place + ".txt", said(error))


def main(folder):
    with io.open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
        job = json.load(file)
    limit_memory(job["memory"])
    import numpy as np
    import tensorflow as tf

    version = getattr(tf, "__version__", None) or tf.VERSION
    python = ".".join(str(n) for n in sys.version_info[:3])
    write_text(os.path.join(folder, "about.json"), json.dumps({"tensorflow": version, "python": python}))
    v1 = tf
    if hasattr(tf, "compat") and hasattr(tf.compat, "v1"):
        v1 = tf.compat.v1
        if hasattr(v1, "disable_eager_execution"):
            v1.disable_eager_execution()
    answer(folder, job, tf, v1, np)


if __name__ == "__main__":
    main(sys.argv[1])
