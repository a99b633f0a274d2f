"""`make bench-fix`: the time and memory to rewrite ResNet-50 for an older release.

Beside it what TensorFlow itself needs to load the model and write it again, in the same run. A
process for each, so that memory is its own; the model is made once, in `.cache/`.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from run import QUIET, resnet50

TARGET = "tensorflow==1.15.5"
MEGA = 1e6
FIX = """
import json, resource, sys, tempfile, time
start = time.perf_counter()
import tfport
from tfport.atlas.target import resolve_targets
from tfport.fix.attempt import ModelForm, attempt
from tfport.fix.fix import fix_model
from tfport.fix.options import FixOptions
model, target = tfport.load(sys.argv[1]), resolve_targets(sys.argv[2])[0]
read = time.perf_counter()
attempt(model, target, ModelForm.AS_IT_IS, FixOptions())
rewritten = time.perf_counter()
fixed = fix_model(model, target, FixOptions())
compared = time.perf_counter()
with tempfile.TemporaryDirectory() as folder:
    fixed.save(folder + "/out")
written = time.perf_counter()
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
stages = {"read": read - start, "rewrite": rewritten - read, "rewrite and compare": compared - rewritten}
print(json.dumps({**stages, "write": written - compared, "memory": most, "verdict": fixed.verdict}))
"""
TENSORFLOW = """
import json, resource, sys, tempfile, time
start = time.perf_counter()
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
read = time.perf_counter()
with tempfile.TemporaryDirectory() as folder:
    tf.saved_model.save(model, folder + "/out", signatures=dict(model.signatures))
written = time.perf_counter()
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"read": read - start, "write": written - read, "memory": most}))
"""


def told(code: str, *words: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", code, *words], check=True, capture_output=True, text=True, env=QUIET
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    path = resnet50()
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    print(f"ResNet-50 ({size / MEGA:.0f} MB) for {TARGET}")
    ours, theirs = told(FIX, str(path), TARGET), told(TENSORFLOW, str(path))
    for name, found in (("tfport fix", ours), ("TensorFlow, load and save", theirs)):
        stages = ", ".join(f"{k} {v:.1f} s" for k, v in found.items() if k not in ("memory", "verdict"))
        print(f"  {name}: {stages}; most memory {found['memory'] / MEGA:.0f} MB")
    print(f"  verdict: {ours['verdict']}")


if __name__ == "__main__":
    main()
