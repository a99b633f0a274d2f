"""What NVIDIA's management library says about the GPUs of this machine, through its C interface.

The library comes with the driver, so it is there wherever a GPU can be used; nothing has to be installed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tfport.startup.dataclass import dataclass

LIBRARY = "libnvidia-ml.so.1"
SUCCESS, NO_PERMISSION, DRIVER_NOT_LOADED, LIBRARY_MISMATCH = 0, 4, 9, 18
_TEXT = 96
_WHY = {
    NO_PERMISSION: "this user has no permission to use the NVIDIA driver",
    DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    LIBRARY_MISMATCH: "the NVIDIA driver and its library are of different versions: restart the machine",
}


class NvmlError(Exception):
    """Why the management library cannot be used, in a sentence."""


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU, and how much of it is in use."""

    index: int
    name: str
    compute_capability: str
    total_bytes: int
    free_bytes: int
    utilization: int
    """Percent of the last sample period in which a kernel ran."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver of this machine and its GPUs."""

    version: str
    cuda: str
    """The newest CUDA that it supports."""
    gpus: tuple[Gpu, ...]


def read_driver(library: str = LIBRARY) -> Driver:
    """The driver and the GPUs; NvmlError says why there are none."""
    with _opened(library) as nvml:
        number = ctypes.c_int()
        _check(nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number)))
        count = ctypes.c_uint()
        _check(nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)))
        cuda = f"{number.value // 1000}.{number.value % 1000 // 10}"
        gpus = tuple(_gpu(nvml, index) for index in range(count.value))
        return Driver(_text(nvml.nvmlSystemGetDriverVersion), cuda, gpus)


@contextmanager
def _opened(library: str) -> Iterator[Any]:
    try:
        nvml = ctypes.CDLL(library)
    except OSError:
        raise NvmlError("there is no NVIDIA driver on this machine") from None
    _check(nvml.nvmlInit_v2())
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def _gpu(nvml: Any, index: int) -> Gpu:
    device = ctypes.c_void_p()
    _check(nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(device)))
    memory, use = _Memory(), _Utilization()
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)))
    _check(nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)))
    nvml.nvmlDeviceGetUtilizationRates(device, ctypes.byref(use))  # not every GPU has them
    name = _text(nvml.nvmlDeviceGetName, device)
    capability = f"{major.value}.{minor.value}"
    return Gpu(index, name, capability, memory.total, memory.free, use.gpu)


def _text(function: Any, *arguments: Any) -> str:
    buffer = ctypes.create_string_buffer(_TEXT)
    _check(function(*arguments, buffer, ctypes.c_uint(_TEXT)))
    return buffer.value.decode(errors="replace")


def _check(code: int) -> None:
    if code != SUCCESS:
        raise NvmlError(_WHY.get(code, f"the NVIDIA driver answers with error {code}"))
