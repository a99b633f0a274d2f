"""`make bench-fix`: the time and memory to rewrite models for an older release.

Beside it what TensorFlow itself needs to load each model and write it again, in the same run. A
process for each, so that memory is its own: the maximum resident size, also as a multiple of the
size of the model that the process writes. The models are those of `make bench-runtime`, made once, in
`.cache/`.

    python benchmarks/fix.py [--only resnet50 transformer] [--models FOLDER] [--without-tensorflow]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from run import QUIET, ROOT

MODELS = ("resnet50", "transformer")
CACHE = ROOT / ".cache" / "bench-fix"
MAKER = Path(__file__).with_name("runtime_models.py")
TARGET = "tensorflow==1.15.5"
MEGA = 1e6
MEASURE = """
import json, resource, sys, tempfile, time
from pathlib import Path
def finish(start, stages, save):
    with tempfile.TemporaryDirectory() as folder:
        before = time.perf_counter()
        save(folder + "/out")
        stages["write"] = time.perf_counter() - before
        stages["whole"] = time.perf_counter() - start
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": stages, "peak": peak, "written": size}
start = time.perf_counter()
"""
FIX = """
import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.fix import fix_model
from tfport.fix.options import FixOptions
model, target = tfport.load(sys.argv[1]), resolve_targets(sys.argv[2])[0]
read, began = time.perf_counter(), {}
fixed = fix_model(model, target, FixOptions(), lambda doing: began.setdefault(doing, time.perf_counter()))
compared = time.perf_counter()
rewritten = began.get("comparing outputs", compared)
stages = {"read": read - start, "rewrite": rewritten - read, "compare": compared - rewritten}
print(json.dumps({**finish(start, stages, fixed.save), "verdict": fixed.verdict}))
"""
TENSORFLOW = """
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
read = time.perf_counter()
save = lambda path: tf.saved_model.save(model, path, signatures=dict(model.signatures))
print(json.dumps(finish(start, {"read": read - start}, save)))
"""


def measured(code: str, *words: str) -> dict:
    """Run the code in a process of its own: its seconds, its peak memory and the size of what it wrote."""
    command = [sys.executable, "-c", MEASURE + code, *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=QUIET)
    return json.loads(done.stdout.splitlines()[-1])


def made(name: str, folder: Path) -> Path:
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, MAKER, name, path]
        subprocess.run(command, check=True, env=QUIET, stdout=subprocess.DEVNULL)
    return path


def row(name: str, tool: str, result: dict) -> str:
    seconds, peak, written = result["seconds"], result["peak"], result["written"]
    stages = ", ".join(f"{stage} {value:.1f}" for stage, value in seconds.items() if stage != "whole")
    memory = f"{peak / MEGA:.0f} MB | {peak / written:.1f}"
    written = f"{written / MEGA:.0f} MB"
    return f"| {name} | {tool} | {seconds['whole']:.1f} ({stages}) | {written} | {memory} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the time and memory to rewrite models.")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--models", type=Path, default=CACHE, help="the folder of the models")
    parser.add_argument("--without-tensorflow", action="store_true", help="measure tfport alone")
    args = parser.parse_args()
    print(f"Rewritten for {TARGET}\n")
    print("| model | tool | seconds (stages) | written model | peak memory | times the written model |")
    print("|---|---|---|---|---|---|")
    for name in args.only:
        path = str(made(name, args.models))
        fixed = measured(FIX, path, TARGET)
        print(row(name, f"`tfport fix`: {fixed['verdict']}", fixed), flush=True)
        if not args.without_tensorflow:
            print(row(name, "TensorFlow, load and save", measured(TENSORFLOW, path)), flush=True)


if __name__ == "__main__":
    main()
