"""Health and reflection, the standard gRPC services."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2 as pb
from tests.serve.grpc.server import Port, serving, with_port

from tfport.serve.grpc.health import CatalogHealth, HealthService
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.v2 import grpc as v2_grpc

SERVING, NOT_SERVING = (
    health_pb2.HealthCheckResponse.ServingStatus.Value(n) for n in ("SERVING", "NOT_SERVING")
)
PREDICTION = "tensorflow.serving.PredictionService"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", SERVING),
        ("half", SERVING),
        ("broken", NOT_SERVING),
        (PREDICTION, SERVING),
        ("PredictionService", SERVING),
        ("ModelService", SERVING),
    ],
)
def test_health_of_the_server_and_of_each_model(name, expected):
    async def test(port: Port) -> None:
        stub = health_pb2_grpc.HealthStub(port.channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=name))
        assert answer.status == expected
        every = await stub.List(health_pb2.HealthListRequest())
        assert every.statuses[name].status == expected

    with_port(test)


def test_health_of_an_unknown_name_is_not_found():
    async def test(port: Port) -> None:
        stub = health_pb2_grpc.HealthStub(port.channel)
        with pytest.raises(grpc.aio.AioRpcError, match="no model or service") as error:
            await stub.Check(health_pb2.HealthCheckRequest(service="x"))
        assert error.value.code() is grpc.StatusCode.NOT_FOUND

    with_port(test)


def test_watching_clients_are_notified_of_changes():
    async def test(port: Port) -> None:
        stub = health_pb2_grpc.HealthStub(port.channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(service="half"))
        assert (await watch.read()).status == SERVING
        for version in (1, 2):
            port.catalog.withdraw("half", version)
        assert (await watch.read()).status == NOT_SERVING
        watch.cancel()

    with_port(test)


def test_a_server_is_serving_while_it_is_ready_until_it_stops():
    is_ready = False
    health = HealthService(CatalogHealth(ModelCatalog(), [PREDICTION], lambda: is_ready))

    def now(name: str = "") -> int:
        answer = asyncio.run(health.Check(health_pb2.HealthCheckRequest(service=name), None))
        return int(answer.status)

    assert (now(), now(PREDICTION)) == (NOT_SERVING, NOT_SERVING)
    is_ready = True
    assert (now(), now(PREDICTION)) == (SERVING, SERVING)
    health.stop()
    assert now() == NOT_SERVING


def pool_of(files: Iterable[bytes]) -> descriptor_pool.DescriptorPool:
    """Add files in any order, each after its dependencies."""
    left = {file.name: file for file in map(descriptor_pb2.FileDescriptorProto.FromString, files)}
    pool = descriptor_pool.DescriptorPool()
    while left:
        name = next(name for name, file in left.items() if not any(need in left for need in file.dependency))
        assert "tfport" not in str(left[name])
        pool.Add(left.pop(name))
    return pool


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_tells_the_services_by_their_real_names(version):
    async def test(port: Port) -> None:
        reflect = port.channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            pb.ServerReflectionRequest.SerializeToString,
            pb.ServerReflectionResponse.FromString,
        )

        async def ask(**what: object) -> pb.ServerReflectionResponse:
            call = reflect(iter([pb.ServerReflectionRequest(**what)]))
            return await call.read()

        listed = {service.name for service in (await ask(list_services="")).list_services_response.service}
        assert {PREDICTION, "tensorflow.serving.ModelService", "grpc.health.v1.Health"} <= listed
        # what grpcurl does: the files of a symbol, a pool of them, JSON to a message and the call itself
        answer = await ask(file_containing_symbol=PREDICTION)
        pool = pool_of(answer.file_descriptor_response.file_descriptor_proto)
        method = pool.FindServiceByName(PREDICTION).methods_by_name["Predict"]
        assert method.input_type.full_name == "tensorflow.serving.PredictRequest"
        tensor = method.input_type.fields_by_name["inputs"].message_type.fields_by_name["value"]
        assert tensor.message_type.full_name == "tensorflow.TensorProto"
        text = """{"modelSpec": {"name": "half"}, "inputs": {"x": {"dtype": "DT_FLOAT",
                  "tensorShape": {"dim": [{"size": "1"}]}, "floatVal": [2]}}}"""
        request = json_format.Parse(text, message_factory.GetMessageClass(method.input_type)())
        answered = await port.ask("Predict", request.SerializeToString())
        assert list(answered.outputs["y"].float_val) == [3.0]
        for symbol in (
            "tensorflow.serving.ModelService.GetModelStatus",
            "tensorflow.serving.SignatureDefMap",
            "tensorflow.error.Code",
            "tensorflow.Example",
            "grpc.health.v1.Health",
        ):
            assert (await ask(file_containing_symbol=symbol)).HasField("file_descriptor_response"), symbol
        assert (await ask(file_containing_symbol="tfport.x")).error_response.error_code == 5

    with_port(test)


def test_the_pool_that_all_share_has_none_of_it():
    from tfport.serve.grpc.reflection_files import real_names

    pool = real_names()
    assert pool.FindMessageTypeByName("tensorflow.serving.PredictRequest")
    for name in ("tensorflow.serving.PredictRequest", "tensorflow.TensorProto"):
        with pytest.raises(KeyError):
            descriptor_pool.Default().FindMessageTypeByName(name)


def test_both_can_be_left_out():
    async def test(port: Port) -> None:
        stub = health_pb2_grpc.HealthStub(port.channel)
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await stub.Check(health_pb2.HealthCheckRequest())
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED

    with_port(test, GrpcOptions(health=False, reflection=False))


def test_another_protocol_on_the_same_port_is_served_and_reflected():
    async def test() -> None:
        service = v2_grpc.service(catalog, lambda: True)
        async with serving(more=[service], files=[v2_grpc.file_descriptor]) as port:
            live = port.channel.unary_unary(f"/{v2_grpc.SERVICE}/ServerLive")
            assert await live(b"") == b"\x08\x01"
            reflect = port.channel.stream_stream(
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                pb.ServerReflectionRequest.SerializeToString,
                pb.ServerReflectionResponse.FromString,
            )
            asked = pb.ServerReflectionRequest(file_containing_symbol=v2_grpc.SERVICE)
            answer = await reflect(iter([asked])).read()
            assert pool_of(answer.file_descriptor_response.file_descriptor_proto)

    catalog = ModelCatalog()
    asyncio.run(test())
