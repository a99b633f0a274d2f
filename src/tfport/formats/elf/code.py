"""Find where the code of a library calls functions of certain names.

A call goes to the function itself, to a stub that jumps through the table of addresses
(PLT and GOT), or through that table directly. The unwinding table has the start of each function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.elf.image import Segment
from tfport.formats.elf.library import ARM, ElfLibrary
from tfport.startup.dataclass import dataclass, field

PT_GNU_EH_FRAME = 0x6474E550
HIGHEST = 1 << 62
"""Higher addresses are invalid: no library is loaded there."""
MOST_INITIALIZERS = 100_000
X86_CALL, X86_JUMP = 0xE8, 0xE9
ARM_CALL, ARM_JUMP = 0x94000000, 0x14000000
Array = np.ndarray[Any, Any]


@dataclass
class Code:
    """The code of a library, with the names of the functions it calls."""

    library: ElfLibrary
    slots: dict[int, str] = field(default_factory=dict)
    """Addresses that the loader fills with the address of a symbol."""
    values: dict[int, int] = field(default_factory=dict)
    """The known ones among those addresses: the library's own symbols."""

    def __post_init__(self) -> None:
        symbols = self.library.symbols
        for table in (self.library.relocations, self.library.jump_slots):
            rows = table[table["symbol"] != 0]
            for offset, _, number, addend in rows.tolist():
                self.slots[offset] = symbols.name_of(number)
                if address := symbols.address_of(number):
                    self.values[offset] = address + addend

    @cached_property
    def _moved(self) -> tuple[Array, Array]:
        """Slots that contain addresses within the library, in order, and these addresses."""
        rows = self.library.relocations
        rows = rows[rows["symbol"] == 0]
        order = np.argsort(rows["offset"], kind="stable")
        return rows["offset"][order], rows["addend"][order]

    def pointer_at(self, index: int) -> int | None:
        """The address that the loader writes to a slot; None if it is unknown or in another library."""
        if index in self.values:
            return self.values[index]
        slots, addresses = self._moved
        number = int(np.searchsorted(slots, index))
        return int(addresses[number]) if number < len(slots) and slots[number] == index else None

    @cached_property
    def segments(self) -> list[tuple[Segment, Array]]:
        """The segments with code, and their bytes."""
        image = self.library.image
        code = [segment for segment in image.loaded if segment.is_code and segment.address < HIGHEST]
        return [(s, np.frombuffer(image.read(s.address, s.size, "the code"), "u1")) for s in code if s.size]

    @cached_property
    def functions(self) -> Array:
        """The start addresses of functions, in order; empty if the library has no table of them."""
        image = self.library.image
        segment = next((s for s in image.segments if s.kind == PT_GNU_EH_FRAME), None)
        if segment is None:
            return np.empty(0, "i8")
        try:
            head = bytes(image.read(segment.address, 12, "the unwinding table"))
            count = int.from_bytes(head[8:12], "little")
            if head[1] != 0x1B or head[2] != 0x03 or head[3] != 0x3B:
                return np.empty(0, "i8")
            pairs = image.table(segment.address + 12, count * 2, np.dtype("<i4"), "the unwinding table")
        except UnreadableFile:
            return np.empty(0, "i8")
        return np.sort(pairs[::2].astype("i8") + segment.address)

    def function_at(self, address: int) -> tuple[int, int] | None:
        """The start and end of the function that contains an address."""
        number = int(np.searchsorted(self.functions, address, "right"))
        if not number:
            return None
        segment = next((s for s, _ in self.segments if s.holds(address)), None)
        if segment is None:
            return None
        after = self.functions[number] if number < len(self.functions) else segment.address + segment.size
        return int(self.functions[number - 1]), int(after)

    @cached_property
    def names(self) -> dict[int, str]:
        """Names by address: stubs of functions in other libraries, and the library's own named functions."""
        return self.own_names | dict(self._stubs())

    @cached_property
    def own_names(self) -> dict[int, str]:
        """The named functions and variables of the library."""
        return self.library.symbols.addresses()

    def _stubs(self) -> Iterator[tuple[int, str]]:
        for segment, code in self.segments:
            find = _arm_stubs if self.library.header.machine == ARM else _x86_stubs
            yield from find(segment.address, code, self.slots)

    @cached_property
    def _branches(self) -> tuple[Array, Array]:
        """The addresses of calls and jumps, in order, and their targets."""
        parts = [self._direct]
        for segment, code in self.segments:
            if self.library.header.machine == ARM:
                parts.append(_arm_calls(segment.address, code, ARM_JUMP))
            else:
                parts.append(_x86_calls(segment.address, code, X86_JUMP))
                parts.append(_x86_branches(segment.address, code))
        sources, targets = _joined(parts)
        order = np.argsort(sources, kind="stable")
        return sources[order], targets[order]

    @cached_property
    def run_at_load(self) -> set[int]:
        """The start addresses of the functions that run when the library is loaded, at any depth."""
        own = {name: address for address, name in self.own_names.items()}
        stubs = dict(self._stubs())
        sources, targets = self._branches
        reached, waiting = set[int](), [f[0] for a in self._initializers() if (f := self.function_at(a))]
        while waiting:
            start = waiting.pop()
            function = self.function_at(start)
            if start in reached or function is None:
                continue
            reached.add(start)
            first, last = np.searchsorted(sources, function)
            for target in set(targets[first:last].tolist()):
                address = own.get(stubs[target], 0) if target in stubs else target
                if next_function := self.function_at(address):
                    waiting.append(next_function[0])
        return reached

    def _initializers(self) -> Iterator[int]:
        start = self.library.tag("DT_INIT_ARRAY") or 0
        for i in range(min(self.library.initializers, MOST_INITIALIZERS)):
            if address := self.pointer_at(start + 8 * i):
                yield address

    @cached_property
    def _direct(self) -> tuple[Array, Array]:
        """The addresses of direct calls, and their targets."""
        find = _arm_calls if self.library.header.machine == ARM else _x86_calls
        return _joined([find(segment.address, code) for segment, code in self.segments])

    def is_called(self, address: int) -> bool:
        """Whether the code calls the function at an address."""
        return bool(np.any(self._direct[1] == address))

    def calls(self, targets: dict[int, str]) -> dict[int, str]:
        """The addresses of calls to certain targets, with the names of these targets."""
        return _among(self._direct, targets)

    def calls_by_slot(self, is_wanted: Callable[[str], bool]) -> dict[int, str]:
        """The addresses of calls through the table of addresses."""
        if self.library.header.machine == ARM:
            return {}
        slots = {address: name for address, name in self.slots.items() if is_wanted(name)}
        indirect = [_x86_indirect(segment.address, code) for segment, code in self.segments]
        return _among(_joined(indirect), slots)


def _joined(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    nothing = np.empty(0, "i8")
    sources, targets = zip(*parts, strict=True) if parts else ([nothing], [nothing])
    return np.concatenate(sources), np.concatenate(targets)


def _among(calls: tuple[Array, Array], targets: dict[int, str]) -> dict[int, str]:
    sources, addresses = calls
    wanted = np.isin(addresses, np.array([a for a in targets if a < HIGHEST], "i8"))
    pairs = zip(sources[wanted].tolist(), addresses[wanted].tolist(), strict=True)
    return {source: targets[address] for source, address in pairs}


def _words_at(code: Array, offsets: Array) -> Array:
    """Signed 32-bit numbers at any offsets."""
    parts = [code[offsets + i].astype("i8") << 8 * i for i in range(4)]
    words: Array = ((parts[0] | parts[1] | parts[2] | parts[3]) ^ 0x80000000) - 0x80000000
    return words


def _x86_calls(base: int, code: Array, opcode: int = X86_CALL) -> tuple[Array, Array]:
    offsets = np.flatnonzero(code[:-5] == opcode)
    return base + offsets, base + offsets + 5 + _words_at(code, offsets + 1)


def _x86_branches(base: int, code: Array) -> tuple[Array, Array]:
    """Conditional jumps, such as those into the cold part of a function."""
    offsets = np.flatnonzero((code[:-6] == 0x0F) & (code[1:-5] & 0xF0 == 0x80))
    return base + offsets, base + offsets + 6 + _words_at(code, offsets + 2)


def _x86_indirect(base: int, code: Array) -> tuple[Array, Array]:
    """`call *slot(%rip)`."""
    offsets = np.flatnonzero((code[:-6] == 0xFF) & (code[1:-5] == 0x15))
    return base + offsets, base + offsets + 6 + _words_at(code, offsets + 2)


def _x86_stubs(base: int, code: Array, slots: dict[int, str]) -> Iterator[tuple[int, str]]:
    """`jmp *slot(%rip)`, perhaps after a marker for indirect jumps."""
    if len(code) < 8:
        return
    offsets = np.flatnonzero((code[:-6] == 0xFF) & (code[1:-5] == 0x25))
    targets = base + offsets + 6 + _words_at(code, offsets + 2)
    for offset, target in zip(offsets.tolist(), targets.tolist(), strict=True):
        if name := slots.get(target):
            for before in (0, 1, 4, 5):  # bnd; endbr64
                yield base + offset - before, name


def _arm_words(code: Array) -> Array:
    words: Array = code[: len(code) // 4 * 4].view("<u4")
    return words


def _arm_calls(base: int, code: Array, opcode: int = ARM_CALL) -> tuple[Array, Array]:
    words = _arm_words(code)
    indices = np.flatnonzero(words & 0xFC000000 == opcode)
    offsets = (words[indices].astype("i8") & 0x03FFFFFF ^ 0x02000000) - 0x02000000
    return base + indices * 4, base + indices * 4 + offsets * 4


def _arm_stubs(base: int, code: Array, slots: dict[int, str]) -> Iterator[tuple[int, str]]:
    """`adrp x16, page; ldr x17, [x16, offset]; add x16, …; br x17`."""
    words = _arm_words(code)
    heads = np.flatnonzero((words[:-1] & 0x9F00001F == 0x90000010) & (words[1:] & 0xFFC003FF == 0xF9400211))
    for index in heads.tolist():
        page, load = int(words[index]), int(words[index + 1])
        high = ((page >> 5 & 0x7FFFF) << 2 | page >> 29 & 3) << 12
        high -= 1 << 33 if high >> 32 else 0
        target = ((base + index * 4) & ~0xFFF) + high + (load >> 10 & 0xFFF) * 8
        if name := slots.get(target):
            yield base + index * 4, name
            yield base + index * 4 - 4, name  # after a marker for indirect jumps
