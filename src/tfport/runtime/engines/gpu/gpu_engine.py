"""ONNX Runtime on a GPU: islands read and write tensors in device memory.

A node that the provider of the GPU has no kernel for runs on the CPU in the same session; ONNX Runtime
copies what it reads and writes. A node that the GPU must not compute runs in ONNX Runtime on the CPU, as do
runs with empty inputs and those that fail on the GPU. One that fails there too is repeated on the host, as
with any engine.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import onnxruntime as ort

from tfport.errors import Error, ResourceExhausted
from tfport.runtime.engines.engine import (
    NO_HINTS,
    Compiled,
    Engine,
    EngineFailed,
    IslandHints,
    IslandRejected,
    Rival,
)
from tfport.runtime.engines.gpu.availability import PROVIDERS, load_libraries, physical_index
from tfport.runtime.engines.gpu.batch_uploads import BatchUploads
from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK
from tfport.runtime.engines.gpu.captured_island import CapturedIsland
from tfport.runtime.engines.gpu.cuda_operations import CudaOperations, OperationLibrary
from tfport.runtime.engines.gpu.cuda_runtime import CudaCopies, DeviceCopies, HostCopies
from tfport.runtime.engines.gpu.device_array import all_on_host
from tfport.runtime.engines.gpu.device_name import CPU, CUDA, TENSORRT, DeviceName
from tfport.runtime.engines.gpu.device_weights import DeviceWeights
from tfport.runtime.engines.gpu.gpu_island import GpuIsland
from tfport.runtime.engines.gpu.gpu_options import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    NO_GPU_OPTIONS,
    TF32,
    GpuOptions,
)
from tfport.runtime.engines.gpu.graph_stream import CudaGraphStream, GraphStream, HostGraphStream
from tfport.runtime.engines.gpu.island_factory import MEMORY, IslandFactory
from tfport.runtime.engines.gpu.nvml import NvmlError, read_driver
from tfport.runtime.engines.gpu.pinned_memory import LargeUploads
from tfport.runtime.engines.onnx_runtime import OnnxRuntime, may_run_out, session_error
from tfport.runtime.engines.pool_sizes import PoolWindow, check_pool_sizes, with_pool_sizes
from tfport.runtime.engines.provider_kernels import ON_CPU, ProviderKernels
from tfport.runtime.engines.session_settings import session_options
from tfport.runtime.onnx.model import nodes_of
from tfport.runtime.passes.islands.input_flags import reads_by_index
from tfport.runtime.passes.pass_list import IslandForm, NodeForms
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray


class GpuFailed(UserWarning):
    """A GPU cannot compute a part of a model that the CPU computes."""


KEPT_APART = ("MatMulAddFusion", "ConvAddFusion")
"""Optimizers that are left out. On a GPU, a sum is faster as a part of the node after it than of the product
before it, which would write what is added into the output first; sums that are still apart from their
convolution are so on purpose (`separate_sums`)."""


class GpuEngine(Engine):
    """Compiles islands for one GPU; any thread may run them."""

    checks_indices = True  # a loop with indices runs on the CPU
    on_device = True
    threads = 1

    def __init__(
        self,
        device: DeviceName,
        options: GpuOptions = NO_GPU_OPTIONS,
        threads: int | None = None,
        rival: Rival | None = None,
    ) -> None:
        """`threads`: for the nodes that run on the CPU. The device `cpu` stands for a GPU in tests."""
        self.rival = rival
        self.name = f"ONNX Runtime on {device}"
        self.device, self.options = device, options
        self.form = _form(device, options)
        self._memory = MEMORY if device.is_gpu else CPU
        self._on_cpu = OnnxRuntime(threads)
        self._weights = DeviceWeights(self._memory, device.index)
        before_cpu = self._providers()[-2:][:1]
        self._kernels = ProviderKernels(before_cpu, NodeForms.PLAIN)
        if device.is_gpu:
            load_libraries()

    @functools.cached_property
    def uploads(self) -> BatchUploads | None:
        """Batches for the device, copied while it computes; None if plans choose between devices."""
        return BatchUploads(self._copies, self._memory, self.device.index) if self.rival is None else None

    @functools.cached_property
    def large_uploads(self) -> LargeUploads:
        return LargeUploads(self._copies, self._on_cpu.threads)

    @functools.cached_property
    def _copies(self) -> DeviceCopies:
        return CudaCopies(self.device.index) if self.device.is_gpu else HostCopies()

    def takes(self, node: OnnxNode) -> bool:
        return self._on_cpu.takes(node)

    def engine_for(self, nodes: Sequence[OnnxNode]) -> Engine:
        return self._on_cpu if any(map(is_refused, nodes)) else self

    def has_kernel(self, node: OnnxNode) -> bool:
        with GPU_LOCK.running():  # it may make a session
            return self._kernels.has(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        if self.device.is_gpu:
            needed, uploaded = self._weights.missing_bytes(weights), self._weights.uploaded_bytes
            check_fit(self.device, needed, uploaded, self.options.memory_bytes)
        usual = IslandFactory(self, model, weights, inputs, hints).island()

        @functools.cache
        def checked() -> tuple[GpuIsland | CapturedIsland, list[PoolWindow]]:
            """The island for images that may be too small for its windows."""
            text, windows = with_pool_sizes(model)
            return IslandFactory(self, text, weights, inputs).island(), windows

        @functools.cache
        def on_cpu() -> Compiled:
            try:
                return self._on_cpu.compile(model, weights, inputs, outputs, hints)
            except IslandRejected as error:  # a node of this form that only the GPU has
                raise EngineFailed(str(error)) from None

        def on_gpu(arrays: Sequence[Any]) -> Sequence[Any]:
            if not may_run_out(arrays, hints.least_size):
                return usual.run(arrays)
            island, windows = checked()
            results = island.run(arrays)
            check_pool_sizes(windows, all_on_host(results[len(outputs) :]))
            return results[: len(outputs)]

        failed = set[str]()

        def compiled(arrays: Sequence[Any]) -> Sequence[Any]:
            why = ""
            if all(array.size for array in arrays):  # with an empty input, a kernel may divide by a size
                try:
                    return on_gpu(arrays)
                except EngineFailed as error:
                    why = str(error)
            results = on_cpu()(all_on_host(arrays))
            if why and why not in failed:
                failed.add(why)
                warnings.warn(f"{self.device}: {why}; the CPU computes this part", GpuFailed, stacklevel=2)
            return results

        return compiled

    def graph_stream(self) -> GraphStream:
        """A stream for the CUDA graphs of an island."""
        if not self.device.is_gpu:
            return HostGraphStream()
        with GPU_LOCK.running():
            return CudaGraphStream(self.device.index)

    def operations(self, stream: GraphStream) -> OperationLibrary:
        """What computes convolutions and products on a stream."""
        if not self.device.is_gpu:
            raise Error("there are no libraries of CUDA without a GPU")
        return CudaOperations(stream)

    def session(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        stream: GraphStream | None = None,
        threads: int | None = None,
        *,
        tuned: bool = True,
    ) -> ort.InferenceSession:
        """A session on the device; with a stream for graphs, an error if a part of it runs on the CPU.

        `threads`: for what runs on the CPU, if not those of the engine. `tuned`: with convolutions that cuDNN
        takes seconds to prepare for each shape.
        """
        options = session_options(threads or self._on_cpu.threads, spins=False)
        with GPU_LOCK.running():
            kept = self._weights.use(options, weights)
        try:
            # without `enable_fallback=0`, ONNX Runtime prints the error and silently uses the CPU
            with GPU_LOCK.running():
                session = ort.InferenceSession(
                    model,
                    options,
                    providers=self._providers(stream, tuned=tuned),
                    enable_fallback=0,
                    disabled_optimizers=list(KEPT_APART),
                )
        except Exception as error:  # ONNX Runtime raises many exception classes
            raise session_error(error, self.name) from None
        session.kept = kept
        return session

    def _providers(self, stream: GraphStream | None = None, *, tuned: bool = True) -> list[Any]:
        if not self.device.is_gpu:
            return list(ON_CPU)
        address = stream.address if stream is not None else None
        return list(providers_for(self.device, self.options, address, tuned=tuned))


def _form(device: DeviceName, options: GpuOptions) -> IslandForm:
    """What islands look like: TensorRT chooses the types of 16 bits itself, and has attention of its own."""
    if device.kind == TENSORRT:
        return IslandForm(for_cpu=False)
    on_gpu = device.is_gpu  # ONNX Runtime's CPU provider has no kernel for packed attention
    return IslandForm(
        for_cpu=False,
        half=options.half,
        fuses_attention=True,
        packs_attention=on_gpu,
        separates_attention=options.precision == FLOAT16,  # only there it was measured
        fuses_in_parts=options.precision != FLOAT32,
    )


# Nodes that a GPU computes differently from TensorFlow, so that they stay on the CPU: measured with
# ONNX Runtime 1.31's CUDA provider on recorded TensorFlow answers (docs/evidence/gpu.md)

DIFFERENT = {
    "NonMaxSuppression": "it selects other boxes where scores are equal or boxes are empty",
    "LRN": "its session cannot be made for windows that cuDNN does not have",
}
"""By op: what is different."""
OF_TYPE = {
    "float64": frozenset(["LogSoftmax", "ReduceMax", "ReduceMin", "Softmax", "TopK"]),
    "int64": frozenset(["ReduceMax", "ReduceMin"]),
}
"""By type: ops whose kernels for it compute with the precision or the range of another type, or start from a
finite number."""

OF_INTEGERS = frozenset(["QLinearConv", "QLinearMatMul"])
"""Products that CUDA has no kernels for: in its session, what they read and write would be copied each time,
and quantized networks took twice as long as on the CPU."""
ENDLESS = frozenset(["max", "min", "mul"])
"""Reductions of Scatter whose kernels wait until a number equals itself: with NaN, the GPU never ends."""


def is_refused(node: OnnxNode) -> bool:
    """Whether a node must not run on a GPU.

    Nor does a loop or branch with such a node, or with indices that nothing checks.
    """
    if node.general is not None:
        return any(map(is_refused, nodes_of(node.general)))
    if node.op in DIFFERENT or node.op in OF_INTEGERS or any(map(reads_by_index, node.programs)):
        return True
    if any(is_refused(inner) for program in node.programs for inner in nodes_of(program)):
        return True
    if node.attrs.get("reduction") in ENDLESS:
        return True
    first = node.inputs[0] if node.inputs else None
    return first is not None and node.op in OF_TYPE.get(first.dtype.name, ())


def check_fit(device: DeviceName, needed: int, uploaded: int, limit: int) -> None:
    """Raise ResourceExhausted if `needed` bytes are not free, or exceed the limit with what was uploaded.

    It is called before weights are uploaded. What runs need beyond the weights depends on their inputs, and
    is not known here.
    """
    if limit and needed + uploaded > limit:
        rest = f", of which {uploaded:,} are in use" if uploaded else ""
        raise ResourceExhausted(
            f"the weights need {needed:,} bytes on {device}, and the model may use {limit:,} bytes{rest}"
        )
    free = free_bytes(device.index)
    if free is not None and needed > free:
        raise ResourceExhausted(f"the weights need {needed:,} bytes on {device}, and {free:,} bytes are free")


def free_bytes(index: int) -> int | None:
    """The free memory of a GPU of this process; None if the driver does not say."""
    physical = physical_index(index)
    try:
        gpus = read_driver().gpus
    except NvmlError:
        return None
    return gpus[physical].free_bytes if physical is not None and physical < len(gpus) else None


# A session's options as options of ONNX Runtime's providers

HEURISTICS = "EXHAUSTIVE"
"""Which of cuDNN's heuristics chooses the kernel of a convolution: EXHAUSTIVE the one that takes longer,
HEURISTIC the other. With cuDNN 9, ONNX Runtime measures no kernels, whatever the name says."""
ANY_KERNEL = "DEFAULT"
UNFUSED_ATTENTION, EFFICIENT_ATTENTION = 16, 2
"""ONNX Runtime's numbers of kernels for attention: the first computes in float32 with all bits; the second
does not write the scores into memory, and would be used for long sequences only."""
Provider = tuple[str, dict[str, str]] | str


def providers_for(
    device: DeviceName, options: GpuOptions, stream: int | None = None, *, tuned: bool = True
) -> Sequence[Provider]:
    """The providers of a session, the preferred first; the CPU runs the nodes that no other takes.

    `stream`: the address of the stream on which the session is made into CUDA graphs. ONNX Runtime then
    checks that it can be. `tuned`: with kernels that cuDNN chooses for a shape. They are many times faster
    than those that it has for any, but on an H200 the first answer of a detector came after 10 s, not 1.5.
    """
    cuda: dict[str, Any] = {
        "device_id": device.index,
        "use_tf32": int(options.precision != FLOAT32),
        "cudnn_conv_algo_search": HEURISTICS if tuned else ANY_KERNEL,
        "fuse_conv_bias": int(stream is not None and options.precision != BFLOAT16),
        "cudnn_conv_use_max_workspace": 1,
        "prefer_nhwc": 1,  # as NCHW, windows that are larger on one side are refused
        "enable_cuda_graph": int(stream is not None),
        "arena_extend_strategy": "kSameAsRequested",
    }
    if stream is not None:
        cuda["user_compute_stream"] = stream
    if options.half is None:
        cuda["sdpa_kernel"] = UNFUSED_ATTENTION + EFFICIENT_ATTENTION * (options.precision == TF32)
    if options.memory_bytes:
        cuda["gpu_mem_limit"] = options.memory_bytes
    chosen: list[Provider] = [(PROVIDERS[CUDA], _text(cuda)), "CPUExecutionProvider"]
    if device.kind == TENSORRT:
        chosen.insert(0, (PROVIDERS[TENSORRT], _text(_tensorrt(device, options))))
    return chosen


def _tensorrt(device: DeviceName, options: GpuOptions) -> dict[str, Any]:
    from tfport.runtime.engines.choice_cache import default_folder

    folder = default_folder()
    settings: dict[str, Any] = {
        "device_id": device.index,
        "trt_fp16_enable": int(options.precision == FLOAT16),
        "trt_bf16_enable": int(options.precision == BFLOAT16),
        "trt_load_user_initializer": 1,
    }
    if folder is not None:
        settings |= {"trt_engine_cache_enable": 1, "trt_engine_cache_path": str(folder / "tensorrt")}
        settings |= {"trt_timing_cache_enable": 1, "trt_timing_cache_path": str(folder / "tensorrt")}
    return settings


def _text(options: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}
