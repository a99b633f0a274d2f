# mypy: ignore-errors
# ruff: noqa
"""Run models in any TensorFlow from 1.4 on: `python tensorflow_worker.py FOLDER...`.

See `worker_jobs`: only the standard library, numpy and tensorflow, and valid Python 2.7. Sessions have
the default options.
"""

from __future__ import print_function

import io
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # not so with PYTHONSAFEPATH

from worker_jobs import main


def start():
    import tensorflow as tf

    v1 = tf
    if hasattr(tf, "compat") and hasattr(tf.compat, "v1"):
        v1 = tf.compat.v1
        if hasattr(v1, "disable_eager_execution"):
            v1.disable_eager_execution()
    version = getattr(tf, "__version__", None) or tf.VERSION
    numpy_type = lambda name: tf.as_dtype(name).as_numpy_dtype
    return {"version": version, "numpy_type": numpy_type}, lambda job: LoadedGraph(job, v1)


class LoadedGraph(object):
    """A model in a session."""

    def __init__(self, job, v1):
        self.graph = v1.Graph()
        with self.graph.as_default():
            self.session = v1.Session(graph=self.graph)
            load(job, v1, self.session)

    def run(self, trial, feeds):
        values = self.session.run(trial["fetches"], feeds)
        types = [self.graph.get_tensor_by_name(name).dtype.base_dtype.name for name in trial["fetches"]]
        return list(zip(trial["fetches"], values, types))

    def close(self):
        self.session.close()


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


if __name__ == "__main__":
    main(start)
