"""`tensorflow.serving.PredictionService`: Predict, Classify, Regress, MultiInference, GetModelMetadata.

Error codes, messages and the order of checks are TensorFlow Serving's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import perf_counter
from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.proto import serving_api_pb2 as pb
from tfport.formats.proto import serving_pb2
from tfport.formats.proto import serving_wire_pb2 as wire
from tfport.formats.saved_model.warmup import CLASSIFY, PREDICT, REGRESS
from tfport.graph.model import Signature
from tfport.runtime.select_signature import DEFAULT
from tfport.serve import classify as results
from tfport.serve.classify import input_tensor
from tfport.serve.event_loop import offload
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.service import (
    NO_CONTENTS,
    DetachedContents,
    GrpcMethod,
    GrpcService,
    RequestedModel,
)
from tfport.serve.grpc.tensors import array_of, write_tensor
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.request_checks import inputs_are_known, outputs_are_known, signature_to_predict, types_match
from tfport.serve.servable import Arrays, Servable, size_of
from tfport.serve.status import StatusCode, StatusError, invalid_argument

NAME = "tensorflow.serving.PredictionService"
SIGNATURE_DEF = "signature_def"
SIGNATURE_DEF_TYPE = "type.googleapis.com/tensorflow.serving.SignatureDefMap"
_METHODS = (PREDICT, CLASSIFY, REGRESS)


class PredictionService:
    """Answers requests with the models of a catalog."""

    def __init__(self, catalog: ModelCatalog, options: GrpcOptions) -> None:
        self._catalog, self._options = catalog, options
        self._metrics = options.observers.metrics

    def service(self) -> GrpcService:
        """Return the methods as a `GrpcService`."""
        model, first = (RequestedModel(name, self._catalog.counted_as) for name in (_model, _first_model))
        methods = [
            GrpcMethod("Predict", wire.PredictRequestWire, self.predict, model, detaches=True),
            GrpcMethod("Classify", wire.ExamplesRequestWire, self.classify, model),
            GrpcMethod("Regress", wire.ExamplesRequestWire, self.regress, model),
            GrpcMethod("MultiInference", wire.MultiInferenceRequestWire, self.multi_inference, first),
            GrpcMethod("GetModelMetadata", pb.GetModelMetadataRequest, self.metadata),
        ]
        return GrpcService(NAME, methods)

    async def predict(
        self, request: wire.PredictRequestWire, size: int, contents: DetachedContents = NO_CONTENTS
    ) -> bytes:
        """Run a signature on named tensors."""
        spec = model_spec_of(request)
        servable = servable_for(self._catalog, spec)
        signature = signature_to_predict(servable.signatures, spec.signature_name)
        if self._options.check_method and signature.method not in _METHODS:
            raise StatusError(
                StatusCode.INTERNAL,
                "Expected prediction signature method_name to be one of "
                f"{{{', '.join(_METHODS)}}}. Was: {signature.method}",
            )
        inputs_are_known(signature, request.inputs)
        began = perf_counter()
        inputs = await offload(size, _arrays, request, contents)
        decoded = perf_counter()
        outputs_are_known(signature, request.output_filter)
        wanted = list(request.output_filter) or list(signature.outputs)
        _are_dense(signature, inputs, wanted)
        types_match(signature, {name: request.inputs[name].dtype for name in inputs})
        if contents.requests > 1 and not servable.joins(signature, inputs, wanted):
            raise StatusError(StatusCode.ABORTED, "the rows of several requests cannot be joined")
        answers = await self._timed(servable, "Predict", servable.predict(signature.name, inputs, wanted))
        ran = perf_counter()
        content = self._options.tensor_content or contents.requests > 1  # a front end splits it
        written = await offload(size_of(answers), _response, servable, signature, answers, content)
        if self._metrics is not None:
            where = servable.name, servable.version, signature.name
            self._metrics.coded(*where, decoded - began, perf_counter() - ran)
        return written

    async def _timed(self, servable: Servable, api: str, answers: Awaitable[Arrays]) -> Arrays:
        began = perf_counter()
        outputs = await answers
        if self._metrics is not None:
            self._metrics.runtime(servable.name, api, perf_counter() - began)
        return outputs

    async def classify(self, request: wire.ExamplesRequestWire, size: int) -> pb.ClassificationResponse:
        """Return classes with scores for Examples."""
        spec, answers, count = await self._examined(request, "Classify", CLASSIFY)
        return pb.ClassificationResponse(model_spec=spec, result=_classes(answers, count))

    async def regress(self, request: wire.ExamplesRequestWire, size: int) -> pb.RegressionResponse:
        """Return numbers for Examples."""
        spec, answers, count = await self._examined(request, "Regress", REGRESS)
        return pb.RegressionResponse(model_spec=spec, result=_regressions(answers, count))

    async def _examined(
        self, request: wire.ExamplesRequestWire, api: str, method: str
    ) -> tuple[serving_pb2.ModelSpec, Arrays, int]:
        """Run a signature on Examples; return the ModelSpec, the outputs and the number of Examples."""
        spec = model_spec_of(request)
        servable = servable_for(self._catalog, spec)
        signature = self._signature(servable, spec.signature_name, method)
        examples = self._examples(servable, request.input)
        answers = await self._timed(servable, api, results.called(servable, signature, examples))
        return response_spec(servable, signature.name), answers, len(examples)

    async def multi_inference(
        self, request: wire.MultiInferenceRequestWire, size: int
    ) -> pb.MultiInferenceResponse:
        """Run several signatures of one model on the same Examples."""
        servable = servable_for(
            self._catalog, request.tasks[0].model_spec if request.tasks else serving_pb2.ModelSpec()
        )
        signatures = self._tasks(servable, request)
        examples = self._examples(servable, request.input)
        answers = await asyncio.gather(*(results.called(servable, chosen, examples) for chosen in signatures))
        response = pb.MultiInferenceResponse()
        for task, signature, outputs in zip(request.tasks, signatures, answers, strict=True):
            result = response.results.add(model_spec=response_spec(servable, signature.name))
            if task.method_name == CLASSIFY:
                result.classification_result.CopyFrom(_classes(outputs, len(examples)))
            else:
                result.regression_result.CopyFrom(_regressions(outputs, len(examples)))
        return response

    def _tasks(self, servable: Servable, request: wire.MultiInferenceRequestWire) -> list[Signature]:
        """Return the signature of each task."""
        signatures: dict[str, Signature] = {}
        for task in request.tasks:
            spec, name = task.model_spec, task.model_spec.signature_name or DEFAULT
            if not spec.name:
                raise invalid_argument("Found ModelSpec with an empty model name.")
            if spec.name != servable.name:
                raise invalid_argument(
                    "All ModelSpecs in a MultiInferenceRequest must access the same model name."
                )
            if name in signatures:
                raise invalid_argument(f"Duplicate evaluation of signature: {name}")
            if name not in servable.signatures:
                raise invalid_argument(f"Requested signature not found in model graph: {name}")
            if task.method_name not in (CLASSIFY, REGRESS):
                raise StatusError(
                    StatusCode.UNIMPLEMENTED, f"Unsupported signature method_name: {task.method_name}"
                )
            signatures[name] = self._signature(servable, name, task.method_name)
        return list(signatures.values())

    async def metadata(self, request: pb.GetModelMetadataRequest, size: int) -> pb.GetModelMetadataResponse:
        """Return the signatures of a model as stored in its file."""
        spec = model_spec_of(request)
        if not request.metadata_field:
            raise invalid_argument("GetModelMetadataRequest must specify at least one metadata_field")
        if unknown := next((field for field in request.metadata_field if field != SIGNATURE_DEF), None):
            raise invalid_argument(f"Metadata field {unknown} is not supported")
        servable = servable_for(self._catalog, spec)
        signatures = pb.SignatureDefMap()
        for name, signature in servable.model.meta.signature_def.items():
            signatures.signature_def[name].CopyFrom(signature)
        response = pb.GetModelMetadataResponse(model_spec=response_spec(servable))
        packed = response.metadata[SIGNATURE_DEF]
        packed.type_url, packed.value = SIGNATURE_DEF_TYPE, signatures.SerializeToString()
        return response

    def _signature(self, servable: Servable, name: str, method: str) -> Signature:
        check = self._options.check_method
        return results.signature_of_examples(servable.model, name, method, check_method=check)

    def _examples(self, servable: Servable, message: wire.InputWire) -> Any:
        examples = input_tensor(message)
        if self._metrics is not None:
            self._metrics.examples(servable.name, len(examples))
        return examples


def _response(servable: Servable, signature: Signature, answers: Arrays, content: bool) -> bytes:
    response = wire.PredictResponseWire(model_spec=response_spec(servable, signature.name))
    for name, array in answers.items():
        dtype = signature.outputs[name].dtype.base.number
        write_tensor(response.outputs[name], array, dtype, content=content)
    return response.SerializeToString()


def _arrays(request: wire.PredictRequestWire, contents: DetachedContents) -> Arrays:
    arrays: Arrays = {}
    for name in sorted(request.inputs):
        try:
            arrays[name] = array_of(request.inputs[name], contents.tensors.get(name))
        except UnreadableFile as error:
            raise invalid_argument(f"tensor parsing error: {name}: {error}") from None
    return arrays


def _are_dense(signature: Signature, inputs: Arrays, outputs: list[str]) -> None:
    """Raise if an input or output is sparse or ragged: a TensorProto holds one dense tensor."""
    for name, spec in [(n, signature.inputs[n]) for n in inputs] + [
        (n, signature.outputs[n]) for n in outputs
    ]:
        if len(spec.tensors) != 1:
            raise invalid_argument(
                f"`{name}` is {spec.form} ({len(spec.tensors)} tensors); Predict supports dense tensors only"
            )


def _classes(answers: Arrays, count: int) -> pb.ClassificationResult:
    result = pb.ClassificationResult()
    for row in results.classes_of(answers, count):
        classes = result.classifications.add().classes
        for label, score in row:
            classes.add(label=label, score=score)
    return result


def _regressions(answers: Arrays, count: int) -> pb.RegressionResult:
    result = pb.RegressionResult()
    for value in results.regressions_of(answers, count):
        result.regressions.add(value=value)
    return result


def _model(request: Any) -> str:
    name: str = request.model_spec.name
    return name


def _first_model(request: wire.MultiInferenceRequestWire) -> str:
    return request.tasks[0].model_spec.name if request.tasks else ""


# The ModelSpec of a request


def model_spec_of(request: Any) -> serving_pb2.ModelSpec:
    """Return the ModelSpec of a request; it is required."""
    if not request.HasField("model_spec"):
        raise invalid_argument("Missing ModelSpec")
    spec: serving_pb2.ModelSpec = request.model_spec
    return spec


def servable_for(catalog: ModelCatalog, spec: serving_pb2.ModelSpec) -> Servable:
    """Return the servable that a ModelSpec names."""
    if not spec.name:
        raise invalid_argument("ModelSpec has no name specified.")
    if spec.WhichOneof("version_choice") == "version_label" and not spec.version_label:
        raise invalid_argument("Unrecognized servable version label: ")
    return catalog.get(spec.name, requested_version(spec), spec.version_label)


def requested_version(spec: serving_pb2.ModelSpec) -> int | None:
    """Return the requested version number, if any."""
    return spec.version.value if spec.HasField("version") else None


def response_spec(servable: Servable, signature: str | None = None) -> serving_pb2.ModelSpec:
    """Return the ModelSpec of a response: the version used, and the signature if one was called."""
    spec = serving_pb2.ModelSpec(name=servable.name)
    spec.version.value = servable.version
    if signature is not None:
        spec.signature_name = signature or DEFAULT
    return spec
