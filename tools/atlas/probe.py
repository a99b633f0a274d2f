"""What does a release register? Asked of its own libraries.

    python probe.py PACKAGE OUT [LIBRARY…]

PACKAGE is the folder of TensorFlow's own package. Writes OUT/ops.pb (an OpList)
and, from 1.11 on, OUT/kernels.pb (a KernelList); then loads each LIBRARY, a path
below PACKAGE, and writes the ops that it registers to OUT/libraries/LIBRARY.pb, or
why it does not load to OUT/libraries/LIBRARY.txt. It runs in a process of its own,
since a library may end it: what was written until then stays. It needs the
standard library only.
"""

import ctypes
import sys
from pathlib import Path

from native import Buffer, Status, load


def main(package: Path, out: Path, libraries: list[str]) -> None:
    tf = load(package)
    (out / "ops.pb").write_bytes(in_order(tf.TF_GetAllOpList().contents))
    if hasattr(tf, "TF_GetAllRegisteredKernels"):
        kernels = tf.TF_GetAllRegisteredKernels(Status(tf).handle)
        (out / "kernels.pb").write_bytes(in_order(kernels.contents))
    for name in libraries:
        add_library(tf, package, name, out / "libraries" / name)


def add_library(tf: ctypes.CDLL, package: Path, name: str, out: Path) -> None:
    refused, ops = out.with_name(f"{out.name}.txt"), out.with_name(f"{out.name}.pb")
    out.parent.mkdir(parents=True, exist_ok=True)
    refused.write_text("it ends the process that loads it")
    status = Status(tf)
    handle = tf.TF_LoadLibrary(str(package / name).encode(), status.handle)
    if status.ok:
        ops.write_bytes(in_order(tf.TF_GetOpList(ctypes.c_void_p(handle))))
        refused.unlink()
    else:
        refused.write_text(status.message.replace(str(package), "PACKAGE"))


def in_order(buffer: Buffer) -> bytes:
    """An OpList or a KernelList with its entries sorted: newer releases list them in any order."""
    content, entries, start = buffer.bytes(), [], 0
    while start < len(content):  # a tag of one byte, the size of the entry, the entry
        size, at = varint(content, start + 1)
        entries.append(content[start : at + size])
        start = at + size
    return b"".join(sorted(entries))


def varint(content: bytes, at: int) -> tuple[int, int]:
    """A number of protobuf, seven bits to a byte, and where it ends."""
    value, shift = content[at] & 127, 7
    while content[at] > 127:
        at += 1
        value, shift = value | (content[at] & 127) << shift, shift + 7
    return value, at + 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
