"""`--per_process_gpu_memory_fraction`: the part of a GPU's memory that all models of a server may use.

ONNX Runtime limits the memory of each model. A model that is loaded later gets what the earlier ones, with
the batches that they were warmed up with, have left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tfport.errors import ResourceExhausted
from tfport.runtime.engines.gpu.device_name import parse_device
from tfport.runtime.engines.gpu.gpu_options import GpuOptions
from tfport.runtime.engines.gpu.nvml import NvmlError, read_driver
from tfport.startup.dataclass import replace


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

    def options_for(self, device: str, options: GpuOptions) -> GpuOptions:
        """The options of the next model on a device; ResourceExhausted if nothing is left for it."""
        chosen = parse_device(device)
        memory = self._memory(chosen.index) if self._fraction and chosen.is_gpu else None
        if memory is None:
            return options
        free, total = memory
        with self._lock:
            used = max(self._before.setdefault(chosen.index, free) - free, 0)
        allowed = int(self._fraction * total)
        if used >= allowed:
            raise ResourceExhausted(
                f"{device}: the models of this server use {used:,} bytes, and "
                f"--per_process_gpu_memory_fraction={self._fraction:g} allows {allowed:,}"
            )
        return replace(options, memory_bytes=allowed - used)
