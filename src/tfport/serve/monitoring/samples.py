"""Log samples of requests that are not messages of TensorFlow Serving's gRPC API, as if they were.

    await log_prediction(request_log, servable, signature, inputs, outputs)

REST and the Open Inference Protocol have arrays and Examples; the records of the log are the same for all, so
that any of them can warm a model up. Nothing is converted unless the request is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfport.graph.model import Signature
from tfport.runtime.select_signature import DEFAULT
from tfport.serve.event_loop import offload
from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.servable import Arrays, Servable, size_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.formats.proto.serving_pb2 import ModelSpec


async def log_prediction(
    log: RequestLog | None, servable: Servable, signature: Signature, inputs: Arrays, outputs: Arrays
) -> None:
    """Log a Predict request with these arrays, if it is sampled."""
    if log is None or not log.should_log(servable.name):
        return
    size = size_of(inputs) + size_of(outputs)
    log.add(servable.name, "predict", *await offload(size, _prediction, servable, signature, inputs, outputs))


def log_results(
    log: RequestLog | None,
    servable: Servable,
    kind: str,
    signature: str,
    examples: NDArray[Any],
    results: Any,
) -> None:
    """Log a request with Examples, if it is sampled; `kind` is `classify` or `regress`."""
    if log is None or not log.should_log(servable.name):
        return
    from tfport.formats.proto import serving_api_pb2 as api
    from tfport.formats.proto import serving_pb2 as pb

    spec = _spec(servable, signature)
    request = pb.ClassificationRequest(model_spec=spec)  # a RegressionRequest has the same fields
    for example in examples.ravel().tolist():
        request.input.example_list.examples.add().MergeFromString(example)
    if kind == "regress":
        response = api.RegressionResponse(model_spec=spec)
        for value in results:
            response.result.regressions.add(value=value)
        log.add(servable.name, kind, request, response)
    else:
        log.add(servable.name, kind, request, _classification(spec, results))


def _classification(spec: ModelSpec, results: Sequence[Sequence[tuple[str, float]]]) -> Any:
    from tfport.formats.proto import serving_api_pb2 as api

    response = api.ClassificationResponse(model_spec=spec)
    for row in results:
        classes = response.result.classifications.add().classes
        for label, score in row:
            classes.add(label=label, score=score)
    return response


def _prediction(
    servable: Servable, signature: Signature, inputs: Arrays, outputs: Arrays
) -> tuple[bytes, bytes]:
    from tfport.formats.encoding.tensor import write_array
    from tfport.formats.proto import serving_api_pb2 as api
    from tfport.formats.proto import serving_pb2 as pb

    spec = _spec(servable, signature.name)
    request, response = pb.PredictRequest(model_spec=spec), api.PredictResponse(model_spec=spec)
    for arrays, specs, tensors in (
        (inputs, signature.inputs, request.inputs),
        (outputs, signature.outputs, response.outputs),
    ):
        for name, array in arrays.items():
            write_array(array, specs[name].dtype.base.number, tensors[name])
    return request.SerializeToString(), response.SerializeToString()


def _spec(servable: Servable, signature: str) -> ModelSpec:
    from tfport.formats.proto.serving_pb2 import ModelSpec

    spec = ModelSpec(name=servable.name, signature_name=signature or DEFAULT)
    spec.version.value = servable.version
    return spec
