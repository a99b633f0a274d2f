"""OpenVINO on the CPU, always in float32; optional (`pip install tfport[openvino]`)."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import Error
from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.bounds.stop_signal import NEVER
from tfport.runtime.engines.engine import CPU_FORM, NO_HINTS, Compiled, EngineFailed, IslandHints
from tfport.runtime.profile.recorder import current_recorder
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FLOAT32 = {"INFERENCE_PRECISION_HINT": "f32"}
FUSES_PRELU = platform.machine() in ("x86_64", "AMD64")
"""Whether OpenVINO gets PRelu, which it computes together with the node before it. On ARM64 the answers are
wrong if that is a sum, a product or a maximum (OpenVINO 2026.4)."""


class OpenVino:
    """Compiles the same islands; asks ONNX Runtime which nodes are supported, as its kernels are a subset."""

    name = "OpenVINO"
    checks_indices = False
    on_device = False
    form = CPU_FORM
    rival = None

    def __init__(self, threads: int | None = None) -> None:
        try:
            import openvino
        except ImportError:
            raise Error("OpenVINO is not installed: pip install 'tfport[openvino]'") from None
        from tfport.runtime.engines.onnx_runtime import OnnxRuntime

        self._core = openvino.Core()
        self._options = _FLOAT32 | ({"INFERENCE_NUM_THREADS": str(threads)} if threads else {})
        self._onnx_runtime = OnnxRuntime(threads)
        self.threads = self._onnx_runtime.threads

    def takes(self, node: OnnxNode) -> bool:
        """Not a loop that may never end: OpenVINO looks at a request to stop only between two nodes."""
        if node.op == "Loop" and node.inputs[0] is None:
            return False
        return self._onnx_runtime.takes(node)

    def has_kernel(self, node: OnnxNode) -> bool:
        return self.takes(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        if hints.with_prelus is not None and FUSES_PRELU:
            whole = hints.with_prelus()
            model, weights = whole.model.SerializeToString(), whole.weights
        try:
            read = self._core.read_model(_with_weights(model, weights))
            compiled = self._core.compile_model(read, "CPU", self._options)
            places = [compiled.output(name) for name in outputs]
            compiled.create_infer_request()  # some models fail only here
        except RuntimeError as error:
            raise Error(f"OpenVINO rejects the model that tfport made: {_sentence(error)}") from None
        fed = list(inputs)

        def run(arrays: Sequence[Any]) -> Sequence[Any]:
            # what it shares must be writable, which its own outputs are not
            fed_arrays = [a if a.flags.writeable else a.copy() for a in arrays]
            request = compiled.create_infer_request()  # one per call: several threads may call at once
            scope = current_scope()
            signal = scope.stop if scope is not None else NEVER
            if scope is not None:
                signal.handle(request, lambda: (request, request.cancel))
            try:
                results = request.infer(dict(zip(fed, fed_arrays, strict=True)), share_inputs=True)
            except RuntimeError as error:
                signal.check()
                raise EngineFailed(_sentence(error)) from None
            finally:
                signal.forget(request)
            if (recorder := current_recorder()) is not None:
                recorder.engine_time(request.latency / 1e3)
            return [results[place] for place in places]

        return run


def _with_weights(model: bytes, weights: Mapping[str, NDArray[Any]]) -> bytes:
    """The model with its constants inside: OpenVINO cannot take them from memory."""
    whole = pb.ModelProto.FromString(model)
    for tensor in whole.graph.initializer:
        if tensor.name in weights:
            tensor.raw_data = weights[tensor.name].tobytes()
            tensor.data_location = pb.TensorProto.DEFAULT
            del tensor.external_data[:]
    return whole.SerializeToString()


def _sentence(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
