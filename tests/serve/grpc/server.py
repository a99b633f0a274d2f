"""Helpers: a gRPC server with small models, and a client without stubs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import grpc
from tests.recorded_models import path_of
from tests.serve.ports import Gate, run_with
from tests.serve.signature_models import Ends, signed

import tfport
from tfport.formats.encoding.tensor import NUMPY, from_numpy, to_numpy, type_name
from tfport.formats.proto import serving_api_pb2, serving_pb2
from tfport.formats.saved_model.warmup import PREDICT
from tfport.graph.model import Model, Signature
from tfport.runtime.session import Session
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.server import GrpcServer
from tfport.serve.model_catalog import ModelCatalog, VersionState, VersionStatus
from tfport.serve.servable import Arrays, Servable, ThreadRunner
from tfport.serve.status import StatusCode, StatusError

TYPES = [
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64", "bool", "string", "complex64", "complex128",
]  # fmt: skip
ECHO = "\n".join(
    f"x_{t} = Placeholder() {{dtype={t}, shape=(...)}}\ny_{t} = Identity(x_{t}) {{T={t}}}" for t in TYPES
)
HALF_PLUS = """
    x = Placeholder() {{dtype=float32, shape=(?)}}
    half = Const() {{dtype=float32, value=float32()[0.5]}}
    more = Const() {{dtype=float32, value=float32()[{more}]}}
    halved = Mul(x, half) {{T=float32}}
    y = AddV2(halved, more) {{T=float32}}
"""
PAIR = """
    a = Placeholder() {dtype=float32, shape=(?, 2)}
    b = Placeholder() {dtype=int64, shape=(?)}
    doubled = AddV2(a, a) {T=float32}
    next = AddV2(b, b) {T=int64}
"""
EXAMPLES = """
    serialized = Placeholder() {dtype=string, shape=(?)}
    names = Const() {dtype=string, value=string(0,)[]}
    key = Const() {dtype=string, value=string()["x"]}
    default = Const() {dtype=float32, value=float32(1,)[7.0]}
    parsed = ParseExample(serialized, names, key, default) {Nsparse=0, Ndense=1, sparse_types=[],\
 Tdense=[float32], dense_shapes=[(1)]}
    label = AsString(parsed) {T=float32}
    number = Placeholder() {dtype=float32, shape=(?)}
"""
PREDICTION, MODELS = "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"
_REQUESTS = {
    "Predict": (PREDICTION, serving_pb2.PredictRequest, serving_api_pb2.PredictResponse),
    "Classify": (PREDICTION, serving_pb2.ClassificationRequest, serving_api_pb2.ClassificationResponse),
    "Regress": (PREDICTION, serving_pb2.RegressionRequest, serving_api_pb2.RegressionResponse),
    "MultiInference": (PREDICTION, serving_pb2.MultiInferenceRequest, serving_api_pb2.MultiInferenceResponse),
    "GetModelMetadata": (
        PREDICTION, serving_api_pb2.GetModelMetadataRequest, serving_api_pb2.GetModelMetadataResponse),
    "GetModelStatus": (MODELS, serving_api_pb2.GetModelStatusRequest, serving_api_pb2.GetModelStatusResponse),
    "HandleReloadConfigRequest": (
        MODELS, serving_api_pb2.ReloadConfigRequest, serving_api_pb2.ReloadConfigResponse),
}  # fmt: skip


def examples_model(method: str = PREDICT) -> Model:
    ends = {"inputs": "serialized:0"}
    return signed(
        EXAMPLES,
        {
            "serving_default": (ends, {"classes": "label:0", "scores": "parsed:0"}),
            "only_scores": (ends, {"scores": "parsed:0"}),
            "only_classes": (ends, {"classes": "label:0"}),
            "regress": (ends, {"outputs": "parsed:0"}),
            "other_input": ({"examples": "serialized:0"}, {"scores": "parsed:0"}),
            "other_output": (ends, {"answer": "parsed:0"}),
            "two_inputs": ({**ends, "more": "number:0"}, {"scores": "parsed:0", "outputs": "parsed:0"}),
            "three_outputs": (ends, {"classes": "label:0", "scores": "parsed:0", "outputs": "parsed:0"}),
            "numbers": ({"inputs": "number:0"}, {"scores": "number:0"}),
            "texts": (ends, {"outputs": "label:0"}),
        },
        method,
    )


@cache
def sessions() -> dict[str, Session]:
    """Sessions of all models, shared by all tests."""
    half: Ends = {"x": "x:0"}, {"y": "y:0"}
    pair: Ends = {"a": "a:0", "b": "b:0"}, {"doubled": "doubled:0", "next": "next:0"}
    with_default = signed(PAIR, {"serving_default": pair})
    fill = from_numpy(to_numpy(tensor("int64", [5])), 9)
    with_default.meta.signature_def["serving_default"].defaults["b"].CopyFrom(fill)
    models = {
        "echo": signed(ECHO, {t: ({"x": f"x_{t}:0"}, {"y": f"y_{t}:0"}) for t in TYPES}),
        "half1": signed(HALF_PLUS.format(more=1.0), {"serving_default": half}),
        "half2": signed(HALF_PLUS.format(more=2.0), {"serving_default": half}),
        "pair": signed(PAIR, {"serving_default": pair}),
        "default": with_default,
        "examples": examples_model(),
        "sparse": tfport.load(path_of("sparse")),
    }
    return {name: Session(model) for name, model in models.items()}


async def fails(session: Session, signature: Signature, inputs: Any, outputs: Any) -> Arrays:
    """A runner that raises an unexpected error."""
    raise ZeroDivisionError("secret")


@dataclass
class Port:
    """A running server, and a channel to it."""

    front: GrpcServer
    catalog: ModelCatalog
    port: int
    gate: Gate
    channel: Any
    reloads: list[Any] = field(default_factory=list)

    async def ask(self, name: str, request: Any = None, *, channel: Any = None, **more: Any) -> Any:
        """Return the answer to a call; a dictionary is converted to a request, bytes are sent unchanged."""
        service, takes, gives = _REQUESTS[name]
        data = request if isinstance(request, bytes) else request_bytes(takes, request or {})
        call = (channel or self.channel).unary_unary(
            f"/{service}/{name}", response_deserializer=gives.FromString
        )
        return await call(data, **more)

    async def predict(self, model: str, inputs: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Return the arrays of an answer."""
        spec = {"name": model, **more.pop("spec", {})}
        request = {"model_spec": spec, "inputs": inputs, **more}
        response = await self.ask("Predict", request)
        return {name: to_numpy(value) for name, value in response.outputs.items()}

    async def refusal(self, name: str, request: Any = None, **more: Any) -> tuple[StatusCode, str]:
        """Return the error of a call."""
        try:
            answer = await self.ask(name, request, **more)
        except grpc.aio.AioRpcError as error:
            return StatusCode[error.code().name], error.details() or ""
        raise AssertionError(f"{name} was answered: {answer}")


def request_bytes(kind: Any, fields: Mapping[str, Any]) -> bytes:
    """Return a serialized request."""
    plain = {name: value for name, value in fields.items() if name != "inputs"}
    request = kind(**plain)
    for name, value in fields.get("inputs", {}).items():
        request.inputs[name].CopyFrom(value)
    data: bytes = request.SerializeToString()
    return data


def tensor(kind: str, values: Any) -> Any:
    """Return a TensorProto of a named type."""
    import numpy as np

    number = next(n for n in NUMPY if _name(n) == kind)
    return from_numpy(np.array(values, NUMPY[number]), number)


def _name(number: int) -> str:
    name = type_name(number).removeprefix("DT_").lower()
    return {"float": "float32", "double": "float64", "half": "float16"}.get(name, name)


def example(**features: Any) -> Any:
    """Return an Example of floats and strings."""
    out = serving_pb2.Example()
    for name, value in features.items():
        feature = out.features.feature[name]
        if isinstance(value, float):
            feature.float_list.value.append(value)
        else:
            feature.bytes_list.value.append(value)
    return out


def examples(*rows: Any) -> Any:
    return serving_pb2.Input(example_list=serving_pb2.ExampleList(examples=rows))


@asynccontextmanager
async def serving(options: GrpcOptions | None = None, **more: Any) -> AsyncIterator[Port]:
    """Models `half` 1 and 2, `gated`, `buggy` and those of `sessions`, on their own port."""
    options = options or GrpcOptions()
    options = replace(options, port=0 if options.port is not None else None)
    with ThreadPoolExecutor(2) as pool:
        runner = ThreadRunner(pool)
        gate, catalog, reloads = Gate(runner), ModelCatalog(), []
        for name, session in sessions().items():
            if not name.startswith("half"):
                catalog.publish(Servable(name, 7, session, runner))
        for version in (1, 2):
            catalog.publish(Servable("half", version, sessions()[f"half{version}"], runner))
        catalog.publish(Servable("gated", 1, sessions()["half1"], gate))
        catalog.publish(Servable("buggy", 1, sessions()["half1"], fails))
        catalog.set_labels("half", {"stable": 1})
        catalog.set_status(
            "broken", VersionStatus(3, VersionState.END, StatusCode.UNKNOWN, "the file is cut off")
        )

        async def reload(config: Any) -> None:
            if config.model_config_list.config and not config.model_config_list.config[0].base_path:
                raise StatusError(StatusCode.INVALID_ARGUMENT, "Expected model half to have a path")
            reloads.append(config)

        front = GrpcServer(catalog, reload=reload, options=options, **more)
        port = await front.start()
        try:
            address = f"127.0.0.1:{port}" if port else f"unix:{options.socket_path}"
            async with grpc.aio.insecure_channel(address) as channel:
                yield Port(front, catalog, port, gate, channel, reloads)
        finally:
            gate.open.set()
            await front.stop(5)


def with_port(
    test: Callable[[Port], Awaitable[None]], options: GrpcOptions | None = None, **more: Any
) -> None:
    """Run a test against its own server."""
    run_with(serving(options, **more), test)


X = {"x": tensor("float32", [2.0])}
HALF = {"model_spec": {"name": "half"}, "inputs": X}
GATED = {"model_spec": {"name": "gated"}, "inputs": X}


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    while not condition():
        await asyncio.sleep(0.005)


async def never(config: object) -> None:
    """A reload function that must not be called."""
    raise AssertionError
