"""Load libraries with the TF_LoadLibrary of a release, each in a child process, and print what happened.

    python release_probe.py PACKAGE local|global < PATHS

PACKAGE is the folder of TensorFlow's package. `global` lets the libraries see all of its
symbols, `local` only those of the libraries that they link to. Prints a line of JSON for each
path. It needs the standard library, and a C compiler for stubs of missing Python symbols.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from addon_probe import LIBRARIES, Status, declare, entries, satisfy
from child_process import in_child


def main(package: Path, scope: str) -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    tf = load_release(package, os.RTLD_LAZY | (os.RTLD_GLOBAL if scope == "global" else os.RTLD_LOCAL))
    for line in sys.stdin:
        path = line.rstrip("\n")
        print(json.dumps(in_child(lambda path=path: load(tf, path))), flush=True)


def load_release(package: Path, mode: int) -> ctypes.CDLL:
    """Load the release as its Python package does, with stubs for missing symbols of its Python."""
    paths = [path for pattern in LIBRARIES for path in sorted(package.glob(pattern))]
    stubbed: list[str] = []
    for path in paths:
        while True:
            try:
                library = ctypes.CDLL(str(path), mode)
                break
            except OSError as error:
                if not satisfy(str(error), paths, stubbed):
                    raise
    return declare(library)


def load(tf: ctypes.CDLL, path: str) -> dict:
    status = Status(tf)
    handle = ctypes.c_void_p(tf.TF_LoadLibrary(path.encode(), status.handle))
    if not status.ok:
        return {"loads": False, "says": status.message}
    return {"loads": True, "ops": len(entries(tf.TF_GetOpList(handle).bytes()))}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
