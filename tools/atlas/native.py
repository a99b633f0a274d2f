"""TensorFlow's C API in this process, from the libraries of one release's wheel.

What loads a library is in `tfport.atlas.capi`. The Python that runs this may be a
bare one, under an emulator say: it needs the standard library only.
"""

import ctypes
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "src"))

from tfport.atlas.capi import Status, declare, define, entries, open_library

__all__ = ["LIBRARIES", "Status", "define", "entries", "load", "open_library"]

LIBRARIES = (
    "libtensorflow_framework.so*",
    "libtensorflow_cc.so*",
    "python/lib_pywrap_tensorflow_common.so",
    "python/_pywrap_tensorflow_internal.so",
    "python/_pywrap_tensorflow.so",  # until 1.2
)


def load(package: Path) -> ctypes.CDLL:
    """Load the release whose package folder this is; its last library finds the C API of all."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for pattern in LIBRARIES:
        for path in sorted(package.glob(pattern)):
            library = open_library(path)
    return declare(library)
