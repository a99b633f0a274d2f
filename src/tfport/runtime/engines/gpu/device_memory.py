"""Whether the weights of an island fit into the memory of a GPU, said before they are uploaded."""

from __future__ import annotations

from tfport.errors import ResourceExhausted
from tfport.runtime.engines.gpu.availability import physical_index
from tfport.runtime.engines.gpu.device_name import DeviceName
from tfport.runtime.engines.gpu.nvml import NvmlError, read_driver


def check_fit(device: DeviceName, needed: int, uploaded: int, limit: int) -> None:
    """Raise ResourceExhausted if `needed` bytes are not free, or exceed the limit with what was uploaded.

    What runs need beyond the weights depends on their inputs, and is not known here.
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
