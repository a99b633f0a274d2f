"""Read warm-up requests: requests in a SavedModel that a server runs after loading it.

TensorFlow Serving reads `assets.extra/tf_serving_warmup_requests`, a TFRecord file of logged
requests. `read_warmup` converts them to arrays for the inputs of a signature; callers
run them and check that the signature exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from tfport.formats.encoding.message import parse_message
from tfport.formats.encoding.tensor import to_numpy
from tfport.formats.encoding.tfrecord import read_records
from tfport.formats.files import Files
from tfport.formats.proto import serving_pb2 as pb
from tfport.startup.dataclass import dataclass

WARMUP = "assets.extra/tf_serving_warmup_requests"
MOST_REQUESTS = 1000
"""The limit of TensorFlow Serving, which refuses a model with more."""
CLASSIFY, REGRESS, PREDICT = (f"tensorflow/serving/{name}" for name in ("classify", "regress", "predict"))


@dataclass(frozen=True, slots=True)
class WarmupRequest:
    """A request: the name of a signature, empty for the default, and its inputs."""

    signature: str
    method: str
    inputs: dict[str, Any]
    """Arrays by input name; the single array of serialized Examples has the name `""`."""


def read_warmup(files: Files) -> list[WarmupRequest]:
    """The requests of a model; none if it has no such file."""
    if not files.has(WARMUP):
        return []
    where = files.label(WARMUP)
    logs = (
        parse_message(pb.PredictionLog, record, where)
        for record in read_records(files, WARMUP)
        if len(record)
    )
    return list(islice((request for log in logs for request in _requests(log)), MOST_REQUESTS))


def _requests(log: pb.PredictionLog) -> Iterator[WarmupRequest]:
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        yield _predict(log.predict_log.request)
    elif kind == "predict_streamed_log":
        yield from map(_predict, log.predict_streamed_log.request)
    elif kind == "classify_log":
        yield _of_examples(log.classify_log.request.model_spec, CLASSIFY, log.classify_log.request.input)
    elif kind == "regress_log":
        yield _of_examples(log.regress_log.request.model_spec, REGRESS, log.regress_log.request.input)
    elif kind == "multi_inference_log":
        request = log.multi_inference_log.request
        for task in request.tasks:
            yield _of_examples(task.model_spec, task.method_name, request.input)


def _predict(request: pb.PredictRequest) -> WarmupRequest:
    inputs = {name: to_numpy(tensor) for name, tensor in sorted(request.inputs.items())}
    return WarmupRequest(request.model_spec.signature_name, PREDICT, inputs)


def _of_examples(spec: pb.ModelSpec, method: str, input_proto: pb.Input) -> WarmupRequest:
    """Examples as one string tensor, as the server converts them."""
    context = b""
    examples = input_proto.example_list.examples
    if input_proto.WhichOneof("kind") == "example_list_with_context":
        context = input_proto.example_list_with_context.context.SerializeToString(deterministic=True)
        examples = input_proto.example_list_with_context.examples
    array = np.empty(len(examples), object)
    # two concatenated messages are one message with the fields of both
    array[:] = [context + example.SerializeToString(deterministic=True) for example in examples]
    return WarmupRequest(spec.signature_name, method, {"": array})
