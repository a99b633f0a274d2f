"""`make evidence-gpu`: what was run on a GPU, written to docs/evidence/gpu.md and gpu.json.

    python tools/gpu_evidence.py MODELS…              run everything here, on a machine with a GPU
    python tools/gpu_evidence.py --render             write gpu.md from gpu.json again

MODELS are SavedModels of `benchmarks/runtime_models.py`, real or filled (`benchmarks/outlined_models.py`).
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from tfport.runtime.engines.gpu.availability import gpu_report

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs/evidence"
OPS = ["math", "nn", "array", "image", "linalg", "signal", "control", "quantized"]
BATCHES = (1, 8, 64)
SUMMARY = re.compile(r"(\d+) (passed|failed|skipped|error)")


def run_ops() -> dict[str, Any]:
    """The recorded cases of ops through the GPU: how many pass, and which do not."""
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=no", "-p", "no:cacheprovider"]
    folders = [f"tests/runtime/ops/{family}" for family in OPS]
    environment = {**os.environ, "TFPORT_TEST_DEVICE": "cuda"}
    done = subprocess.run([*command, *folders], cwd=ROOT, env=environment, capture_output=True, text=True)
    counts = {kind: int(count) for count, kind in SUMMARY.findall(done.stdout.splitlines()[-1])}
    failed = re.findall(r"^FAILED \S+\[(.+?)\]", done.stdout, re.MULTILINE)
    return {"families": OPS, **counts, "which": failed}


def run_benchmark(models: list[Path]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "times.json"
        command = [sys.executable, str(ROOT / "benchmarks/gpu.py"), *map(str, models), "-o", str(file)]
        subprocess.run(command, check=True)
        return dict(json.loads(file.read_text()))


def render(record: dict[str, Any]) -> str:
    machine, ops = record["machine"], record["ops"]
    gpu = machine["gpus"][0]
    lines = [
        "# What was run on a GPU",
        "",
        "Written by `make evidence-gpu`; CI has no GPU. Times are medians of 40 calls in milliseconds, "
        "*host* from arrays to arrays, *device* with inputs and outputs in device memory. Weights are random "
        "numbers with the mean and deviation of the real ones.",
        "",
        f"{record['date']}: {gpu['name']}, compute capability {gpu['compute_capability']}, driver "
        f"{machine['driver']['version']}, {machine['onnxruntime']['package']} for CUDA "
        f"{machine['onnxruntime']['cuda']}, cuDNN {machine['cudnn']}.",
        "",
        "## Answers",
        "",
        f"Recorded cases of TensorFlow 2.21 ({', '.join(ops['families'])}) with every island on the GPU, "
        f"in full float32: **{ops['passed']:,} of {ops['passed'] + ops['failed']:,} pass**.",
        *(["", ops["note"]] if ops.get("note") else []),
        "",
        "## Times",
        "",
        "| model | precision | host 1 | host 8 | host 64 | device 1 | device 8 | device 64 | difference |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for model, contenders in record["times"].items():
        lines += [_row(model, precision, times) for precision, times in contenders["tfport"].items()]
        lines += _torch_rows(model, contenders.get("torch") or {})
    lines += ["", "*difference*: the largest, divided by the largest answer of the CPU.", ""]
    lines += [note + "\n" for note in record.get("notes", ())]
    return "\n".join(lines).rstrip() + "\n"


def _row(model: str, precision: str, times: dict[str, Any]) -> str:
    cells = [times.get(f"{kind}_{batch}", "") for kind in ("host", "device") for batch in BATCHES]
    return f"| {model} | {precision} | {' | '.join(map(str, cells))} | {times['difference']:.1e} |"


def _torch_rows(model: str, times: dict[str, Any]) -> list[str]:
    rows = []
    for precision in ("tf32", "float16"):
        for kind in ("eager", "graph"):
            cells = [str(times.get(f"{precision}_{kind}_{batch}", "")) for batch in BATCHES]
            if any(cells):
                rows.append(f"| {model}, PyTorch {kind} | {precision} |  |  |  | {' | '.join(cells)} |  |")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="Run everything on a GPU and record it.")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--render", action="store_true", help="only write gpu.md from gpu.json")
    args = parser.parse_args()
    file = OUT / "gpu.json"
    if not args.render:
        report = gpu_report()
        if report.problem:
            print(f"no GPU: {report.problem}", file=sys.stderr)
            return 1
        record = {
            "date": date.today().isoformat(),
            "machine": report.to_json(),
            "ops": run_ops(),
            "times": run_benchmark(args.models),
        }
        file.write_text(json.dumps(record, indent=1) + "\n")
    (OUT / "gpu.md").write_text(render(json.loads(file.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
