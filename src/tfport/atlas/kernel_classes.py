"""The C++ classes of kernels, which selective registration uses: `MatMulOp<CPUDevice, float, false>`.

TensorFlow has no list of them; tools/atlas/kernel_classes.py queried the libraries of
some releases for each kernel. They are stored in `kernel_classes.sqlite`.
"""

from __future__ import annotations

import functools
import json
import threading
import weakref
import zlib
from pathlib import Path
from typing import Any

from tfport.atlas.atlas import Build, has_bit, open_database
from tfport.registry.kernels import Kernel


class ClassTable:
    """The classes of all recorded releases; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._database = open_database(path)
        self._lock = threading.Lock()
        weakref.finalize(self, self._database.close)
        rows = self.rows("SELECT package, version, number FROM release")
        self._numbers = {(package, version): number for package, version, number in rows}

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def releases(self) -> list[tuple[str, str]]:
        return sorted(self._numbers)

    def of(self, build: Build) -> KernelClasses | None:
        """Return the classes of one build; None if they are not recorded."""
        number = self._numbers.get((build.package, build.version))
        return None if number is None else KernelClasses(self, number)


class KernelClasses:
    """The classes of the kernels of one build."""

    def __init__(self, table: ClassTable, number: int) -> None:
        self._table, self._number = table, number
        self._read: dict[str, dict[str, str]] = {}

    def name(self, kernel: Kernel) -> str | None:
        """Return the class of a kernel; None if it is unknown."""
        if kernel.op not in self._read:
            rows = self._table.rows("SELECT classes, releases FROM class WHERE op = ?", kernel.op)
            bodies = (body for body, bits in rows if has_bit(bits, self._number))
            self._read[kernel.op] = {k: v for b in bodies for k, v in json.loads(zlib.decompress(b)).items()}
        return self._read[kernel.op].get(kernel_key(kernel))


def kernel_key(kernel: Kernel) -> str:
    """Return a key that identifies a kernel among those of its op: device, label and constraints."""
    constraints = (f"{n}={','.join(sorted(map(str, v)))}" for n, v in sorted(kernel.constraints.items()))
    return " ".join([kernel.device, *([f"label={kernel.label}"] if kernel.label else []), *constraints])


def classes_of(source: object) -> KernelClasses | None:
    """Return the kernel classes of a source, if it is a recorded build that has them."""
    build = getattr(source, "build", None)
    return class_table().of(build) if isinstance(build, Build) else None


@functools.cache
def class_table() -> ClassTable:
    return ClassTable(Path(__file__).with_name("kernel_classes.sqlite"))
