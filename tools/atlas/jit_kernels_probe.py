"""Write the kernels that a release registers once XLA has compiled a function.

    python jit_kernels_probe.py PACKAGE MODEL OUT

MODEL is a SavedModel that must be compiled (`_XlaMustCompile`), with an input `x` of float32 (2, 2).
OUT gets a KernelList. It needs only the standard library.
"""

import ctypes
import sys
from pathlib import Path

from native import Status, load
from session import fetch, load_session

FED = {"feeds": {"x:0": [1, [2, 2], [1, 2, 3, 4]]}, "fetches": ["y:0"]}


def main(package: Path, model: str, out: Path) -> None:
    tf = load(package)
    status, graph = Status(tf), ctypes.c_void_p(tf.TF_NewGraph())
    session = load_session(tf, graph, model, ["serve"], status)
    assert status.ok, status.message
    fetch(tf, graph, session, FED, status)
    assert status.ok, status.message
    out.write_bytes(tf.TF_GetAllRegisteredKernels(Status(tf).handle).contents.bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
