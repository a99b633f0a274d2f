"""The engine of a GPU with the CPU in its place: the same sessions, bindings and tensors, in other memory."""

from typing import Any

import tfport
from tfport.runtime.engines.gpu.device_name import parse_device
from tfport.runtime.engines.gpu.gpu_engine import GpuEngine
from tfport.runtime.engines.gpu.gpu_options import GpuOptions


def engine_on_cpu(**options: Any) -> GpuEngine:
    return GpuEngine(parse_device("cpu"), GpuOptions(**options), threads=1)


def session_on_cpu(model: Any, **options: Any) -> tfport.Session:
    return tfport.Session(model, engine=engine_on_cpu(**options))
