"""The engine that the user chose, by its name and the name of the device."""

from __future__ import annotations

import warnings
from typing import Any

from tfport.engine_names import USUAL, listed_engines
from tfport.errors import Error
from tfport.runtime.engines.engine import Engine, LiteFiles, Rival
from tfport.runtime.engines.gpu.device_name import AUTO, TENSORRT, DeviceName, parse_device
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS, GpuOptions


class NoGpu(UserWarning):
    """A GPU was chosen, but cannot be used: the CPU computes instead."""


def make_engine(
    name: str,
    threads: int | None = None,
    *,
    spins: bool = True,
    max_bytes: int = 0,
    shares_arena: bool = False,
    device: str = "cpu",
    gpu: GpuOptions = NO_GPU_OPTIONS,
) -> Engine:
    """The engine of this name for a device; `spins`, `max_bytes`, `shares_arena`: see `OnnxRuntime`.

    The device `auto` is a GPU that is measured against the CPU. If the GPU cannot be used, that is a warning
    (`NoGpu`), or an error if the options require it; `auto` then uses the CPU without a warning.
    """
    on_cpu = _cpu_engine(name, threads, spins=spins, max_bytes=max_bytes, shares_arena=shares_arena)
    chosen = parse_device(device)
    if not chosen.is_gpu:
        return on_cpu
    from tfport.runtime.engines.gpu.availability import problem_of
    from tfport.runtime.engines.gpu.gpu_engine import GpuEngine

    problem = problem_of(chosen)
    if problem and gpu.require:
        raise Error(f"device {device}: {problem}")
    if problem:
        if chosen.kind != AUTO:
            warnings.warn(f"device {device}: {problem}; the CPU is used", NoGpu, stacklevel=3)
        return on_cpu
    rival = _rival(on_cpu, chosen, gpu, threads) if chosen.kind == AUTO else None
    return GpuEngine(chosen, gpu, threads, rival)


def _rival(on_cpu: Engine, device: DeviceName, gpu: GpuOptions, threads: int | None) -> Rival:
    from tfport.runtime.engines.choice_cache import choices_of_user
    from tfport.runtime.engines.gpu.availability import name_of, problem_of
    from tfport.runtime.engines.gpu.gpu_engine import GpuEngine

    with_tensorrt = DeviceName(TENSORRT, device.index)
    tensorrt = None if problem_of(with_tensorrt) else GpuEngine(with_tensorrt, gpu, threads)
    settings = (name_of(device), gpu.precision, str(threads), *(() if tensorrt is None else (TENSORRT,)))
    return Rival(on_cpu, choices_of_user(), settings, gpu.require, tensorrt)


def _cpu_engine(name: str, threads: int | None, **options: Any) -> Engine:
    if name in (USUAL, "onnxruntime"):
        from tfport.runtime.engines.onnx_runtime import OnnxRuntime

        usual = OnnxRuntime(threads, **options)
        if name == USUAL and not options["max_bytes"]:
            usual.lite_files = LiteFiles.ROBUST
        return usual
    if name == "auto":
        from tfport.runtime.engines.auto import AutoEngine

        return AutoEngine(threads, **options)
    if name in ("openvino", "openvino-bfloat16"):
        from tfport.runtime.engines.openvino import OpenVino

        return OpenVino(threads, in_bfloat16=name != "openvino")
    if name == "litert":
        from tfport.runtime.engines.auto import litert_engine

        litert = litert_engine(threads, **options)
        if not options["max_bytes"]:
            litert.lite_files = LiteFiles.ALL
        return litert
    if name == "none":
        from tfport.runtime.engines.no_engine import NoEngine

        return NoEngine()
    raise Error(f"unknown engine `{name}`; expected {listed_engines()}")
