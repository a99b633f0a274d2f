"""Which kernels a GPU runs for a model, and how long each takes: what to look at when a model is slow.

    python benchmarks/gpu_profile.py MODELS… [--precisions tf32 float16] [--batches 1 8 64] [-o FILE.json]

PyTorch's profiler records the kernels of the whole process, not only its own. For each model, precision and
batch size: the time of a call with inputs and outputs in device memory, the sum of its kernels and copies,
and these one by one. What is left of the time is Python and waiting.
"""

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import onnxruntime as ort
from gpu_timing import BATCHES, SIGNATURE, inputs_of, median_ms

import tfport
from tfport.runtime.engines.gpu.device_array import DeviceArray

CALLS = 10
"""Calls that are recorded."""
SHOWN = 12
LONGEST_NAME = 100


def profiled(path: Path, precision: str, batch: int) -> dict[str, Any]:
    import torch
    from torch.profiler import ProfilerActivity, profile

    options = tfport.GpuOptions(precision=precision, require=True)
    bound = tfport.Session(str(path), device="cuda", gpu=options).bind(SIGNATURE, in_place=True)
    there = {
        name: DeviceArray(ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0))
        for name, array in inputs_of(path, batch).items()
    }

    def call() -> None:
        bound(**there)
        torch.cuda.synchronize()

    took = median_ms(call)
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        repeat(call)
    kernels = kernels_of(recorded.key_averages())
    on_gpu = sum(kernel["us"] for kernel in kernels) / 1e3
    return {"model": path.name, "precision": precision, "batch": batch,
            "call_ms": took, "kernels_ms": round(on_gpu, 3), "kernels": kernels}  # fmt: skip


def repeat(call: Callable[[], None]) -> None:
    for _ in range(CALLS):
        call()


def kernels_of(averages: Iterable[Any]) -> list[dict[str, Any]]:
    """The kernels and copies of one call, the longest first."""
    kernels = [
        {
            "name": each.key[:LONGEST_NAME],
            "count": each.count / CALLS,
            "us": round(each.self_device_time_total / CALLS, 2),
        }
        for each in averages
        if each.self_device_time_total
    ]
    return sorted(kernels, key=lambda kernel: -kernel["us"])


def main() -> int:
    parser = argparse.ArgumentParser(description="List the kernels that a GPU runs for models.")
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--precisions", nargs="+", default=["tf32", "float16"])
    parser.add_argument("--batches", nargs="+", type=int, default=list(BATCHES))
    parser.add_argument("-o", type=Path, help="write the results as JSON")
    args = parser.parse_args()
    results = []
    for path in args.models:
        for precision in args.precisions:
            for batch in args.batches:
                results.append(result := profiled(path, precision, batch))
                print(*(result[key] for key in ("model", "precision", "batch", "call_ms", "kernels_ms")))
                for kernel in result["kernels"][:SHOWN]:
                    print(f"  {kernel['us']:9.1f} us {kernel['count']:6.1f} x {kernel['name']}")
                if args.o:
                    args.o.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
