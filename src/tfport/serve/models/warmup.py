"""Warm up a model: replay its warm-up requests.

Requests are checked as those of clients. If one fails, loading fails, as in TensorFlow Serving: during a
rollout the server then keeps the old version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from tfport.errors import UnreadableFile
from tfport.formats.encoding.tensor import to_numpy
from tfport.formats.encoding.tfrecord import read_records
from tfport.formats.files import Files
from tfport.formats.proto import serving_pb2 as pb
from tfport.formats.saved_model.warmup import CLASSIFY, MOST_REQUESTS, REGRESS, WARMUP
from tfport.graph.model import Model, Signature
from tfport.runtime.bounds.run_scope import bounded
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.session import Session
from tfport.serve.classify import INPUTS, input_tensor, outputs_of_results, signature_of_examples
from tfport.serve.request_checks import inputs_are_known, outputs_are_known, signature_to_predict, types_match
from tfport.serve.servable import run_signature
from tfport.serve.status import StatusCode, StatusError, invalid_argument

MOST_SHOWN = 256
"""Maximum bytes of a record in an error message."""
WarmupCall = tuple[Signature, dict[str, Any], list[str]]
"""A signature, its inputs by name, and the outputs to compute."""


def replay(
    session: Session, iterations: int = 1, stop: StopSignal | None = None, timeout: float | None = None
) -> int:
    """Run every warm-up request `iterations` times, each for at most `timeout` seconds; count them."""
    number = 0
    for number, log in enumerate(_logs(session.model.files), 1):
        calls = list(_calls(session.model, log))
        for call in calls * max(iterations, 1):
            with bounded(stop, timeout):
                try:
                    run_signature(session, *call)
                except StatusError as error:
                    if error.code is not StatusCode.DEADLINE_EXCEEDED:
                        raise
                    message = f"warm-up request {number} takes too long (--load_timeout_seconds): {error}"
                    raise StatusError(error.code, message) from None
    return number


def _logs(files: Files) -> Iterator[pb.PredictionLog]:
    """Read the logged requests of a model."""
    if not files.has(WARMUP):
        return
    where = files.label(WARMUP)
    try:
        for number, record in enumerate(read_records(files, WARMUP)):
            if number >= MOST_REQUESTS:
                raise invalid_argument(
                    f"Number of warmup records exceeds the maximum ({MOST_REQUESTS}) at {where}"
                )
            try:
                yield pb.PredictionLog.FromString(bytes(record))
            except DecodeError:
                text = bytes(record[:MOST_SHOWN]).decode("utf-8", "replace")
                raise invalid_argument(f"Failed to parse warmup record: {text} from {where}") from None
    except UnreadableFile as error:
        message = f"{error}. Please verify your warmup data is in TFRecord format."
        raise StatusError(StatusCode.DATA_LOSS, message) from None


def _calls(model: Model, log: pb.PredictionLog) -> Iterator[WarmupCall]:
    """Return the calls of a logged request, checked as those of a client."""
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        yield _predict(model, log.predict_log.request)
    elif kind == "classify_log":
        request = log.classify_log.request
        yield _of_examples(model, request.model_spec.signature_name, CLASSIFY, request.input)
    elif kind == "regress_log":
        examples = log.regress_log.request
        yield _of_examples(model, examples.model_spec.signature_name, REGRESS, examples.input)
    elif kind == "multi_inference_log":
        for task in log.multi_inference_log.request.tasks:
            inputs = log.multi_inference_log.request.input
            yield _of_examples(model, task.model_spec.signature_name, task.method_name, inputs)
    elif kind is not None:
        number = log.DESCRIPTOR.fields_by_name[kind].number
        raise StatusError(StatusCode.UNIMPLEMENTED, f"Unsupported log_type for warmup: {number}")


def _predict(model: Model, request: pb.PredictRequest) -> WarmupCall:
    signature = signature_to_predict(model.signatures, request.model_spec.signature_name)
    inputs_are_known(signature, request.inputs)
    outputs_are_known(signature, request.output_filter)
    types_match(signature, {name: tensor.dtype for name, tensor in request.inputs.items()})
    inputs = {name: to_numpy(tensor) for name, tensor in sorted(request.inputs.items())}
    return signature, inputs, list(request.output_filter) or list(signature.outputs)


def _of_examples(model: Model, name: str, method: str, message: pb.Input) -> WarmupCall:
    if method not in (CLASSIFY, REGRESS):
        raise StatusError(StatusCode.UNIMPLEMENTED, f"Unsupported signature method_name: {method}")
    signature = signature_of_examples(model, name, method)
    return signature, {INPUTS: input_tensor(message)}, outputs_of_results(signature)
