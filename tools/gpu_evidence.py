"""`make evidence-gpu`: what was run on a GPU, written to docs/evidence/gpu.md and gpu.json.

    python tools/gpu_evidence.py MODELS…              run everything here, on a machine with a GPU
    python tools/gpu_evidence.py --parts FOLDER       from the files of parts that ran one by one
    python tools/gpu_evidence.py --render             write gpu.md from gpu.json again

The parts are `ops.json` of `gpu_ops.py`, `times.json` and `peers.json` of `benchmarks/gpu.py`,
`serving/*.json` of `benchmarks/serve_gpu.py`, and `machine.json`, what `tfport env --gpu --json` prints.
MODELS are SavedModels of `benchmarks/runtime_models.py`, real or filled (`benchmarks/outlined_models.py`).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import gpu_ops
from gpu_evidence_page import render
from tfport.runtime.engines.gpu.availability import gpu_report

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs/evidence"
PROCESSES, SECONDS = 8, 1800
"""For the cases of ops."""


def run_ops() -> dict[str, Any]:
    """The recorded cases of ops through the GPU: how many pass, and which do not."""
    with tempfile.TemporaryDirectory() as folder:
        return gpu_ops.run(gpu_ops.all_files(), Path(folder, "ops.json"), "cuda", PROCESSES, SECONDS)


def run_benchmark(models: list[Path]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "times.json"
        command = [sys.executable, str(ROOT / "benchmarks/gpu.py"), *map(str, models), "-o", str(file)]
        subprocess.run(command, check=True)
        return dict(json.loads(file.read_text()))


def collected(folder: Path, earlier: dict[str, Any]) -> dict[str, Any]:
    """A record of parts that ran one by one; what is missing is as it was."""
    times: dict[str, Any] = {}
    for name in ("times.json", "peers.json"):
        if (folder / name).exists():
            for model, contenders in json.loads((folder / name).read_text()).items():
                times.setdefault(model, {}).update(contenders)
    parts = {"machine": folder / "machine.json", "ops": folder / "ops.json"}
    read = {part: json.loads(file.read_text()) for part, file in parts.items() if file.exists()}
    serving = sorted((folder / "serving").glob("*.json"))
    if serving:
        read["serving"] = [json.loads(file.read_text()) for file in serving]
    return {**earlier, "date": date.today().isoformat(), **read, **({"times": times} if times else {})}


def main() -> int:
    parser = argparse.ArgumentParser(description="Run everything on a GPU and record it.")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="collect what ran in parts")
    parser.add_argument("--render", action="store_true", help="only write gpu.md from gpu.json")
    args = parser.parse_args()
    file = OUT / "gpu.json"
    if args.parts:
        record = collected(args.parts, json.loads(file.read_text()))
        file.write_text(json.dumps(record, indent=1) + "\n")
    elif not args.render:
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
