"""Run one inference: what REST and gRPC have in common between reading and writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.graph.shapes import Shape
from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.monitoring.samples import log_prediction
from tfport.serve.servable import Arrays, Servable
from tfport.serve.status import StatusCode, StatusError, invalid_argument
from tfport.serve.v2.metadata import shape_of, signature_of
from tfport.serve.v2.tensors import datatype_of
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Parameters for features that this server does not have; ignoring them would give wrong results.
_UNSUPPORTED = ("shared_memory_region", "classification")


@dataclass
class InferRequest:
    """An inference request of either protocol."""

    id: str = ""
    signature_name: str = ""
    inputs: dict[str, tuple[str, NDArray[Any]]] = field(default_factory=dict)
    """Datatype and array of each input."""
    outputs: list[str] = field(default_factory=list)
    """Requested outputs; empty means all."""

    def give(self, name: str, datatype: str, array: NDArray[Any]) -> None:
        """Add an input."""
        if name in self.inputs:
            raise invalid_argument(f"duplicate input '{name}'")
        self.inputs[name] = datatype, array

    def want(self, name: str) -> None:
        """Add a requested output."""
        if name not in self.outputs:
            self.outputs.append(name)


def reject_unsupported(parameters: Mapping[str, Any], name: str) -> None:
    """Raise if a tensor has parameters for features that this server does not have."""
    if parameter := next((p for p in _UNSUPPORTED if p in parameters), None):
        raise StatusError(StatusCode.UNIMPLEMENTED, f"'{parameter}' of tensor '{name}' is not supported")


async def infer(servable: Servable, request: InferRequest, log: RequestLog | None = None) -> Arrays:
    """Return the outputs in the requested order; the request may be logged."""
    signature = signature_of(servable, request.signature_name)
    for name, (datatype, array) in request.inputs.items():
        spec = signature.inputs.get(name)
        if spec is None:
            raise invalid_argument(f"unexpected inference input '{name}' for model '{servable.name}'")
        if len(spec.tensors) != 1:
            raise StatusError(
                StatusCode.UNIMPLEMENTED,
                f"input '{name}' is {spec.form}; the protocol supports dense tensors only",
            )
        if datatype != datatype_of(spec.dtype):
            raise invalid_argument(
                f"inference input '{name}' data-type is '{datatype}', "
                f"but model '{servable.name}' expects '{datatype_of(spec.dtype)}'"
            )
        if not spec.shape.fits(Shape(array.shape)):
            raise invalid_argument(
                f"unexpected shape for input '{name}' for model '{servable.name}'. "
                f"Expected {_sizes(shape_of(spec))}, got {_sizes(array.shape)}"
            )
    if unknown := next((name for name in request.outputs if name not in signature.outputs), None):
        raise invalid_argument(f"unexpected inference output '{unknown}' for model '{servable.name}'")
    arrays = {name: array for name, (_, array) in request.inputs.items()}
    answers = await servable.predict(signature.name, arrays, request.outputs)
    wanted = {name: answers[name] for name in request.outputs or answers}
    await log_prediction(log, servable, signature, arrays, wanted)
    return wanted


def _sizes(sizes: Sequence[int]) -> str:
    return f"[{','.join(map(str, sizes))}]"
