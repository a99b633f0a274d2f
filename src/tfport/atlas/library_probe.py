"""Load a TensorFlow library in this process and write what it registers.

    python -I library_probe.py OUT < QUESTION

QUESTION is JSON: `libraries`, to load in this order; `adds`, libraries that add ops, by
name; `seconds` and `bytes`, the limits of this process. Writes to OUT: ops.pb (an
OpList), kernels.pb (a KernelList, including kernels that a session adds), answers.json,
and NUMBER.ops.pb and NUMBER.kernels.pb for each library that adds ops.
It runs as a script, in its own process.
"""

import ctypes
import json
import os
import resource
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tfport.atlas.capi import Status, declare, entries, open_library

LARGEST_FILE = 1 << 29


def main(out: Path) -> None:
    question = json.load(sys.stdin)
    limit(question["seconds"], question["bytes"])
    try:
        tf = declare([open_library(path) for path in question["libraries"]][-1])
    except OSError as error:
        raise SystemExit(str(error)) from None
    if not hasattr(tf, "TF_GetAllRegisteredKernels"):
        raise SystemExit("it has no TF_GetAllRegisteredKernels; TensorFlow 1.11 or newer is needed")
    before = entries(kernel_list(tf))
    (out / "ops.pb").write_bytes(b"".join(entries(tf.TF_GetAllOpList().contents.bytes())))
    (out / "kernels.pb").write_bytes(b"".join(before))
    refused = {}
    in_a_fork(lambda: add_session(tf, before, out / "kernels.pb"))
    for number, (name, path) in enumerate(question["adds"].items()):
        if not in_a_fork(lambda: add_library(tf, before, path, out / str(number))):  # noqa: B023
            refused[name] = "it does not load"
    answers = {"version": tf.TF_Version().decode(), "refused": refused}
    (out / "answers.json").write_text(json.dumps(answers))


def limit(seconds: int, size: int) -> None:
    """Limit the resources that the library can use."""
    for kind, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, size),
        (resource.RLIMIT_FSIZE, LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, bound))


def kernel_list(tf: ctypes.CDLL) -> bytes:
    content: bytes = tf.TF_GetAllRegisteredKernels(Status(tf).handle).contents.bytes()
    return content


def add_session(tf: ctypes.CDLL, before: list[bytes], out: Path) -> None:
    """Add the kernels that are registered when the first session is created."""
    graph, options = ctypes.c_void_p(tf.TF_NewGraph()), ctypes.c_void_p(tf.TF_NewSessionOptions())
    tf.TF_NewSession(graph, options, Status(tf).handle)
    out.write_bytes(b"".join(before) + added(before, tf))


def add_library(tf: ctypes.CDLL, before: list[bytes], path: str, out: Path) -> None:
    status = Status(tf)
    handle = ctypes.c_void_p(tf.TF_LoadLibrary(path.encode(), status.handle))
    if not status.ok:
        os._exit(1)
    out.with_name(f"{out.name}.ops.pb").write_bytes(tf.TF_GetOpList(handle).bytes())
    out.with_name(f"{out.name}.kernels.pb").write_bytes(added(before, tf))


def added(before: list[bytes], tf: ctypes.CDLL) -> bytes:
    """Return the kernels that were registered since `before`."""
    new = Counter(entries(kernel_list(tf))) - Counter(before)
    return b"".join(sorted(new.elements()))


def in_a_fork(work: Callable[[], None]) -> bool:
    """Do this in a fork, which may crash; return whether it succeeded."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
