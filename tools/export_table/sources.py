"""Models of every format that tfport reads, drawn at random.

Packages of `tools/real_models.toml` have SavedModels, graphs, MetaGraphs with checkpoints and TensorFlow.js
models. Keras files are those that real releases saved (`tests/frontends/keras/recorded`), Keras SavedModels
those of `tests/truth/keras.tar.xz`. The `.tflite` files are what TensorFlow's converter wrote of the
SavedModels in the same run.
"""

from __future__ import annotations

import random
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import real_models  # noqa: E402

KERAS_FILES = ROOT / "tests/frontends/keras/recorded"
KERAS_SAVED_MODELS = ROOT / "tests/truth/keras.tar.xz"
PACKAGED = {
    "SavedModel": "saved_model",
    "frozen GraphDef": "graph_def",
    "MetaGraph and checkpoint": "meta_graph",
    "TensorFlow.js": "tfjs",
    "checkpoint": "checkpoint",
}
SAVED_BY = {
    "Keras 1 `.h5`": r"keras-1\..*\.h5",
    "Keras 2 `.h5`": r"(keras|tensorflow)-2\..*\.h5",
    "Keras 2 `.keras`": r"tensorflow-2\..*\.keras",
    "Keras 3 `.keras`": r"keras-3\..*\.keras",
}
KERAS_SAVED_MODEL = "Keras SavedModel"
LITE = "`.tflite`, converted"


def drawn(count: int, seed: int, folder: Path) -> Iterator[tuple[str, str, Path]]:
    """The format, the name and the path of each model; those of archives are unpacked into a folder."""
    for source, kind in PACKAGED.items():
        pool = [(package.folder, path) for package in _here() for k, path in package.models if k == kind]
        for base, path in _sample(pool, count, seed):
            yield source, f"{base.name}/{path}".rstrip("/"), base / path
    archives = sorted(KERAS_FILES.glob("*.tar.xz"))
    members = [(archive, name) for archive in archives for name in _names(archive)]
    for source, pattern in SAVED_BY.items():
        pool = [m for m in members if re.fullmatch(pattern, Path(m[1]).name)]
        for archive, name in _sample(pool, count, seed):
            out = folder / archive.name.partition(".")[0]
            with tarfile.open(archive) as file:
                file.extract(name, out, filter="data")
            yield source, f"{out.name}/{name}", out / name
    names = sorted({name.partition("/")[0] for name in _names(KERAS_SAVED_MODELS)})
    with tarfile.open(KERAS_SAVED_MODELS) as file:
        for name in _sample(names, count, seed):
            members_of = [m for m in file.getmembers() if m.name.startswith(f"{name}/")]
            file.extractall(folder / "keras", members_of, filter="data")
            yield KERAS_SAVED_MODEL, name, folder / "keras" / name


def _here() -> list[real_models.Package]:
    return [package for package in real_models.packages() if package.is_here()]


def _names(archive: Path) -> list[str]:
    with tarfile.open(archive) as file:
        return file.getnames()


def _sample(pool: list, count: int, seed: int) -> list:
    return sorted(random.Random(seed).sample(pool, min(count, len(pool))))
