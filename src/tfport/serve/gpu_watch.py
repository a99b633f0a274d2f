"""Notice that a GPU can no longer be used, and report how much of each is in use.

After some errors, such as an illegal memory access, every CUDA call of the process fails until it ends. A
server cannot go on then: it says why, reports that it is not serving, and exits, so that it is started again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tfport.errors import Error
from tfport.runtime.engines.gpu.device_copies import DeviceCopies
from tfport.runtime.engines.gpu.nvml import Driver, NvmlError, read_driver
from tfport.serve.monitoring.metrics import Metrics

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
