"""A minimal server of this kind around TensorFlow: `python serve_tensorflow.py MODEL NAME PORT REST_PORT`.

What one writes in an afternoon, with the same libraries: one event loop (uvloop), aiohttp and grpc.aio,
orjson, and the signature of `tf.saved_model.load` in a pool of as many threads as there are cores.
"""

import asyncio
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import numpy as np
import orjson
import tensorflow as tf
import uvloop
from aiohttp import web
from tensorflow_serving.apis import predict_pb2

LARGEST = 1 << 28


class TensorFlowServer:
    """One model over REST rows and gRPC Predict."""

    def __init__(self, path: str, name: str) -> None:
        self.name, self.loaded = name, tf.saved_model.load(path)
        self.signature = self.loaded.signatures["serving_default"]
        ((self.input, self.spec),) = self.signature.structured_input_signature[1].items()
        self.pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))

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

    async def rest(self, request: web.Request) -> web.Response:
        loop, body = asyncio.get_running_loop(), await request.read()
        answer = await loop.run_in_executor(self.pool, self.rows, body)
        return web.Response(body=answer, content_type="application/json")

    async def grpc(self, data: bytes, context: object) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self.pool, self.message, data)


async def serve(path: str, name: str, port: str, rest_port: str) -> None:
    server = TensorFlowServer(path, name)
    predict = grpc.unary_unary_rpc_method_handler(server.grpc)
    front = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
    front.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("tensorflow.serving.PredictionService", {"Predict": predict})]
    )
    front.add_insecure_port(f"127.0.0.1:{port}")
    await front.start()
    app = web.Application(client_max_size=LARGEST)
    app.router.add_post(f"/v1/models/{name}:predict", server.rest)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(rest_port)).start()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await front.stop(0)
    await runner.cleanup()


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:]))
