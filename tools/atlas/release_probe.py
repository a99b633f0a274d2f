"""Load the libraries of a release and write what they register.

    python release_probe.py PACKAGE OUT [LIBRARY…]

PACKAGE is the folder of TensorFlow's own package. Writes OUT/ops.pb (an OpList),
OUT/kernels.pb (a KernelList), OUT/kernels_session.pb (kernels that exist only after a
session was created, if any) and OUT/versions.json. For each LIBRARY, a path below
PACKAGE, writes OUT/libraries/LIBRARY.pb, the ops that it registers, and
LIBRARY.kernels.pb, the kernels that come with it, or OUT/libraries/LIBRARY.txt, why
it does not load. A library may crash, so each is loaded in a fork of the process.
It needs only the standard library.
"""

import ctypes
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import cxx_registry
from native import Status, entries, load

ENDED = "loading it crashes the process"
STRINGS = {"git": "tf_git_version", "compiler": "tf_compiler_version"}


def main(package: Path, out: Path, libraries: list[str]) -> None:
    tf = load(package)
    before = entries(kernel_list(tf))
    (out / "ops.pb").write_bytes(b"".join(entries(op_list(tf))))
    (out / "kernels.pb").write_bytes(b"".join(before))
    session = in_a_fork(lambda: add_session(tf, before, out / "kernels_session.pb"))
    (out / "versions.json").write_text(json.dumps(versions(tf) | {"session": session}))
    for name in libraries:
        place = out / "libraries" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not in_a_fork(lambda: add_library(tf, before, package, name, place)):  # noqa: B023
            place.with_name(f"{place.name}.txt").write_text(ENDED)


def op_list(tf: ctypes.CDLL) -> bytes:
    return (
        tf.TF_GetAllOpList().contents.bytes() if hasattr(tf, "TF_GetAllOpList") else cxx_registry.op_list(tf)
    )


def kernel_list(tf: ctypes.CDLL) -> bytes:
    if hasattr(tf, "TF_GetAllRegisteredKernels"):
        return tf.TF_GetAllRegisteredKernels(Status(tf).handle).contents.bytes()
    return cxx_registry.kernel_list(tf)


def add_session(tf: ctypes.CDLL, before: list[bytes], out: Path) -> None:
    if hasattr(tf, "TF_NewSession"):
        graph, options = ctypes.c_void_p(tf.TF_NewGraph()), ctypes.c_void_p(tf.TF_NewSessionOptions())
        status = Status(tf)
        tf.TF_NewSession(graph, options, status.handle)
        assert status.ok, status.message
    else:
        cxx_registry.new_session(tf)
    if new := added(before, tf):
        out.write_bytes(new)


def add_library(tf: ctypes.CDLL, before: list[bytes], package: Path, name: str, out: Path) -> None:
    ops, message = load_library(tf, str(package / name))
    if message:
        out.with_name(f"{out.name}.txt").write_text(message.replace(str(package), "PACKAGE"))
        return
    out.with_name(f"{out.name}.pb").write_bytes(b"".join(entries(ops)))
    if new := added(before, tf):
        out.with_name(f"{out.name}.kernels.pb").write_bytes(new)


def load_library(tf: ctypes.CDLL, path: str) -> tuple[bytes, str]:
    """Return the OpList of an op library, or TensorFlow's error message."""
    if not hasattr(tf, "TF_LoadLibrary"):
        return cxx_registry.load_library(tf, path)
    status = Status(tf)
    handle = tf.TF_LoadLibrary(path.encode(), status.handle)
    return (tf.TF_GetOpList(ctypes.c_void_p(handle)).bytes(), "") if status.ok else (b"", status.message)


def added(before: list[bytes], tf: ctypes.CDLL) -> bytes:
    """Return the kernels that were registered since `before`."""
    new = Counter(entries(kernel_list(tf))) - Counter(before)
    return b"".join(sorted(new.elements()))


def in_a_fork(work: Callable[[], None]) -> bool:
    """Do this in a fork of this process; return whether it succeeded."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        work()
        os._exit(0)
    finally:
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def versions(tf: ctypes.CDLL) -> dict[str, str | int | None]:
    """Return the versions that the release reports; None for those it does not report."""
    facts = {"version": text(tf, "TF_Version")}
    facts |= {key: text(tf, name) or text(tf, f"_Z{len(name)}{name}v") for key, name in STRINGS.items()}
    flags = [name for name in ("tf_cxx11_abi_flag", "_Z17tf_cxx11_abi_flagv") if hasattr(tf, name)]
    facts["cxx11_abi"] = getattr(tf, flags[0])() if flags else None
    return facts


def text(tf: ctypes.CDLL, name: str) -> str | None:
    if not hasattr(tf, name):
        return None
    getattr(tf, name).restype = ctypes.c_char_p
    return getattr(tf, name)().decode(errors="replace")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
