"""What a text tells about itself if no message in it is known: whose code raised it, and of which release.

The statements come from the paths of a traceback alone: packages keep their files in folders
that differ between releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

FOLDERS = {
    "TensorFlow 1.15 to 2.1 (the folder tensorflow_core)": r"\btensorflow_core/",
    "TensorFlow 1 (tensorflow/contrib)": r"\btensorflow/contrib/",
    "the Keras inside TensorFlow (up to 2.5; a private copy later)": r"\btensorflow(_core)?/python/keras/",
    "the package tf_keras (Keras 2)": r"\btf_keras/",
    "Keras 2.13 to 2.15 (keras/src/engine)": r"(?<!\w)keras/src/engine/",
    "Keras 3 (keras/src)": r"(?<!\w)keras/src/(models|ops|trainers|random|backend/common|layers/layer\.py)",
    "Keras 1.0 to 2.12 (keras/engine)": r"(?<!\w)(?<!python/)keras/engine/",
}
"""What a folder in a path stands for."""
PYTHON = re.compile(r"[Pp]ython([23])\.?(\d{1,2})/(?:lib|Lib|site-packages|dist-packages)")
FRAME = re.compile(r'File "([^"]{1,400})", line \d{1,6}')
PACKAGE = re.compile(r"(?:site|dist)-packages/([A-Za-z]\w{0,80})")


def clues(text: str) -> list[str]:
    """True statements about a text that contains no known message; none if it has no paths."""
    return list(_clues(text.replace("\\\\", "/").replace("\\", "/")))


def _clues(text: str) -> Iterator[str]:
    releases = [name for name, pattern in FOLDERS.items() if re.search(pattern, text)]
    if releases:
        yield f"the paths are those of {', and of '.join(releases)}"
    if python := PYTHON.search(text):
        yield f"it ran on Python {python[1]}.{python[2]}"
    frames = FRAME.findall(text)
    if not frames:
        return
    if package := PACKAGE.search(frames[-1]):
        yield f"the last file of the traceback is of the package {package[1]}"
    else:
        yield f"the last file of the traceback is none of an installed package: {frames[-1]}"
