"""Make a SavedModel of a recorded forest: `PYTHON make_forest_model.py LIBRARY NAME OUT`.

LIBRARY is `inference.so` of ydf-tf or tensorflow-decision-forests, PYTHON one with its TensorFlow, NAME a
forest with two numerical features in `tests/expected/forests.npz`.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

FORESTS = Path(__file__).parents[1] / "expected" / "forests.npz"


class Forest(tf.saved_model.experimental.TrackableResource):
    def __init__(self, op, asset):
        super().__init__()
        self._op, self._asset = op, asset
        self._initialize()

    def _create_resource(self):
        return self._op.simple_ml_create_model_resource(shared_name="forest")

    def _initialize(self):
        folder = tf.strings.regex_replace(self._asset.asset_path, "data_spec.pb$", "")
        self._op.simple_ml_load_model_from_path_with_handle(model_handle=self.resource_handle, path=folder)


class Model(tf.Module):
    def __init__(self, op, files):
        self.op, self.files = op, [tf.saved_model.Asset(str(file)) for file in files]
        self.forest = Forest(op, self.files[files.index(files[0].with_name("data_spec.pb"))])

    @tf.function(input_signature=[tf.TensorSpec((None, 2), tf.float32, "numbers")])
    def __call__(self, numbers):
        empty = tf.zeros((0,), tf.int64)
        return {
            "predictions": self.op.simple_ml_inference_op_with_handle(
                numerical_features=numbers,
                boolean_features=tf.zeros((0, 0)),
                categorical_int_features=tf.zeros((0, 0), tf.int32),
                categorical_set_int_features_values=tf.zeros((0,), tf.int32),
                categorical_set_int_features_row_splits_dim_1=empty,
                categorical_set_int_features_row_splits_dim_2=empty,
                model_handle=self.forest.resource_handle,
                dense_output_dim=1,
            )[0]
        }


def main(library, name, out):
    op, forests, start = tf.load_op_library(library), np.load(FORESTS), f"{name}/files/"
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, key[len(start) :]) for key in forests.files if key.startswith(start)]
        for file in files:
            file.write_bytes(forests[start + file.name].tobytes())
        model = Model(op, files)
        print(model(tf.zeros((2, 2))))
        tf.saved_model.save(model, out, signatures={"serving_default": model.__call__})


if __name__ == "__main__":
    main(*sys.argv[1:])
