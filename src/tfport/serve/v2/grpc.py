"""The Open Inference Protocol over gRPC: `inference.GRPCInferenceService`.

    GrpcServer(catalog, more=[service(catalog, ready)], files=[file_descriptor], …)

Inputs are raw bytes or typed lists, outputs are raw bytes, as in Triton. `serve.grpc` handles ports,
limits and error statuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from google.protobuf.message import Message

from tfport.formats.proto import inference_pb2 as pb
from tfport.serve.event_loop import offload
from tfport.serve.grpc.service import GrpcMethod, GrpcService, RequestedModel
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.servable import Arrays, Servable, size_of
from tfport.serve.status import invalid_argument
from tfport.serve.v2 import metadata, tensors
from tfport.serve.v2.infer import InferRequest, infer, reject_unsupported

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

PACKAGE = "inference"
SERVICE = f"{PACKAGE}.GRPCInferenceService"


def service(catalog: ModelCatalog, ready: metadata.Ready, log: RequestLog | None = None) -> GrpcService:
    """Return the service for `GrpcServer`; only inferences count as requests for a model."""
    answers = _Answers(catalog, ready, log)
    model = RequestedModel(lambda message: message.model_name, catalog.counted_as)
    table = [
        GrpcMethod("ServerLive", pb.ServerLiveRequest, answers.server_live),
        GrpcMethod("ServerReady", pb.ServerReadyRequest, answers.server_ready),
        GrpcMethod("ModelReady", pb.ModelReadyRequest, answers.model_ready),
        GrpcMethod("ServerMetadata", pb.ServerMetadataRequest, answers.server_metadata),
        GrpcMethod("ModelMetadata", pb.ModelMetadataRequest, answers.model_metadata),
        GrpcMethod("ModelInfer", pb.ModelInferRequest, answers.model_infer, model),
        GrpcMethod("RepositoryIndex", pb.RepositoryIndexRequest, answers.repository_index),
    ]
    return GrpcService(SERVICE, table)


def file_descriptor() -> FileDescriptorProto:
    """Return the descriptor for reflection, in the protocol's package instead of tfport's."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # here, as few clients ask for it

    proto = FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(proto)
    ours, theirs = f".{proto.package}.", f".{PACKAGE}."
    proto.name, proto.package = "grpc_service.proto", PACKAGE
    for method in proto.service[0].method:
        method.input_type = method.input_type.replace(ours, theirs)
        method.output_type = method.output_type.replace(ours, theirs)
    pending = list(proto.message_type)
    while pending:
        message = pending.pop()
        pending += message.nested_type
        for field in (field for field in message.field if field.type_name):
            field.type_name = field.type_name.replace(ours, theirs)
    return proto


class _Answers:
    def __init__(self, catalog: ModelCatalog, ready: metadata.Ready, log: RequestLog | None) -> None:
        self.catalog, self.is_ready, self.log = catalog, ready, log

    async def server_live(self, _: pb.ServerLiveRequest, *__: object) -> Message:
        return pb.ServerLiveResponse(live=True)

    async def server_ready(self, _: pb.ServerReadyRequest, *__: object) -> Message:
        return pb.ServerReadyResponse(ready=self.is_ready())

    async def model_ready(self, message: pb.ModelReadyRequest, *__: object) -> Message:
        return pb.ModelReadyResponse(ready=metadata.is_ready(self.catalog, message.name, message.version))

    async def server_metadata(self, _: pb.ServerMetadataRequest, *__: object) -> Message:
        return pb.ServerMetadataResponse(**metadata.server_metadata())

    async def model_metadata(self, message: pb.ModelMetadataRequest, *__: object) -> Message:
        described = metadata.model_metadata(self.catalog, message.name, message.version)
        return pb.ModelMetadataResponse(**described)

    async def repository_index(self, message: pb.RepositoryIndexRequest, *__: object) -> Message:
        rows = metadata.repository_index(self.catalog, message.ready)
        return pb.RepositoryIndexResponse(models=[pb.RepositoryIndexResponse.ModelIndex(**r) for r in rows])

    async def model_infer(self, message: pb.ModelInferRequest, size: int) -> bytes:
        servable = metadata.find(self.catalog, message.model_name, message.model_version)
        request = await offload(size, read_request, message)
        answers = await infer(servable, request, self.log)
        return await offload(size_of(answers), write_answer, servable, request.id, answers)


def read_request(message: pb.ModelInferRequest) -> InferRequest:
    """Convert a message to a request."""
    request = InferRequest(message.id, _signature_name(message.parameters))
    raw = message.raw_input_contents
    if raw and len(raw) != len(message.inputs):
        raise invalid_argument(
            f"expected {len(message.inputs)} raw_input_contents, one per input, got {len(raw)}"
        )
    for i, tensor in enumerate(message.inputs):
        name, shape = tensor.name, tensors.shape_of(tensor.shape, tensor.name)
        reject_unsupported(tensor.parameters, name)
        if raw and tensor.HasField("contents"):
            raise invalid_argument(
                f"contents field must not be specified when using raw_input_contents for '{name}'"
            )
        if raw:
            array = tensors.from_raw(tensor.datatype, shape, raw[i], name)
        else:
            array = tensors.from_contents(tensor.datatype, shape, tensor.contents, name)
        request.give(name, tensor.datatype, array)
    for wanted in message.outputs:
        reject_unsupported(wanted.parameters, wanted.name)
        request.want(wanted.name)
    return request


def write_answer(servable: Servable, id: str, answers: Arrays) -> bytes:
    """Return the message of a response, serialized."""
    response = pb.ModelInferResponse(model_name=servable.name, model_version=str(servable.version), id=id)
    for name, array in answers.items():
        datatype = tensors.answered_datatype(name, array)
        response.outputs.add(name=name, datatype=datatype, shape=array.shape)
        response.raw_output_contents.append(tensors.to_raw(array))
    return response.SerializeToString()


def _signature_name(parameters: Mapping[str, pb.InferParameter]) -> str:
    if "signature_name" not in parameters:
        return ""
    if parameters["signature_name"].WhichOneof("parameter_choice") != "string_param":
        raise invalid_argument("parameter 'signature_name' must be a string")
    return parameters["signature_name"].string_param
