"""The GPUs of a server: its flags for them, their memory budget, and whether they still answer.

ONNX Runtime limits the memory of each model: to `gpu_memory_bytes` in its configuration, and to what the
models that were loaded before, with the batches that they were warmed up with, have left.

After some errors, such as an illegal memory access, every CUDA call of the process fails until it ends. A
server cannot go on then: it says why, reports that it is not serving, and exits, so that it is started again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

from tfport.errors import Error, ResourceExhausted
from tfport.runtime.engines.gpu.cuda_runtime import DeviceCopies
from tfport.runtime.engines.gpu.device_name import CUDA, TENSORRT, DeviceName, parse_device
from tfport.runtime.engines.gpu.gpu_options import GpuOptions
from tfport.runtime.engines.gpu.nvml import Driver, NvmlError, read_driver
from tfport.serve.flags import FlagValues
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.session_config import SessionConfig
from tfport.startup.dataclass import replace


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


# `--per_process_gpu_memory_fraction`: the part of a GPU's memory that all models of a server may use


def memory_of_gpu(index: int) -> tuple[int, int] | None:
    """The free and all bytes of a GPU of this process; None if the driver does not say."""
    from tfport.runtime.engines.gpu.availability import physical_index

    physical = physical_index(index)
    try:
        gpus = read_driver().gpus
    except NvmlError:
        return None
    if physical is None or physical >= len(gpus):
        return None
    return gpus[physical].free_bytes, gpus[physical].total_bytes


class GpuMemoryBudget:
    """The memory that this process may use on each GPU."""

    def __init__(
        self,
        fraction: float,
        memory: Callable[[int], tuple[int, int] | None] = memory_of_gpu,
    ) -> None:
        """`memory`: the free and all bytes of a GPU by its number; None if that is unknown."""
        self._fraction, self._memory = fraction, memory
        self._before: dict[int, int] = {}
        self._lock = threading.Lock()

    def options_for(self, device: str, options: GpuOptions, most: int = 0) -> GpuOptions:
        """The options of the next model on a device; ResourceExhausted if nothing is left for it.

        `most`: the model's own limit in bytes; 0 for none.
        """
        chosen = parse_device(device)
        memory = self._memory(chosen.index) if self._fraction and chosen.is_gpu else None
        if memory is None:
            return replace(options, memory_bytes=most) if most else options
        free, total = memory
        with self._lock:
            used = max(self._before.setdefault(chosen.index, free) - free, 0)
        allowed = int(self._fraction * total)
        if used >= allowed:
            raise ResourceExhausted(
                f"{device}: the models of this server use {used:,} bytes, and "
                f"--per_process_gpu_memory_fraction={self._fraction:g} allows {allowed:,}"
            )
        left = allowed - used
        return replace(options, memory_bytes=min(most, left) if most else left)


# Health and metrics of GPUs

CHECK_SECONDS = 1.0


class GpuWatch:
    """Checks the GPUs of a server from time to time."""

    def __init__(self, copies: Sequence[DeviceCopies], lost: Callable[[str], None]) -> None:
        """`lost` is called once, in the event loop, with the reason."""
        self._copies, self._lost = copies, lost

    async def run(self, seconds: float = CHECK_SECONDS) -> None:
        """Check until a GPU is lost."""
        while not (problem := await asyncio.to_thread(self.problem)):
            await asyncio.sleep(seconds)
        self._lost(problem)

    def problem(self) -> str:
        """Why a GPU cannot be used any more; empty if all can."""
        for copies in self._copies:
            try:
                copies.check()
            except Error as error:
                return f"{error}; this process cannot use the GPU any more, and ends: start it again"
        return ""


def report_gpus(metrics: Metrics, read: Callable[[], Driver] = read_driver) -> None:
    """Set the metrics of all GPUs of this machine; nothing if the driver does not answer."""
    try:
        gpus = read().gpus
    except NvmlError:
        return
    for gpu in gpus:
        used = gpu.total_bytes - gpu.free_bytes
        metrics.gpu(gpu.index, gpu.name, used, gpu.total_bytes, gpu.utilization / 100)
