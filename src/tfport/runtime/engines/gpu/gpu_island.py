"""Run a session of ONNX Runtime with its inputs and outputs in device memory.

Inputs on the host are copied to the device by ONNX Runtime; outputs stay there until somebody reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort

from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.pinned_memory import LargeUploads
from tfport.runtime.engines.onnx_runtime import run_error, stoppable
from tfport.runtime.program import ONNX_TYPES

NO_GRAPH = {"gpu_graph_id": "-1"}
"""For sessions that can be recorded: tfport records them (`graph_stream`), not ONNX Runtime."""
WITHOUT_WAITING = {"disable_synchronize_execution_providers": "1"}
_C_NAMES = {"float32": "float", "float64": "double"}
ELEMENT_TYPES = {f"tensor({_C_NAMES.get(name, name)})": number for name, number in ONNX_TYPES.items()}
"""ONNX's number of each type, by ONNX Runtime's name for a tensor of it."""


Shapes = tuple[tuple[int, ...], ...]
"""The sizes of several tensors."""


class BoundRun(Protocol):
    """Runs that read and write the same memory."""

    def run(self) -> None: ...

    def begin(self) -> None:
        """Launch what `run` launches, and do not wait for it."""
        ...


class GpuIsland:
    """A session, with the names of what goes in and comes out; any thread may run it."""

    def __init__(
        self,
        session: ort.InferenceSession,
        inputs: Sequence[str],
        outputs: Sequence[str],
        memory: str,
        index: int,
        *,
        captures: bool = False,
        uploads: LargeUploads | None = None,
        host_outputs: int = 0,
    ) -> None:
        """`memory` and `index`: the device. `captures`: the session is made into CUDA graphs.

        `uploads`: copies large inputs. `host_outputs`: how many outputs, the last ones, are returned on the
        host, as it reads them anyway.
        """
        self.session = session
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.memory, self.index = memory, index
        self._captures, self._uploads = captures, uploads
        self.types = {argument.name: argument.type for argument in session.get_inputs()}
        self.left = len(self.outputs) - host_outputs
        """How many outputs stay on the device."""

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        binding = self.session.io_binding()
        with GPU_LOCK.running():
            for name, array in zip(self.inputs, arrays, strict=True):
                if type(array) is DeviceArray:
                    binding.bind_ortvalue_input(name, array.value)
                elif self._uploads is not None and self._uploads.takes(array):
                    value = self.empty(array.shape, self.types[name])
                    self._uploads.copy(array, value.data_ptr())
                    binding.bind_ortvalue_input(name, value)
                else:
                    binding.bind_cpu_input(name, np.asarray(array, order="C"))
            for name in self.outputs:
                binding.bind_output(name, self.memory, self.index)
            self._run(binding)
            outputs = [DeviceArray(value) for value in binding.get_outputs()]
            if self._captures:  # a graph of this session may use the memory of an output as its own
                outputs[: self.left] = map(self.copy, outputs[: self.left])
            return self.returned(outputs)

    def bound(self, inputs: Sequence[ort.OrtValue], outputs: Sequence[ort.OrtValue]) -> BoundRun:
        """Runs that read and write this memory each time."""
        binding = self.session.io_binding()
        for name, value in zip(self.inputs, inputs, strict=True):
            binding.bind_ortvalue_input(name, value)
        for name, value in zip(self.outputs, outputs, strict=True):
            binding.bind_ortvalue_output(name, value)
        return _BoundSession(self.session, binding)

    def returned(self, outputs: Sequence[DeviceArray]) -> list[Any]:
        """What a run returns: some of the outputs are wanted on the host."""
        return [*outputs[: self.left], *(output.value.numpy() for output in outputs[self.left :])]

    def empty(self, shape: Sequence[int], element_type: str) -> ort.OrtValue:
        """A tensor of the device without values; `kind` in ONNX Runtime's words, `tensor(float)`."""
        return ort.OrtValue.ortvalue_from_shape_and_type(
            list(shape), ELEMENT_TYPES[element_type], self.memory, self.index
        )

    def fill(self, value: ort.OrtValue, array: Any) -> None:
        """Copy an array of the host or of the device into a tensor of the device."""
        if self._uploads is not None and self._uploads.takes(array):
            self._uploads.copy(array, value.data_ptr())
        else:
            value.update_inplace(array.value if type(array) is DeviceArray else np.asarray(array, order="C"))

    def copy(self, array: DeviceArray) -> DeviceArray:
        copied = self.empty_like(array)
        copied.value.update_inplace(array.value)
        return copied

    def empty_like(self, array: DeviceArray) -> DeviceArray:
        value = ort.OrtValue.ortvalue_from_shape_and_type(
            array.shape, ONNX_TYPES[array.dtype.name], self.memory, self.index
        )
        return DeviceArray(value, array)

    def _run(self, binding: ort.IOBinding) -> None:
        scope = current_scope()
        options = None if scope is None else scope.stop.handle(ort.RunOptions, stoppable)
        if self._captures:
            options = _with_entries(NO_GRAPH, options)
        try:
            # it waits for its stream; the whole device must not be waited for, as cuDNN captures something
            # of its own while another thread prepares kernels
            self.session.run_with_iobinding(binding, options)
        except Exception as error:  # ONNX Runtime raises many exception classes
            if scope is not None:
                scope.stop.check()
            raise run_error(error, "the GPU") from None


class _BoundSession:
    """Runs of one session with the same memory."""

    def __init__(self, session: ort.InferenceSession, binding: ort.IOBinding) -> None:
        self._session, self._binding = session, binding

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding, _with_entries(NO_GRAPH))

    def begin(self) -> None:
        self._session.run_with_iobinding(self._binding, begin_options())


def begin_options() -> ort.RunOptions:
    """For a run that only launches its kernels."""
    return _with_entries(NO_GRAPH | WITHOUT_WAITING)


def _with_entries(entries: Mapping[str, str], options: ort.RunOptions | None = None) -> ort.RunOptions:
    options = options or ort.RunOptions()
    for name, value in entries.items():
        options.add_run_config_entry(name, value)
    return options
