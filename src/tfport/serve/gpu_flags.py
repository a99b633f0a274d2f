"""The flags of the server that concern GPUs."""

from __future__ import annotations

from tfport.errors import Error
from tfport.runtime.engines.gpu.device_name import parse_device
from tfport.runtime.engines.gpu.gpu_options import GpuOptions
from tfport.serve.flags import FlagValues


def gpu_options(flags: FlagValues) -> GpuOptions:
    """How models compute on the GPU of `--device`; Error if a flag makes no sense."""
    fraction = flags.fraction("per_process_gpu_memory_fraction")
    if not 0 <= fraction <= 1:
        raise Error(f"--per_process_gpu_memory_fraction={fraction:g}: expected a number between 0 and 1")
    return GpuOptions(
        precision=flags.text("precision"),
        memory_bytes=_bytes_of(fraction, flags.text("device")) if fraction else 0,
        require=flags.boolean("require_gpu"),
    )


def _bytes_of(fraction: float, device: str) -> int:
    """A part of the memory of the chosen GPU; 0, for no limit, if there is none."""
    from tfport.runtime.engines.gpu.nvml import NvmlError, read_driver

    index = parse_device(device).index
    try:
        gpus = read_driver().gpus
    except NvmlError:
        return 0
    return int(fraction * gpus[index].total_bytes) if index < len(gpus) else 0
