"""Keras on each of its backends, in processes of their own: `keras_contenders.py JOB.json`."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tfport.runtime.bench import worker

BACKENDS = {"keras-tensorflow": "tensorflow", "keras-jax": "jax", "keras-torch": "torch"}


def keras_call(job: dict[str, Any]) -> worker.Call:
    """Load the file with Keras; `predict_on_batch` is its compiled call for one batch."""
    os.environ["KERAS_BACKEND"] = BACKENDS[job["contender"]]
    import keras

    model = keras.models.load_model(job["model"], compile=False)
    return lambda inputs: model.predict_on_batch(next(iter(inputs.values())))


def main(path: str) -> None:
    job = json.loads(Path(path).read_text())
    contender = worker.CONTENDERS.get(job["contender"], keras_call)
    print(json.dumps(worker.measure(job, contender)))


if __name__ == "__main__":
    main(sys.argv[1])
