"""A server that does not read its requests: `python serve_bare.py MODEL NAME PORT REST_PORT`.

For any request it runs the session on the inputs of this benchmark and sends a prepared answer. It shows
the time of the session, the network and the libraries, without decoding and encoding.
"""

import sys

import numpy as np
import orjson
from serve_minimal import run

from tfport.formats.encoding.tensor import from_numpy
from tfport.formats.proto import serving_api_pb2
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.session import Session


def main(path: str, name: str, port: str, rest_port: str) -> None:
    call = Session(path, engine=make_engine("onnxruntime", None, spins=False)).signature("serving_default")
    inputs = dict(np.load(f"{path}/inputs_1.npz"))
    ((output, array),) = call(**inputs).items()
    predictions = orjson.dumps({"predictions": array}, option=orjson.OPT_SERIALIZE_NUMPY)
    response = serving_api_pb2.PredictResponse()
    response.outputs[output].CopyFrom(from_numpy(array, 1))
    message = response.SerializeToString()

    def answering(answer: bytes) -> object:
        return lambda _: (call(**inputs), answer)[1]

    run(name, port, rest_port, answering(predictions), answering(message))


if __name__ == "__main__":
    main(*sys.argv[1:])
