"""Read the record of a custom-op library from its file, without loading it.

`tfport/op.h` puts a record `tfport_abi` into every library that is built with it: versions, and the
address of a table of registrations. Each registration is a text, `op SPEC` or `kernel OP FOR`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from tfport.errors import BadLibrary, UnreadableFile
from tfport.formats.elf.library import ElfLibrary
from tfport.startup.dataclass import dataclass

SYMBOL = "tfport_abi"
MAGIC = b"tfport\n"
ABI, HEADER = 1, (1, 0)
"""The ABI and the header version of this tfport."""
RECORD = np.dtype([("magic", "S8"), ("abi", "<u4"), ("header", "<u4", 2), ("ffi", "<u4", 3)])
REGISTRATION_SIZE = 16
MAX_REGISTRATIONS = 1 << 14
MAX_TEXT = 1 << 16
FOR = re.compile(r"\s*(\w+)\s*=\s*(.*?)\s*")


@dataclass(frozen=True, slots=True)
class OpRecord:
    """An op that a library registers."""

    spec: str

    @property
    def name(self) -> str:
        return self.spec.partition(":")[0].strip()


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """A kernel that a library registers."""

    index: int
    """Its index in the table of registrations, by which it is called."""
    op: str
    constraints: Mapping[str, tuple[str, ...]]
    label: str = ""
    priority: int = 0

    def __str__(self) -> str:
        parts = [f"{name}={','.join(values)}" for name, values in self.constraints.items()]
        parts += [f"label={self.label}"] * bool(self.label)
        parts += [f"priority={self.priority}"] * bool(self.priority)
        return "; ".join(parts)


@dataclass(frozen=True)
class LibraryRecord:
    """The ops and kernels that a library registers, and the versions that it was built with."""

    where: str
    abi: int
    header: tuple[int, int]
    ffi: tuple[int, int, int]
    texts: tuple[str, ...]
    """The texts of all registrations, in the order of the table."""

    @cached_property
    def ops(self) -> list[OpRecord]:
        """The ops by name; their order in the table depends on the linker."""
        ops = [OpRecord(text[3:]) for text in self.texts if text.startswith("op ")]
        return sorted(ops, key=lambda op: op.name)

    @cached_property
    def kernels(self) -> list[KernelRecord]:
        kernels = [self._kernel(i, text) for i, text in enumerate(self.texts) if text.startswith("kernel ")]
        return sorted(kernels, key=lambda kernel: (kernel.op, str(kernel)))

    def _kernel(self, index: int, text: str) -> KernelRecord:
        _, op, what = text.split(" ", 2)
        options: dict[str, str] = {}
        for part in what.split(";"):
            match = FOR.fullmatch(part)
            if part.strip() and match is None:
                raise BadLibrary(
                    f"{self.where}: a kernel of {op} has the constraint `{part.strip()}`; expected `T=float`"
                )
            if match is not None:
                options[match[1]] = match[2]
        label, priority = options.pop("label", ""), options.pop("priority", "0")
        if not re.fullmatch(r"-?\d{1,9}", priority):
            raise BadLibrary(
                f"{self.where}: a kernel of {op} has the priority `{priority}`; expected a number"
            )
        values = {name: tuple(value.strip() for value in text.split(",")) for name, text in options.items()}
        return KernelRecord(index, op, values, label, int(priority))


def read_record(library: ElfLibrary) -> LibraryRecord | None:
    """The record of a library; None if it was not built for tfport."""
    address = next((at for at, name in library.symbols.addresses().items() if name == SYMBOL), None)
    if address is None:
        return None
    (record,) = library.image.table(address, 1, RECORD, "its record")
    if bytes(record["magic"]) != MAGIC:
        raise UnreadableFile(f"{library.where}: its {SYMBOL} does not start with the expected magic")
    abi = int(record["abi"])
    header = (int(record["header"][0]), int(record["header"][1]))
    ffi = (int(record["ffi"][0]), int(record["ffi"][1]), int(record["ffi"][2]))
    known = abi == ABI  # another ABI may have another layout
    texts = _texts(library, address + RECORD.itemsize) if known else ()
    return LibraryRecord(library.where, abi, header, ffi, tuple(texts))


def _texts(library: ElfLibrary, address: int) -> list[str]:
    pointers = _Pointers(library)
    first, end = pointers.at(address), pointers.at(address + 8)
    count, rest = divmod(end - first, REGISTRATION_SIZE)
    if rest or not 0 <= count <= MAX_REGISTRATIONS:
        raise UnreadableFile(
            f"{library.where}: its table of registrations has the invalid size {end - first}"
        )
    texts = []
    for index in range(count):
        text = library.image.text(pointers.at(first + index * REGISTRATION_SIZE), MAX_TEXT)
        if text is None:
            raise UnreadableFile(f"{library.where}: registration {index} has no text")
        texts.append(text.decode(errors="replace"))
    return texts


class _Pointers:
    """Pointers that the loader relocates: read from the relocations, or from the file itself."""

    def __init__(self, library: ElfLibrary) -> None:
        self._library = library
        rows = library.relocations
        self._relocated = dict(
            zip(
                rows["offset"].tolist(), zip(rows["symbol"].tolist(), rows["addend"].tolist(), strict=True),
                strict=True,
            )
        )  # fmt: skip

    def at(self, address: int) -> int:
        if address in self._relocated:
            symbol, addend = self._relocated[address]
            return int((self._library.symbols.address_of(symbol) if symbol else 0) + addend)
        return int(self._library.image.table(address, 1, np.dtype("<u8"), "a pointer")[0])
