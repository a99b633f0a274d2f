"""The options of a session on a GPU as options of ONNX Runtime's providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.engines.gpu.availability import PROVIDERS
from tfport.runtime.engines.gpu.device_name import CUDA, TENSORRT, DeviceName
from tfport.runtime.engines.gpu.gpu_options import BFLOAT16, FLOAT16, FLOAT32, TF32, GpuOptions

HEURISTICS = "EXHAUSTIVE"
"""Which of cuDNN's heuristics chooses the kernel of a convolution: EXHAUSTIVE the one that takes longer,
HEURISTIC the other. With cuDNN 9, ONNX Runtime measures no kernels, whatever the name says."""
UNFUSED_ATTENTION, EFFICIENT_ATTENTION = 16, 2
"""ONNX Runtime's numbers of kernels for attention: the first computes in float32 with all bits; the second
does not write the scores into memory, and would be used for long sequences only."""
Provider = tuple[str, dict[str, str]] | str


def providers_for(device: DeviceName, options: GpuOptions, stream: int | None = None) -> Sequence[Provider]:
    """The providers of a session, the preferred first; the CPU runs the nodes that no other takes.

    `stream`: the address of the stream on which the session is made into CUDA graphs. ONNX Runtime then
    checks that it can be.
    """
    cuda: dict[str, Any] = {
        "device_id": device.index,
        "use_tf32": int(options.precision != FLOAT32),
        "cudnn_conv_algo_search": HEURISTICS,
        "fuse_conv_bias": int(stream is not None and options.precision != BFLOAT16),
        "cudnn_conv_use_max_workspace": 1,
        "prefer_nhwc": 1,
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
    made: dict[str, Any] = {
        "device_id": device.index,
        "trt_fp16_enable": int(options.precision == FLOAT16),
        "trt_bf16_enable": int(options.precision == BFLOAT16),
        "trt_load_user_initializer": 1,
    }
    if folder is not None:
        made |= {"trt_engine_cache_enable": 1, "trt_engine_cache_path": str(folder / "tensorrt")}
        made |= {"trt_timing_cache_enable": 1, "trt_timing_cache_path": str(folder / "tensorrt")}
    return made


def _text(options: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}
