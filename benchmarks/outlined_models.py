"""Models without their large weights, for machines that models cannot be copied to.

    python benchmarks/outlined_models.py outline MODEL OUTLINE     a SavedModel without its large weights
    python benchmarks/outlined_models.py fill OUTLINE MODEL        the model again, with random ones

The speed of a model does not depend on its weights, and two runtimes can be compared with any. Random weights
have the mean and the deviation of the real ones.
"""

import json
import shutil
import sys
import zlib
from pathlib import Path

import numpy as np

from tfport.formats.checkpoint.read import open_checkpoint
from tfport.formats.checkpoint.write import write_bundle
from tfport.formats.files import Folder

LARGE = 4096
"""Elements from which a tensor of floats is left out."""
FLOAT = 1
PREFIX = "variables/variables"
OUTLINE = "weights.json"


def outline(model: Path, out: Path) -> None:
    shutil.copytree(model, out, ignore=shutil.ignore_patterns("variables", "*.onnx", "inputs_*.npz"))
    checkpoint = open_checkpoint(Folder(model), PREFIX)
    left_out, kept = {}, {}
    for name in checkpoint.names():
        entry, array = checkpoint.entry(name), checkpoint.read(name)
        if entry.dtype == FLOAT and array.size >= LARGE:
            left_out[name] = [list(array.shape), float(array.mean()), float(array.std())]
        else:
            kept[name] = (array, entry.dtype)
    write_bundle(out / PREFIX, kept)
    (out / OUTLINE).write_text(json.dumps(left_out))


def fill(outlined: Path, out: Path) -> None:
    shutil.copytree(outlined, out, ignore=shutil.ignore_patterns("variables", OUTLINE))
    checkpoint = open_checkpoint(Folder(outlined), PREFIX)
    tensors = {name: (checkpoint.read(name), checkpoint.entry(name).dtype) for name in checkpoint.names()}
    for name, (shape, mean, deviation) in json.loads((outlined / OUTLINE).read_text()).items():
        random = np.random.default_rng(zlib.crc32(name.encode()))
        values = mean + deviation * random.standard_normal(shape, np.float32)
        tensors[name] = (values.astype(np.float32), FLOAT)
    write_bundle(out / PREFIX, tensors)


if __name__ == "__main__":
    {"outline": outline, "fill": fill}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
