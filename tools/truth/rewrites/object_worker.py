# mypy: ignore-errors
# ruff: noqa
"""Call the signatures of a SavedModel that `tf.saved_model.load` loaded: `python object_worker.py FOLDER...`.

See `worker_jobs` of `tfport.fix.certify.workers`. It runs in the Pythons of TensorFlow 2.0 and newer.
"""

import os
import sys

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../src/tfport/fix/certify/workers")
)

from worker_jobs import main


def start():
    import tensorflow as tf

    numpy_type = lambda name: tf.as_dtype(name).as_numpy_dtype
    return {"version": tf.__version__, "numpy_type": numpy_type}, lambda job: LoadedObject(job, tf)


class LoadedObject(object):
    def __init__(self, job, tf):
        self.tf = tf
        self.model = tf.saved_model.load(job["model"], tags=job["tags"])

    def run(self, trial, feeds):
        call = self.model.signatures[trial["signature"]]
        inputs = {trial["feeds"][t]: self.tf.constant(array) for t, array in feeds.items()}
        outputs = call(**inputs)
        return [(t, outputs[n].numpy(), outputs[n].dtype.name) for t, n in trial["fetches"].items()]

    def close(self):
        self.model = None


if __name__ == "__main__":
    main(start)
