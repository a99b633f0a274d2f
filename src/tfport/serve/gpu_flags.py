"""The flags of the server that concern GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.errors import Error
from tfport.runtime.engines.gpu.device_name import CUDA, TENSORRT, DeviceName, parse_device
from tfport.runtime.engines.gpu.gpu_options import GpuOptions
from tfport.serve.flags import FlagValues
from tfport.serve.session_config import SessionConfig


def device_names(text: str) -> list[str]:
    """The devices of `--device`: a replica of each model on every one of them."""
    names = [str(parse_device(name)) for name in text.split(",")]
    if len(names) > 1 and (repeated := next((n for n in names if names.count(n) > 1), None)):
        raise Error(f"--device={text}: {repeated} is listed more than once")
    if len(names) > 1 and (other := next((n for n in names if not n.startswith((CUDA, TENSORRT))), None)):
        raise Error(
            f"--device={text}: {other} cannot be one of several devices; expected cuda:N or tensorrt:N"
        )
    return names


def usable_gpus(devices: Sequence[str]) -> list[DeviceName]:
    """The GPUs among the devices that can be used here."""
    names = [parse_device(device) for device in devices]
    if not any(name.is_gpu for name in names):
        return []
    from tfport.runtime.engines.gpu.availability import problem_of

    return [name for name in names if name.is_gpu and not problem_of(name)]


def gpu_options(flags: FlagValues) -> GpuOptions:
    """How models compute on the GPUs of `--device`."""
    return GpuOptions(precision=flags.text("precision"), require=flags.boolean("require_gpu"))


def memory_fraction(flags: FlagValues, config: SessionConfig) -> float:
    """The part of a GPU's memory for all models; 0 for no limit. The flag has precedence over the file."""
    fraction = flags.fraction("per_process_gpu_memory_fraction")
    if not 0 <= fraction <= 1:
        raise Error(f"--per_process_gpu_memory_fraction={fraction:g}: expected a number between 0 and 1")
    return fraction or config.memory_fraction
