"""A contender of `gpu.py`: tfport on the GPU in each precision, and with the device `auto`."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from gpu_timing import (
    BATCHES,
    CHOSEN_PRECISIONS,
    PRECISIONS,
    SIGNATURE,
    each_model,
    inputs_of,
    median_ms,
    report,
)

import tfport
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.preparation import PREPARATIONS
from tfport.runtime.placed_plan import RACE


def measure(path: Path) -> None:
    example = inputs_of(path, 8)
    on_cpu = tfport.Session(str(path)).signature(SIGNATURE)
    expected = on_cpu(**example)
    for precision in os.environ.get(CHOSEN_PRECISIONS, " ".join(PRECISIONS)).split():
        options = tfport.GpuOptions(precision=precision, require=True)
        report(path, "tfport", precision, _measured(path, "cuda", options, example, expected))
    options = tfport.GpuOptions(require=True)
    report(path, "tfport auto", "tf32", _measured(path, "auto", options, example, expected))
    report(path, "tfport on the CPU", "float32", _host_times(path, on_cpu, BATCHES[:2]))


def _measured(
    path: Path, device: str, options: tfport.GpuOptions, example: dict[str, Any], expected: dict[str, Any]
) -> dict[str, Any]:
    began = time.perf_counter()
    session = tfport.Session(str(path), device=device, gpu=options)
    call = session.signature(SIGNATURE)
    call(**example)
    result: dict[str, Any] = {"first_s": round(time.perf_counter() - began, 2), **_host_times(path, call)}
    if device != "auto":
        result |= _device_times(path, session)
    answers = call(**example)
    result["difference"] = max(
        float(np.abs(answers[name] - wanted).max() / max(np.abs(wanted).max(), 1e-30))
        for name, wanted in expected.items()
    )
    return result


def _host_times(path: Path, call: Any, batches: Sequence[int] = BATCHES) -> dict[str, float]:
    times = {}
    for batch in batches:
        inputs = inputs_of(path, batch)
        times[f"host_{batch}"] = _prepared_ms(lambda inputs=inputs: call(**inputs))
    return times


def _device_times(path: Path, session: tfport.Session) -> dict[str, float]:
    """With inputs and outputs in device memory, the same in each call, as in a CUDA graph of PyTorch.

    A call returns when the GPU has computed.
    """
    times = {}
    bound = session.bind(SIGNATURE, in_place=True)
    for batch in BATCHES:
        inputs = inputs_of(path, batch)
        if any(array.dtype == object for array in inputs.values()):
            continue
        there = {name: _uploaded(array) for name, array in inputs.items()}
        times[f"device_{batch}"] = _prepared_ms(lambda there=there: bound(**there))
    return times


def _prepared_ms(call: Callable[[], Any]) -> float:
    """The median time of a call, once all is prepared for its shapes and `auto` has chosen."""
    for _ in range(3):
        call()
    for thread in threading.enumerate():
        if thread.name == RACE:
            thread.join()
    PREPARATIONS.wait()
    return median_ms(call)


def _uploaded(array: np.ndarray) -> DeviceArray:
    return DeviceArray(ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0))


if __name__ == "__main__":
    each_model(measure)
