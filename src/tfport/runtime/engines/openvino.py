"""OpenVINO on the CPU, in float32 or, if the user chose so, in bfloat16; optional (`tfport[openvino]`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import Error
from tfport.extras import optional_module
from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.bounds.stop_signal import NEVER
from tfport.runtime.engines.engine import (
    NO_HINTS,
    Compiled,
    Engine,
    EngineFailed,
    IslandHints,
    IslandRejected,
)
from tfport.runtime.passes.pass_list import IslandForm
from tfport.runtime.profile.recorder import current_recorder
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_THREADS = 2
"""For unknown sizes: with one thread, a run with sizes that do not fit together returns nothing, or
what was in memory, or ends the process (OpenVINO 2026.4 on ARM64)."""


class OpenVino(Engine):
    """Compiles the same islands; asks ONNX Runtime which nodes are supported, as its kernels are a subset."""

    name = "OpenVINO"
    checks_indices = False
    form = IslandForm(for_openvino=True)

    def __init__(
        self, threads: int | None = None, *, only_fixed: bool = False, in_bfloat16: bool = False
    ) -> None:
        """`only_fixed`: reject models in which a size depends on the inputs, so that no run can fail.

        `in_bfloat16`: compute in bfloat16 what is float32 in the model.
        """
        openvino = optional_module("openvino", "the engine openvino")
        from tfport.runtime.engines.onnx_runtime import OnnxRuntime

        self._core = openvino.Core()
        if in_bfloat16 and "BF16" not in self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            raise Error(
                "this processor has no instructions for bfloat16 (AMX, AVX-512): use the engine openvino"
            )
        self._precision = "bf16" if in_bfloat16 else "f32"
        self._onnx_runtime = OnnxRuntime(threads)
        self._only_fixed = only_fixed
        self.threads = self._onnx_runtime.threads

    def takes(self, node: OnnxNode) -> bool:
        """Not a loop that may never end: OpenVINO looks at a request to stop only between two nodes.

        Nor Softplus, which differs by 4e-4 on ARM64, also if it is written with other nodes.
        """
        if node.op == "Softplus" or (node.op == "Loop" and node.inputs[0] is None):
            return False
        return self._onnx_runtime.takes(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        state: tuple[Any, list[Any]] | None = (self._compiled(model, weights), [])
        """What is compiled, and its requests that no call has now: each has memory for its tensors."""
        fed, wanted = list(inputs), list(outputs)

        def run(arrays: Sequence[Any]) -> Sequence[Any]:
            nonlocal state
            # what it shares must be writable, which its own outputs are not
            fed_arrays = [a if a.flags.writeable else a.copy() for a in arrays]
            compiled, idle = state = state or (self._compiled(model, weights), [])
            try:
                request = idle.pop()
            except IndexError:  # several threads may call at once
                request = compiled.create_infer_request()
            scope = current_scope()
            signal = scope.stop if scope is not None else NEVER
            if scope is not None:
                signal.handle(request, lambda: (request, request.cancel))
            try:
                results = request.infer(dict(zip(fed, fed_arrays, strict=True)), share_inputs=True)
            except RuntimeError as error:
                state = None  # all its later runs would fail too
                signal.check()
                raise EngineFailed(_sentence(error)) from None
            finally:
                signal.forget(request)
            if (recorder := current_recorder()) is not None:
                recorder.engine_time(request.latency / 1e3)
            answers = [results[name] for name in wanted]
            idle.append(request)
            return answers

        return run

    def _compiled(self, model: bytes, weights: Mapping[str, NDArray[Any]]) -> Any:
        try:
            read = self._core.read_model(_with_weights(model, weights))
            is_fixed = _is_fixed(read)
            if self._only_fixed and not is_fixed:
                raise Error("a size depends on the inputs")
            threads = self.threads if is_fixed else max(self.threads, LEAST_THREADS)
            options = {"INFERENCE_PRECISION_HINT": self._precision, "INFERENCE_NUM_THREADS": str(threads)}
            compiled = self._core.compile_model(read, "CPU", options)
            compiled.create_infer_request()  # some models fail only here
        except RuntimeError as error:
            raise IslandRejected(f"OpenVINO rejects the model that tfport made: {_sentence(error)}") from None
        return compiled


def _is_fixed(model: Any) -> bool:
    """Whether all sizes are known before a run."""
    return all(value.partial_shape.is_static for node in model.get_ops() for value in node.outputs())


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
