"""Models of `make bench-real` for constructs that too few published models have, made with TensorFlow.

    python benchmarks/real_generated.py [NAME…]     write those that are missing (default: all)

They go to the cache of `tools/real_models.py`, as SavedModels with random weights. The graphs are in
`real_generated_recurrent.py` and `real_generated_images.py`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import real_generated_images
import real_generated_recurrent
from real_generated_parts import MAKERS

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))

import real_models

GENERATED = "generated/"
FOLDER = real_models.CACHE / "generated"
DECLARE = (real_generated_recurrent, real_generated_images)
"""The modules that fill `MAKERS`."""


def generated_models() -> Iterator[tuple[str, Path]]:
    """The name and the path of each model that was written."""
    for name in MAKERS:
        if (FOLDER / name).is_dir():
            yield GENERATED + name, FOLDER / name


def write(name: str) -> None:
    """Write a model, unless it is there."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    v1 = tf.compat.v1
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as around, tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        v1.set_random_seed(0)
        inputs, outputs = MAKERS[name](tf)
        with v1.Session(graph=graph) as session:
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            v1.saved_model.simple_save(session, f"{around}/model", inputs, outputs)
        shutil.move(f"{around}/model", FOLDER / name)


def main() -> None:
    chosen = sys.argv[1:] or list(MAKERS)
    for name in chosen:
        if not (FOLDER / name).exists():
            write(name)
            print(f"wrote {GENERATED}{name}")


if __name__ == "__main__":
    main()
