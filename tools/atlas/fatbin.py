"""Find the GPU architectures that a library is compiled for.

NVIDIA's compiler writes code to a section of containers, each with an entry for every
architecture: machine code (SASS), which runs on that architecture and later minor
versions, or PTX, which a driver compiles for any newer one. Only headers are read.
"""

import struct
from collections.abc import Iterator

SECTIONS = (".nv_fatbin", "__nv_relfatbin")
MAGIC = struct.pack("<I", 0xBA55ED50)
CONTAINER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of what follows
ENTRY = struct.Struct("<HHIQ12xI")  # kind, version, size of this header, size of the code, architecture
PTX, SASS = 1, 2


def architectures(content: bytes) -> dict[str, list[str]]:
    """Return the architectures in a section: {"sass": ["3.5", "7.0"], "ptx": ["7.0"]}."""
    kinds_and_archs = set(entries(content))
    return {
        label: [f"{arch // 10}.{arch % 10}" for arch in sorted(a for k, a in kinds_and_archs if k == kind)]
        for label, kind in (("sass", SASS), ("ptx", PTX))
    }


def entries(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield kind and architecture of each entry."""
    at = content.find(MAGIC)
    while 0 <= at <= len(content) - CONTAINER.size:
        _, _, header, size = CONTAINER.unpack_from(content, at)
        at, end = at + header, at + header + size
        while at + ENTRY.size <= min(end, len(content)):
            kind, _, header, size, arch = ENTRY.unpack_from(content, at)
            if kind not in (PTX, SASS) or not header:
                break
            yield kind, arch
            at += header + size
        at = content.find(MAGIC, end)
