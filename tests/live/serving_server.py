"""Helpers: a gRPC server with models saved by TensorFlow, for the stubs of `tensorflow-serving-api`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("grpc_health", reason="pip install tfport[serve]")
import tfport
from tfport.runtime.session import Session
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.server import GrpcServer
from tfport.serve.model_catalog import ModelCatalog, VersionState, VersionStatus
from tfport.serve.servable import Servable, ThreadRunner
from tfport.serve.status import StatusCode, StatusError

apis = pytest.importorskip("tensorflow_serving.apis", reason="pip install tensorflow-serving-api")
from tensorflow_serving.apis import (  # noqa: E402
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

TYPES = [
    tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8,
    tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.string, tf.complex64, tf.complex128,
]  # fmt: skip
CLASSIFY, REGRESS = "tensorflow/serving/classify", "tensorflow/serving/regress"
LIMIT = 4 * 2**20
FEATURES = {"x": tf.io.FixedLenFeature([2], tf.float32, [3.0, 1.0])}


def echo_of(dtype: tf.DType) -> object:
    return tf.function(lambda x: {"y": tf.identity(x)}, input_signature=[tf.TensorSpec(None, dtype, "x")])


class Echo(tf.Module):
    """Returns its input, for every element type."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = {dtype.name: echo_of(dtype) for dtype in TYPES}


class Linear(tf.Module):
    """A linear layer with variables."""

    def __init__(self, bias: float) -> None:
        super().__init__()
        self.weights = tf.Variable([[1.0, -2.0], [0.5, 4.0], [3.0, 0.25]])
        self.bias = tf.Variable(bias)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        product = tf.matmul(x, self.weights)
        return {"product": product, "sum": tf.nn.softmax(product + self.bias)}


class Classifier(tf.Module):
    """Classifies and regresses Examples."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "inputs")])
    def classify(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        x = tf.io.parse_example(inputs, FEATURES)["x"]
        return {"classes": tf.tile([["cat", "dog"]], [tf.shape(x)[0], 1]), "scores": tf.nn.softmax(x)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "inputs")])
    def regress(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"outputs": tf.reduce_sum(tf.io.parse_example(inputs, FEATURES)["x"], 1)}


@dataclass
class Server:
    """A server, its stubs and its models."""

    port: int
    folders: dict[str, str]
    catalog: ModelCatalog
    reloads: list[object]
    channel: grpc.Channel

    @property
    def predictions(self) -> prediction_service_pb2_grpc.PredictionServiceStub:
        return prediction_service_pb2_grpc.PredictionServiceStub(self.channel)

    @property
    def models(self) -> model_service_pb2_grpc.ModelServiceStub:
        return model_service_pb2_grpc.ModelServiceStub(self.channel)


def save_models(root: Path) -> dict[str, str]:
    """Save the models to folders below `root`; return the folders."""
    echo, classifier = Echo(), Classifier()
    saved = {
        "echo": (echo, echo.calls),
        "linear1": (linear1 := Linear(0.0), linear1.serve),
        "linear2": (two := Linear(1.0), two.serve),
        "examples": (classifier, {"serving_default": classifier.classify, "regress": classifier.regress}),
    }
    for name, (module, signatures) in saved.items():
        tf.saved_model.save(module, str(root / name), signatures)
    return {name: str(root / name) for name in saved}


@contextmanager
def serving(folders: dict[str, str]) -> Iterator[Server]:
    """Run a gRPC server with the models."""
    loop, reloads, catalog = asyncio.new_event_loop(), [], ModelCatalog()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def reload(config: object) -> None:
        if config.model_config_list.config[0].name == "bad":
            raise StatusError(StatusCode.FAILED_PRECONDITION, "there is no such folder")
        reloads.append(config)

    with ThreadPoolExecutor(2) as pool:
        runner = ThreadRunner(pool)
        for key, folder in folders.items():
            name, version = (key[:-1], int(key[-1])) if key[-1].isdigit() else (key, 5)
            catalog.publish(Servable(name, version, Session(tfport.load(folder)), runner))
        catalog.publish(Servable("stuck", 5, Session(tfport.load(folders["linear1"])), never))
        catalog.set_labels("linear", {"stable": 1})
        catalog.set_status("linear", VersionStatus(3, VersionState.END, StatusCode.UNKNOWN, "cut off"))
        front = GrpcServer(catalog, reload=reload, options=GrpcOptions(port=0, largest_message=LIMIT))
        port = asyncio.run_coroutine_threadsafe(front.start(), loop).result()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Server(port, folders, catalog, reloads, channel)
        asyncio.run_coroutine_threadsafe(front.stop(1), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def never(*_: object) -> dict[str, np.ndarray]:
    """A runner that never answers."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError


def predict(name: str, signature: str = "", **inputs: object) -> predict_pb2.PredictRequest:
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


def refused(call: object, request: object, timeout: float = 10) -> tuple[grpc.StatusCode, str]:
    """Return the code and the message of a failing call."""
    with pytest.raises(grpc.RpcError) as error:
        call(request, timeout)
    return error.value.code(), error.value.details()
