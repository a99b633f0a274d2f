"""ONNX Runtime on a GPU: islands read and write tensors in device memory.

A node that the provider of the GPU has no kernel for runs on the CPU in the same session; ONNX Runtime
copies what it reads and writes. A run that fails is repeated on the host, as with any engine.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import onnxruntime as ort

from tfport.errors import Error
from tfport.runtime.engines.engine import NO_HINTS, Compiled, EngineFailed, IslandForm, IslandHints
from tfport.runtime.engines.gpu.availability import load_libraries
from tfport.runtime.engines.gpu.captured_island import CapturedIsland, Shapes
from tfport.runtime.engines.gpu.device_array import all_on_host
from tfport.runtime.engines.gpu.device_name import CPU, DeviceName
from tfport.runtime.engines.gpu.device_weights import DeviceWeights
from tfport.runtime.engines.gpu.fixed_shapes import with_fixed_shapes
from tfport.runtime.engines.gpu.gpu_island import GpuIsland
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS, GpuOptions
from tfport.runtime.engines.gpu.provider_options import providers_for
from tfport.runtime.engines.gpu.refused_nodes import is_refused
from tfport.runtime.engines.onnx_runtime import OnnxRuntime, may_run_out, session_error
from tfport.runtime.engines.pool_sizes import PoolWindow, check_pool_sizes, with_pool_sizes
from tfport.runtime.engines.provider_kernels import ON_CPU, ProviderKernels
from tfport.runtime.engines.session_settings import session_options
from tfport.runtime.onnx.model import NodeForms
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

MEMORY = "cuda"
"""What ONNX Runtime calls the memory of the device."""
CANNOT_CAPTURE = "cannot use the graph capture feature"


class GpuEngine:
    """Compiles islands for one GPU; any thread may run them."""

    checks_indices = False
    on_device = True

    def __init__(
        self, device: DeviceName, options: GpuOptions = NO_GPU_OPTIONS, threads: int | None = None
    ) -> None:
        """`threads`: for the nodes that run on the CPU. The device `cpu` stands for a GPU in tests."""
        self.name = f"ONNX Runtime on {device}"
        self.device, self.options = device, options
        self.form = IslandForm(for_cpu=False, half=options.half)
        self._memory = MEMORY if device.is_gpu else CPU
        self._on_cpu = OnnxRuntime(threads)
        self._weights = DeviceWeights(self._memory, device.index)
        self._kernels = ProviderKernels(self._providers()[:1], NodeForms.PLAIN)
        if device.is_gpu:
            load_libraries()

    def takes(self, node: OnnxNode) -> bool:
        return not is_refused(node) and self._on_cpu.takes(node)

    def has_kernel(self, node: OnnxNode) -> bool:
        return self._kernels.has(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        usual = _IslandFactory(self, model, weights, inputs, outputs).island()

        @functools.cache
        def checked() -> tuple[GpuIsland, list[PoolWindow]]:
            """The island for images that may be too small for its windows."""
            text, windows = with_pool_sizes(model)
            names = [*outputs, *(window.output for window in windows)]
            return _IslandFactory(self, text, weights, inputs, names).plain(), windows

        def compiled(arrays: Sequence[Any]) -> Sequence[Any]:
            if not all(array.size for array in arrays):
                raise EngineFailed("an empty input")  # a kernel may divide by a size
            if not may_run_out(arrays, hints.least_size):
                return usual.run(arrays)
            island, windows = checked()
            results = island.run(arrays)
            check_pool_sizes(windows, all_on_host(results[len(outputs) :]))
            return results[: len(outputs)]

        return compiled

    def session(
        self, model: bytes, weights: Mapping[str, NDArray[Any]], *, graphs: bool = False
    ) -> ort.InferenceSession:
        """A session on the device; with `graphs`, an error if a part of the model runs on the CPU."""
        options = session_options(self._on_cpu.threads, spins=False)
        kept = self._weights.use(options, weights)
        try:
            # without `enable_fallback=0`, ONNX Runtime prints the error and silently uses the CPU
            session = ort.InferenceSession(
                model, options, providers=self._providers(graphs=graphs), enable_fallback=0
            )
        except Exception as error:  # ONNX Runtime raises many exception classes
            raise session_error(error, self.name) from None
        session.kept = kept
        return session

    def _providers(self, *, graphs: bool = False) -> list[Any]:
        if not self.device.is_gpu:
            return list(ON_CPU)
        return list(providers_for(self.device, self.options, graphs=graphs))


class _IslandFactory:
    """Makes the islands of one model."""

    def __init__(
        self,
        engine: GpuEngine,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
    ) -> None:
        self._engine, self._model, self._weights = engine, model, weights
        self._inputs, self._outputs = inputs, outputs

    def plain(self) -> GpuIsland:
        return self._with(self._engine.session(self._model, self._weights))

    def island(self) -> GpuIsland | CapturedIsland:
        """The island with CUDA graphs, if they are wanted and there is a GPU."""
        max_graphs = self._engine.options.max_graphs
        if not max_graphs or not self._engine.device.is_gpu:
            return self.plain()
        try:
            whole = self._with(self._engine.session(self._model, self._weights, graphs=True), captures=True)
        except Error as error:
            if CANNOT_CAPTURE not in str(error):
                raise
            return CapturedIsland(self.plain(), self._fixed, max_graphs)
        return CapturedIsland(whole, lambda shapes: whole, max_graphs)

    def _fixed(self, shapes: Shapes) -> GpuIsland | None:
        """The island for these shapes alone: what computes sizes on the CPU is constant then."""
        model = with_fixed_shapes(self._model, dict(zip(self._inputs, shapes, strict=True)))
        try:
            return self._with(self._engine.session(model, self._weights, graphs=True), captures=True)
        except Error:
            return None

    def _with(self, session: ort.InferenceSession, *, captures: bool = False) -> GpuIsland:
        memory = MEMORY if self._engine.device.is_gpu else CPU
        index = self._engine.device.index
        return GpuIsland(session, self._inputs, self._outputs, memory, index, captures=captures)
