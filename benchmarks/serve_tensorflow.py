"""A minimal server around TensorFlow: `python serve_tensorflow.py MODEL NAME PORT REST_PORT`.

It runs the signature of `tf.saved_model.load`.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import orjson
import tensorflow as tf
from serve_minimal import run
from tensorflow_serving.apis import predict_pb2


class TensorFlowServer:
    """Serves one model over REST (rows) and gRPC Predict."""

    def __init__(self, path: str, name: str) -> None:
        self.name, self.loaded = name, tf.saved_model.load(path)
        self.signature = self.loaded.signatures["serving_default"]
        ((self.input, self.spec),) = self.signature.structured_input_signature[1].items()

    def run(self, array: np.ndarray) -> dict[str, np.ndarray]:
        answers = self.signature(**{self.input: tf.constant(array)})
        return {name: value.numpy() for name, value in answers.items()}

    def rows(self, body: bytes) -> bytes:
        array = np.array(orjson.loads(body)["instances"], self.spec.dtype.as_numpy_dtype)
        (answer,) = self.run(array).values()
        return orjson.dumps({"predictions": answer}, option=orjson.OPT_SERIALIZE_NUMPY)

    def message(self, data: bytes) -> bytes:
        request, response = predict_pb2.PredictRequest.FromString(data), predict_pb2.PredictResponse()
        response.model_spec.name = self.name
        for name, answer in self.run(tf.make_ndarray(request.inputs[self.input])).items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(answer))
        return response.SerializeToString()


def main(path: str, name: str, port: str, rest_port: str) -> None:
    server = TensorFlowServer(path, name)
    run(name, port, rest_port, server.rows, server.message)


if __name__ == "__main__":
    main(*sys.argv[1:])
