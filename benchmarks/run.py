"""`make bench`: compare the speed of tfport with other tools, as ratios of one run on one machine.

Run with the Python of an environment that has TensorFlow. Models are made once, in `.cache/`.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "bench"
BIN = Path(sys.executable).parent
ROUNDS = 5
QUIET = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
QUIET.pop("PYTHONDONTWRITEBYTECODE", None)  # pip compiles what it installs; tfport is compiled, too


def resnet50() -> Path:
    """Return ResNet-50 as exported by Keras, untrained: 100 MB of variables."""
    path = CACHE / "resnet50"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        code = f"import keras; keras.applications.ResNet50(weights=None).export({str(path)!r})"
        subprocess.run([sys.executable, "-c", code], check=True, env=QUIET, stdout=subprocess.DEVNULL)
    return path


def seconds(command: list[str | Path]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, env=QUIET, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def compare(title: str, commands: dict[str, list[str | Path]]) -> None:
    """Time commands in turn, so that other load affects them equally, and print ratios to the first."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    first = next(iter(medians.values()))
    print(f"\n{title}\n\n| | seconds (median of {ROUNDS}) | times the first |\n|---|---|---|")
    for name, median in medians.items():
        print(f"| {name} | {median:.3f} | {median / first:.1f} |")


def many(count: int = 1000) -> Path:
    """Return a folder of small models, copies of the recorded ones."""
    folder = CACHE / f"models_{count}"
    if not folder.exists():
        recorded = sorted(path.parent for path in (ROOT / "tests" / "models").glob("*/saved_model.pb"))
        for number in range(count):
            model = recorded[number % len(recorded)]
            shutil.copytree(model, folder / f"{number:04}_{model.name}")
    return folder


def main() -> None:
    model = resnet50()
    load = f"import tensorflow as tf; tf.saved_model.load({str(model)!r})"
    tfport, runs, fails = BIN / "tfport", "tensorflow==2.21.0", "tensorflow==2.8.4"
    compare(
        "Inspect a ResNet-50 SavedModel, whole process",
        {
            "`tfport inspect`": [tfport, "inspect", model],
            "`tfport inspect --json`": [tfport, "inspect", model, "--json"],
            "`saved_model_cli show --all`": [BIN / "saved_model_cli", "show", "--all", "--dir", model],
            "`tf.saved_model.load`": [sys.executable, "-c", load],
        },
    )
    compare(
        "Check a ResNet-50 SavedModel, whole process",
        {
            f"`tfport check --on {runs}`": [tfport, "check", model, "--on", runs],
            f"`tfport check --on {fails} --json`": [
                tfport, "check", model, "--on", fails, "--json", "--fail-on", "never"
            ],
            "`tfport matrix`, 100 releases, CPU and GPU, 2 loaders": [tfport, "matrix", model],
            "`saved_model_cli show --all`": [BIN / "saved_model_cli", "show", "--all", "--dir", model],
            "`tf.saved_model.load`": [sys.executable, "-c", load],
        },
    )  # fmt: skip
    folder = many()
    took = seconds([tfport, "check", folder, "--on", fails, "--json", "--fail-on", "never"])
    print(f"\n`tfport check` of a folder: {len(list(folder.iterdir())) / took:.0f} models per second")
    for other in ("graph_build.py", "atlas.py"):
        print(flush=True)
        subprocess.run([sys.executable, ROOT / "benchmarks" / other], check=True)


if __name__ == "__main__":
    main()
