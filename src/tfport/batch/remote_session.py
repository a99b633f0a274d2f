"""A model that a server runs: the processes of a machine share its one copy, such as that on a GPU.

    session = RemoteSession("localhost:8500/resnet", signature)
    session.run(["y:0"], {"x:0": array})            like a session, with the tensors of the signature

Talks to `tfport serve`, or TensorFlow Serving, by its gRPC API. A server that is away is waited for, and one
that refuses a call because it is full is asked again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error, ResourceExhausted, RunFailed
from tfport.formats.encoding.tensor import from_numpy, to_numpy
from tfport.formats.proto import serving_pb2
from tfport.formats.proto.serving_api_pb2 import PredictResponse
from tfport.graph.model import Signature

if TYPE_CHECKING:
    from numpy.typing import NDArray

ADDRESS = re.compile(r"(?P<server>(unix:.+|[^/]+))/(?P<name>[^/]+?)(@(?P<version>\d+))?")
METHOD = "/tensorflow.serving.PredictionService/Predict"
PATIENCE = 60.0
"""Seconds for a call, and for a server that is away."""
RETRIES = {
    "maxAttempts": 5, "initialBackoff": "0.2s", "maxBackoff": "5s", "backoffMultiplier": 3,
    "retryableStatusCodes": ["UNAVAILABLE"],
}  # fmt: skip
CHANNEL = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.service_config", json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": RETRIES}]})),
)


class RemoteSession:
    """Runs one signature of a model in a server."""

    def __init__(self, address: str, signature: Signature) -> None:
        match = ADDRESS.fullmatch(address)
        if match is None:
            raise Error(f"server {address!r}: expected HOST:PORT/MODEL, such as localhost:8500/resnet")
        try:
            import grpc
        except ModuleNotFoundError:
            raise Error("scoring by a server needs grpc: pip install 'tfport[batch,serve]'") from None
        self._grpc, self.address = grpc, address
        channel = grpc.insecure_channel(match["server"], options=CHANNEL)
        self._predict = channel.unary_unary(
            METHOD, serving_pb2.PredictRequest.SerializeToString, PredictResponse.FromString
        )
        self._spec = serving_pb2.ModelSpec(name=match["name"], signature_name=signature.name)
        if match["version"]:
            self._spec.version.value = int(match["version"])
        self._inputs = {spec.tensors[0]: (name, spec) for name, spec in signature.inputs.items()}
        self._outputs = {spec.tensors[0]: name for name, spec in signature.outputs.items()}

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Any]) -> list[NDArray[Any]]:
        """Compute outputs of the signature."""
        names = [self._outputs[fetch] for fetch in fetches]
        request = serving_pb2.PredictRequest(model_spec=self._spec, output_filter=names)
        for tensor, value in feeds.items():
            name, spec = self._inputs[tensor]
            request.inputs[name].CopyFrom(from_numpy(np.asarray(value), spec.dtype.base.number))
        try:
            response = self._predict(request, wait_for_ready=True, timeout=PATIENCE)
        except self._grpc.RpcError as error:
            raise self._error(error) from None
        return [to_numpy(response.outputs[name]) for name in names]

    def _error(self, error: Any) -> Error:
        codes, code, why = self._grpc.StatusCode, error.code(), error.details()
        if code == codes.RESOURCE_EXHAUSTED:
            return ResourceExhausted(why)
        if code in (codes.INVALID_ARGUMENT, codes.INTERNAL, codes.OUT_OF_RANGE, codes.FAILED_PRECONDITION):
            return RunFailed(why)
        return Error(f"{self.address}: {code.name.lower().replace('_', ' ')}: {why}")
