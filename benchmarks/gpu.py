"""`make bench-gpu`: tfport on a GPU, beside PyTorch with networks of the same architecture.

    python benchmarks/gpu.py MODELS… [-o FILE.json]

MODELS are SavedModels of `runtime_models.py`, real or filled (`outlined_models.py`). For each batch size: the
median time from arrays on the host to arrays on the host, and with inputs and outputs in device memory.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

import tfport
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.gpu_options import GpuOptions

BATCHES = (1, 8, 64)
PRECISIONS = ("tf32", "float32", "float16", "bfloat16")
RUNS, WARM_UP = 40, 6
SIGNATURE = "serving_default"


def median_ms(call: Callable[[], Any]) -> float:
    for _ in range(WARM_UP):
        call()
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return round(statistics.median(times) * 1e3, 3)


def inputs_of(path: Path, batch: int) -> dict[str, Any]:
    """Inputs like those of the model's file, for a batch."""
    random = np.random.default_rng(0)
    made: dict[str, Any] = {}
    for name, example in np.load(path / "inputs_1.npz").items():
        shape = (batch, *example.shape[1:])
        if example.dtype.kind == "S":
            made[name] = np.array([example[0]] * batch, object)
        elif example.dtype.kind == "i":
            made[name] = random.integers(0, max(int(example.max()), 1), shape).astype(example.dtype)
        else:
            made[name] = random.random(shape, np.float32)
    return made


def measured(path: Path) -> dict[str, Any]:
    """Times and differences of one model, by precision."""
    example = inputs_of(path, 8)
    expected = tfport.Session(str(path)).signature(SIGNATURE)(**example)
    return {precision: _measured(path, precision, example, expected) for precision in PRECISIONS}


def _measured(
    path: Path, precision: str, example: dict[str, Any], expected: dict[str, Any]
) -> dict[str, Any]:
    began = time.perf_counter()
    options = GpuOptions(precision=precision, require=True)
    session = tfport.Session(str(path), device="cuda", gpu=options)
    call, bound = session.signature(SIGNATURE), session.bind(SIGNATURE)
    call(**example)
    result: dict[str, Any] = {"first_s": round(time.perf_counter() - began, 2)}
    for batch in BATCHES:
        inputs = inputs_of(path, batch)
        result[f"host_{batch}"] = median_ms(lambda inputs=inputs: call(**inputs))
        if all(array.dtype != object for array in inputs.values()):
            there = {
                n: DeviceArray(ort.OrtValue.ortvalue_from_numpy(a, "cuda", 0)) for n, a in inputs.items()
            }
            result[f"device_{batch}"] = median_ms(lambda there=there: _finished(bound(**there)))
    answers = call(**example)
    result["difference"] = max(
        float(np.abs(answers[name] - wanted).max() / max(np.abs(wanted).max(), 1e-30))
        for name, wanted in expected.items()
    )
    return result


def _uploaded(array: np.ndarray) -> DeviceArray:
    return DeviceArray(ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0))


def _finished(outputs: dict[str, DeviceArray]) -> None:
    """Wait for the GPU."""
    import torch

    torch.cuda.synchronize()
    assert outputs


def torch_times(path: Path) -> dict[str, Any]:
    """PyTorch with a network of the same architecture: eager, and as a CUDA graph."""
    import torch
    import torchvision

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    result: dict[str, Any] = {}
    for kind, dtype in (("tf32", torch.float32), ("float16", torch.float16)):
        network = getattr(torchvision.models, path.name)(weights=None).eval().cuda().to(dtype)
        network = network.to(memory_format=torch.channels_last)
        for batch in BATCHES:
            image = torch.rand(batch, 3, 224, 224, device="cuda", dtype=dtype)
            image = image.to(memory_format=torch.channels_last)
            with torch.inference_mode():

                def eager(network: Any = network, image: Any = image) -> None:
                    network(image)
                    torch.cuda.synchronize()

                result[f"{kind}_eager_{batch}"] = median_ms(eager)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    network(image)

                def replay(graph: Any = graph) -> None:
                    graph.replay()
                    torch.cuda.synchronize()

                result[f"{kind}_graph_{batch}"] = median_ms(replay)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure tfport on a GPU.")
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("-o", type=Path, help="write the results as JSON")
    parser.add_argument("--contender", choices=CONTENDERS, help="measure one contender, in this process")
    args = parser.parse_args()
    if args.contender:
        (path,) = args.models
        print(json.dumps(CONTENDERS[args.contender](path)))
        return 0
    results: dict[str, Any] = {}
    for path in args.models:
        results[path.name] = {name: _in_process(path, name) for name in CONTENDERS}
        print(path.name, json.dumps(results[path.name]), flush=True)
        if args.o:
            args.o.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def _in_process(path: Path, contender: str) -> dict[str, Any] | None:
    """The results of a contender in a process of its own: two that use one GPU disturb each other."""
    command = [sys.executable, __file__, str(path), "--contender", contender]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


CONTENDERS: dict[str, Callable[[Path], dict[str, Any]]] = {"tfport": measured, "torch": torch_times}

if __name__ == "__main__":
    sys.exit(main())
