"""`make bench-runtime`: compare tfport's runtime with other engines, in one run on one machine.

    python benchmarks/runtime.py [MODEL…]

Each contender runs in its own process, in turn, so that other load affects all equally.
`—` means that it cannot run the model. Models are made once, in `.cache/`.
"""

import math
import subprocess
import sys
import tempfile
from pathlib import Path

from runtime_models import BATCHES, MODELS

from tfport.errors import Error
from tfport.runtime.bench.bench import ROUNDS, Measured, run_worker, summarize

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache" / "bench-runtime"
CONTENDERS = ("tfport", "tensorflow", "tf2onnx", "openvino")
SECONDS = 3.0
OPSET = "17"
PACKAGES = {
    "tfport": ["tfport"],
    "tensorflow": ["tensorflow"],
    "tf2onnx": ["onnxruntime"],
    "openvino": ["openvino"],
}


def make_model(name: str) -> Path:
    path = CACHE / name
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, HERE / "runtime_models.py", name, path], check=True, capture_output=True
        )
        convert = [sys.executable, "-m", "tf2onnx.convert", "--saved-model", path, "--opset", OPSET,
                   "--output", path / "tf2onnx.onnx"]  # fmt: skip
        if subprocess.run(convert, capture_output=True).returncode:
            print(f"tf2onnx does not convert {name}", file=sys.stderr)
    return path


def measured(name: str, batch: int) -> list[Measured | None]:
    """Measure each contender; None for one that cannot run the model."""
    path = make_model(name)
    job = {"model": str(path), "signature": "serving_default", "inputs": f"{path}/inputs_{batch}.npz",
           "engine": "onnxruntime", "threads": None, "seconds": SECONDS / ROUNDS}  # fmt: skip
    rounds: dict[str, list] = {contender: [] for contender in CONTENDERS}
    failed: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for contender in set(CONTENDERS) - failed:
                command = [sys.executable, str(HERE / "runtime_contenders.py")]
                try:
                    rounds[contender].append(run_worker(command, {**job, "contender": contender}, folder))
                except Error as error:
                    print(f"{name}: {error}"[:200], file=sys.stderr)
                    failed.add(contender)
    return [None if c in failed else summarize(c, batch, rounds[c]) for c in CONTENDERS]


def row(name: str, batch: int, results: list[Measured | None]) -> str:
    def cells(text) -> str:
        return " | ".join("—" if result is None else text(result) for result in results)

    return (
        f"| {name}, {batch} | {cells(lambda m: f'{m.latency * 1e3:.2f}')} "
        f"| {cells(lambda m: f'{m.first:.2f}')} | {cells(lambda m: f'{m.resident / 1e6:.0f}')} |"
    )


def main(names: list[str]) -> None:
    heads = [f"{what} {c}" for what in ("ms", "first s", "MB") for c in CONTENDERS]
    print("| model, batch | " + " | ".join(heads) + " |\n|---" + "|---" * len(heads) + "|")
    tables = {}
    for name in names or MODELS:
        for batch in BATCHES:
            tables[name, batch] = measured(name, batch)
            print(row(name, batch, tables[name, batch]), flush=True)
    for contender in CONTENDERS[1:]:
        summary(contender, list(tables.values()))
    sizes()


def summary(contender: str, tables: list[list[Measured | None]]) -> None:
    at = CONTENDERS.index(contender)
    pairs = [(t[at], t[0]) for t in tables if t[at] is not None and t[0] is not None]

    def mean(of) -> float:
        return math.exp(sum(math.log(of(a) / of(b)) for a, b in pairs) / max(len(pairs), 1))

    slowest = min((a.latency / b.latency for a, b in pairs), default=0)
    print(
        f"\n{contender}: tfport is {mean(lambda m: m.latency):.2f}x faster (geometric mean of {len(pairs)}; "
        f"least {slowest:.2f}x), first answer {mean(lambda m: m.first):.1f}x faster, "
        f"memory {1 / mean(lambda m: m.resident):.2f}x"
    )


def sizes() -> None:
    """Print the size of each contender's packages, installed separately."""
    for contender, packages in PACKAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            source = [str(HERE.parent)] if contender == "tfport" else packages
            command = [sys.executable, "-m", "pip", "install", "-q", "--target", folder, *source]
            if subprocess.run(command, capture_output=True).returncode == 0:
                size = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
                print(f"{contender}: {size / 1e6:.0f} MB installed")


if __name__ == "__main__":
    main(sys.argv[1:])
