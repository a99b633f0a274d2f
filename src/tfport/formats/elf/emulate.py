"""What stands in registers and memory when straight code calls a function?

Code that only hands constants to functions, as the initialisers of a library do, is
read instruction by instruction and not run: moves of known values are followed, all
else is forgotten. Whoever asks is told of each call and may say what it gives back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import capstone

from tfport.formats.elf.code import Code
from tfport.formats.elf.image import Image
from tfport.formats.elf.library import ARM

STACK, HEAP, OUTSIDE = 0x7FFF_0000_0000, 0x6000_0000_0000, 0x5000_0000_0000
BLOCK = 1 << 16
HELD = 1
"""Added to the address of a variable of others: what it holds."""
MOST_STEPS = 400_000
LONGEST = 4096


@dataclass
class EmulatedMemory:
    """The memory of a library with what was written over it."""

    image: Image
    code: Code
    written: dict[int, int] = field(default_factory=dict)
    outside: dict[str, int] = field(default_factory=dict)
    """Made-up addresses of the symbols of others."""
    names_outside: dict[int, str] = field(default_factory=dict)
    blocks: int = 0

    def write(self, address: int, data: bytes | None, size: int) -> None:
        """Note what was written; None for something that is not known. Constants stay what they are."""
        if any(segment.holds(address) and not segment.is_writable for segment in self.image.loaded):
            return
        for i in range(size):
            if data is None:
                self.written.pop(address + i, None)
            else:
                self.written[address + i] = data[i]

    def read(self, address: int, size: int) -> bytes | None:
        if size == 8 and (pointer := self._filled(address)) is not None:
            return (pointer & (1 << 64) - 1).to_bytes(8, "little")
        written = [self.written.get(address + i) for i in range(size)]
        if all(byte is not None for byte in written):
            return bytes(byte for byte in written if byte is not None)
        data = bytes(self.image.read_up_to(address, size))
        if len(data) != size:
            return None
        return bytes(own if own is not None else byte for own, byte in zip(written, data, strict=True))

    def _filled(self, address: int) -> int | None:
        """What the loader writes to a place; of what others hold, a stand-in."""
        if address in self.written:
            return None
        if (pointer := self.code.pointer_at(address)) is not None:
            return pointer
        if name := self.code.slots.get(address):
            return self.address_of(name)
        return address + HELD if address in self.names_outside else None

    def pointer(self, address: int | None) -> int | None:
        data = self.read(address, 8) if address is not None else None
        return int.from_bytes(data, "little") if data is not None else None

    def text(self, address: int | None, size: int | None = None) -> str | None:
        """The letters at an address, so many or up to a zero."""
        if address is None or (size is not None and not 0 <= size <= LONGEST):
            return None
        if size is not None:
            data = self.read(address, size) if size else b""
        else:
            letters = bytearray()
            while len(letters) < LONGEST and (byte := self.read(address + len(letters), 1)) not in (
                None,
                b"\0",
            ):
                letters += byte or b""
            data = bytes(letters)
        try:
            return data.decode() if data is not None else None
        except UnicodeDecodeError:
            return None

    def address_of(self, name: str) -> int:
        """A made-up address for a symbol of others."""
        place = self.outside.setdefault(name, OUTSIDE + len(self.outside) * BLOCK)
        self.names_outside[place] = name
        return place

    def name_at(self, address: int | None) -> str | None:
        """The symbol of others that has a made-up address."""
        return self.names_outside.get(address) if address is not None else None

    def held_by(self, address: int | None) -> str | None:
        """The variable of others whose content this stands for."""
        return self.name_at(address - HELD) if address is not None else None

    def new_block(self) -> int:
        self.blocks += 1
        return HEAP + self.blocks * BLOCK


@dataclass
class Call:
    """A call that was come to: who is called, if that has a name, and with what."""

    place: int
    name: str
    arguments: list[int | None]
    memory: EmulatedMemory


Answer = Callable[[Call], "int | None"]
"""What a call gives back; None where that is not known."""


def follow(code: Code, starts: list[tuple[int, int]], answer: Answer) -> bool:
    """Read functions from start to end, telling `answer` of each call; whether all could be read."""
    from tfport.formats.elf.emulate_arm import ArmEmulator
    from tfport.formats.elf.emulate_x86 import X86Emulator

    memory = EmulatedMemory(code.library.image, code)
    kind = ArmEmulator if code.library.header.machine == ARM else X86Emulator
    left = MOST_STEPS
    for start, end in starts:
        steps = kind(code, memory, answer)
        left -= steps.run(start, min(end, start + left * 4))
        if left <= 0:
            return False
    return True


class Emulator(ABC):
    """What one function does; each machine says how."""

    argument_registers: tuple[str, ...] = ()
    result_register = ""
    lost_at_calls: tuple[str, ...] = ()

    def __init__(self, code: Code, memory: EmulatedMemory, answer: Answer) -> None:
        self.code, self.memory, self.answer = code, memory, answer
        self.registers: dict[str, bytes] = {}
        self.waiting: dict[int, dict[str, bytes]] = {}
        """Registers as they are where a jump leads to."""

    def number(self, register: str) -> int | None:
        data = self.registers.get(register)
        return int.from_bytes(data[:8], "little") if data is not None and len(data) >= 8 else None

    def set_number(self, register: str, value: int | None) -> None:
        if value is None:
            self.registers.pop(register, None)
        else:
            self.registers[register] = (value & (1 << 64) - 1).to_bytes(8, "little")

    @abstractmethod
    def instructions(self, start: int, end: int) -> Iterator[capstone.CsInsn]: ...

    @abstractmethod
    def step(self, instruction: capstone.CsInsn) -> bool:
        """Follow an instruction; whether the next one is come to from here."""

    def run(self, start: int, end: int) -> int:
        count, goes_on = 0, True
        for instruction in self.instructions(start, end):
            count += 1
            if not goes_on and instruction.address in self.waiting:
                self.registers = self.waiting.pop(instruction.address)
            goes_on = self.step(instruction)
        return count

    def call(self, place: int, target: int | None, name: str | None = None) -> None:
        called = name or self.code.names.get(target or 0, "")
        arguments = [self.number(register) for register in self.argument_registers]
        result = self.answer(Call(place, called, arguments, self.memory))
        for register in self.lost_at_calls:
            self.registers.pop(register, None)
        self.set_number(self.result_register, result)

    def jump(self, target: int | None) -> None:
        if target is not None and len(self.waiting) < 4096:
            self.waiting.setdefault(target, dict(self.registers))
