"""TensorFlow's C API in this process, from the libraries of one release's wheel.

`tfport.atlas.library_probe` loads a library. This module needs only the standard library, because
it may run on a minimal Python, such as one under an emulator.
"""

import ctypes
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "src"))

from tfport.atlas.library_probe import Status, declare, define, entries, open_library

__all__ = ["LIBRARIES", "Status", "define", "entries", "load", "open_library"]

LIBRARIES = (
    "libtensorflow_framework.so*",
    "libtensorflow_cc.so*",
    "python/lib_pywrap_tensorflow_common.so",
    "python/_pywrap_tensorflow_internal.so",
    "python/_pywrap_tensorflow.so",  # until 1.2
)


def load(package: Path) -> ctypes.CDLL:
    """Load the release in this package folder; return its last library, which has the C API."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for pattern in LIBRARIES:
        for path in sorted(package.glob(pattern)):
            library = open_library(path)
    return declare(library)
