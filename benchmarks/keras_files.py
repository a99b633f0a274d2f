"""`make bench-keras`: run `.keras` files with tfport, and with Keras 3 on each backend that is installed.

    python benchmarks/keras_files.py [MODEL…]

Each contender runs in its own process, in turn, so that other load affects all equally. The first answer
counts from the start of the process. Models are made once, in `.cache/`.
"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from keras_contenders import BACKENDS
from keras_models import BATCH, MODELS

from tfport.errors import Error
from tfport.runtime.bench.bench import ROUNDS, Measured, run_worker, summarize

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache" / "bench-keras"
SECONDS = 6.0
CONTENDERS = ["tfport", *(name for name, package in BACKENDS.items() if importlib.util.find_spec(package))]


def make_model(name: str) -> Path:
    path = CACHE / f"{name}.keras"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, HERE / "keras_models.py", name, path], check=True, capture_output=True
        )
    return path


def measured(name: str) -> dict[str, Measured]:
    """Measure each contender that can run the model."""
    path = make_model(name)
    job = {"model": str(path), "signature": "serving_default", "inputs": str(path.with_suffix(".npz")),
           "engine": "auto", "threads": None, "seconds": SECONDS / ROUNDS}  # fmt: skip
    rounds: dict[str, list] = {contender: [] for contender in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for contender in list(rounds):
                command = [sys.executable, str(HERE / "keras_contenders.py")]
                try:
                    rounds[contender].append(run_worker(command, {**job, "contender": contender}, folder))
                except Error as error:
                    print(f"{name}: {error}"[:300], file=sys.stderr)
                    del rounds[contender]
    return {contender: summarize(contender, BATCH, results) for contender, results in rounds.items()}


def main(names: list[str]) -> None:
    print("| model | contender | ms a call | first answer, s | MB | tfport is faster | and sooner |")
    print("|---|---|---|---|---|---|---|")
    for name in names or MODELS:
        results = measured(name)
        ours = results.get("tfport")
        for contender, result in results.items():
            faster = f"{result.latency / ours.latency:.2f}x" if ours else "—"
            sooner = f"{result.first / ours.first:.1f}x" if ours else "—"
            print(
                f"| {name} | {contender} | {result.latency * 1e3:.2f} | {result.first:.2f} "
                f"| {result.resident / 1e6:.0f} | {faster} | {sooner} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
