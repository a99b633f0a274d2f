"""Packages of the same age as a release: those that pip chooses today for a release of 2019 do not import.

Each table has rows `(before, requirements)`: a row applies to releases older than `before` that no
earlier row covers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.atlas.versions import version_key

OLD_PIP = "pip>=21,<22; python_version < '3.7'"
"""The pip of Python 3.6 supports too few wheel tags, and newer ones do not support Python 3.6."""
OLD = ("protobuf<3.21", "wrapt<1.15", "setuptools<60")
Table = Sequence[tuple[str, Sequence[str]]]
TENSORFLOW: Table = (
    ("2.1", (*OLD, "numpy<1.17", "gast==0.2.2", "h5py<2.11")),
    ("2.5", (*OLD, "numpy<1.20", "gast<0.4", "h5py<2.11")),
    ("2.12", (*OLD, "numpy<1.24", "gast<0.5", "h5py<3.9", "flatbuffers<23")),
    ("2.16", ("wrapt<1.15", "setuptools<70")),
    ("2.18", ("numpy<2", "setuptools<70")),
)
TFLITE_RUNTIME: Table = (("99", ("numpy<2",)),)
KERAS: Table = (
    ("2.4", ("tensorflow==1.15.5", *TENSORFLOW[0][1])),
    ("2.5", ("tensorflow==2.4.4", *TENSORFLOW[1][1])),
    *((f"2.{minor + 1}", (f"tensorflow==2.{minor}.*", *TENSORFLOW[2][1])) for minor in range(6, 12)),
    *((f"2.{minor + 1}", (f"tensorflow==2.{minor}.*", *TENSORFLOW[3][1])) for minor in range(12, 16)),
    ("3.4", ("tensorflow==2.16.2", *TENSORFLOW[4][1])),
    ("99", ("tensorflow",)),
)
"""A Keras needs a TensorFlow, which the package does not require."""
TABLES = {"tflite-runtime": TFLITE_RUNTIME, "ai-edge-litert": (), "keras": KERAS, "tf-keras": ()}


def dependencies(package: str, release: str) -> list[str]:
    """The requirements to install with a release; packages that are not listed are builds of TensorFlow."""
    order = version_key(release)
    rows = TABLES.get(package, TENSORFLOW)
    return next((list(wanted) for before, wanted in rows if order < version_key(before)), [])
