"""Load recorded forests with the library of one release: `PYTHON answer_forests.py LIBRARY OUT.json
[FORESTS.npz]`.

LIBRARY is `inference.so` of a wheel of tensorflow-decision-forests or ydf-tf, PYTHON one with the TensorFlow
that it was built for. OUT gets, for each forest of `tests/expected/forests.npz`, `same` if the predictions
are the recorded ones, `differs`, or the first line of the error. Each forest is loaded in a process of its
own, as it may crash.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

FORESTS = Path(__file__).parents[1] / "expected" / "forests.npz"
BANKS = (
    "numerical_features",
    "boolean_features",
    "categorical_int_features",
    "categorical_set_int_features_values",
    "categorical_set_int_features_row_splits_dim_1",
    "categorical_set_int_features_row_splits_dim_2",
)


def answer(op, forests, name):
    wanted = forests[name + "/predictions"]
    inputs = [forests[f"{name}/inputs/{i}"] for i in range(len(BANKS))]
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), tf.compat.v1.Session() as session:
        start = name + "/files/"
        for key in forests.files:
            if key.startswith(start):
                Path(folder, key[len(start) :]).write_bytes(forests[key].tobytes())
        handle = op.simple_ml_create_model_resource()
        try:
            session.run(op.simple_ml_load_model_from_path_with_handle(model_handle=handle, path=folder + "/"))
            fed = [tf.compat.v1.placeholder(tf.as_dtype(bank.dtype)) for bank in inputs]
            node = op.simple_ml_inference_op_with_handle(
                **dict(zip(BANKS, fed)),  # noqa: B905  Python 3.8
                model_handle=handle,
                dense_output_dim=wanted.shape[1],
            )
            found = session.run(node, dict(zip(fed, inputs)))[0]  # noqa: B905
        except tf.errors.OpError as error:
            return " ".join(error.message.split())[-300:]
    same = np.allclose(found, wanted, rtol=1e-5, atol=1e-6, equal_nan=True)
    return "same" if same else "differs"


def outcome(op, forests, name):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, answer(op, forests, name).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(child, 0)
    return text or "crash"


def main(library, out, path=FORESTS):
    op, forests = tf.load_op_library(library), np.load(path)
    names = sorted({key.split("/")[0] for key in forests.files if key.endswith("/predictions")})
    found = {name: outcome(op, forests, name) for name in names}
    Path(out).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
