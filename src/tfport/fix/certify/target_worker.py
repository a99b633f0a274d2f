# mypy: ignore-errors
# ruff: noqa
"""Run models in any TensorFlow from 1.4 on: `python target_worker.py FOLDER...`.

This runs in a process of its own, in the Python of that TensorFlow: it uses only the standard
library, numpy and tensorflow, and must be valid Python 2.7. It reads FOLDER/job.json and writes
the outputs to FOLDER, one folder after the other; `tensor_file` describes the format of tensor files.
"""

from __future__ import print_function

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# the modules next to this file are not for that Python, and some have names of its standard library
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != HERE]

import io
import json
import struct


def read_tensors(path, tf, np):
    with io.open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    tensors, at = {}, 8 + length
    for header in json.loads(data[8 : 8 + length].decode("utf-8")):
        raw = data[at : at + header["bytes"]]
        at += header["bytes"]
        if header["dtype"] == "string":
            array, start = np.empty(len(header["lengths"]), object), 0
            for i, size in enumerate(header["lengths"]):
                array[i] = raw[start : start + size]
                start += size
        else:
            array = np.frombuffer(raw, np.dtype(tf.as_dtype(header["dtype"]).as_numpy_dtype))
        tensors[header["name"]] = array.reshape(header["shape"])
    return tensors


def write_tensors(path, names, values, types, np):
    headers, blobs = [], []
    for name, value, dtype in zip(names, values, types):
        array = np.asarray(value)
        header = {"name": name, "dtype": dtype, "shape": list(array.shape)}
        if dtype == "string":
            flat = [t if isinstance(t, bytes) else t.encode("utf-8") for t in array.reshape(-1).tolist()]
            header["lengths"], raw = [len(t) for t in flat], b"".join(flat)
        else:
            raw = np.ascontiguousarray(array).tobytes()
        header["bytes"] = len(raw)
        headers.append(header)
        blobs.append(raw)
    head = json.dumps(headers).encode("utf-8")
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


def message(error):
    try:
        return "%s: %s" % (type(error).__name__, error)
    except UnicodeError:  # Python 2 with a message that is not ASCII
        return "%s: %r" % (type(error).__name__, error)


def limit_memory(size):
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    except Exception:  # not supported on this system: only time is limited
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
    with graph.as_default(), v1.Session(graph=graph) as session:
        try:
            load(job, v1, session)
        except Exception as error:
            write_text(os.path.join(folder, "load.txt"), message(error))
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
                write_text(place + ".txt", message(error))


def read_job(folder):
    with io.open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
        return json.load(file)


def main(folders):
    jobs = [read_job(folder) for folder in folders]
    limit_memory(jobs[0]["memory"])
    import numpy as np
    import tensorflow as tf

    version = getattr(tf, "__version__", None) or tf.VERSION
    python = ".".join(str(n) for n in sys.version_info[:3])
    v1 = tf
    if hasattr(tf, "compat") and hasattr(tf.compat, "v1"):
        v1 = tf.compat.v1
        if hasattr(v1, "disable_eager_execution"):
            v1.disable_eager_execution()
    for folder, job in zip(folders, jobs):
        about = json.dumps({"version": version, "python": python})
        write_text(os.path.join(folder, "about.json"), about)
        answer(folder, job, tf, v1, np)


if __name__ == "__main__":
    main(sys.argv[1:])
