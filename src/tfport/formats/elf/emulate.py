"""Determine the arguments of function calls in straight-line machine code, without running it.

The initializers of a library mostly pass constants to functions. Their instructions are
emulated one by one: known values are tracked through moves, and all other results count as
unknown. A callback receives each call and may return its result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tfport.formats.elf.code import Code
from tfport.formats.elf.image import Image
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    import capstone

STACK, HEAP, OUTSIDE = 0x7FFF_0000_0000, 0x6000_0000_0000, 0x5000_0000_0000
BLOCK = 1 << 16
CONTENT = 1
"""Added to the address of an external variable: a stand-in for its content."""
LONGEST = 4096


@dataclass
class EmulatedMemory:
    """The memory of a library, with what the emulated code wrote to it."""

    image: Image
    code: Code
    written: dict[int, int] = field(default_factory=dict)
    outside: dict[str, int] = field(default_factory=dict)
    """Made-up addresses of external symbols."""
    names_outside: dict[int, str] = field(default_factory=dict)
    blocks: int = 0

    def write(self, address: int, data: bytes | None, size: int) -> None:
        """Record a write; None for an unknown value. Read-only segments do not change."""
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
        """The pointer that the loader writes to a slot; a stand-in for external symbols."""
        if address in self.written:
            return None
        if (pointer := self.code.pointer_at(address)) is not None:
            return pointer
        if name := self.code.slots.get(address):
            return self.address_of(name)
        return address + CONTENT if address in self.names_outside else None

    def pointer(self, address: int | None) -> int | None:
        data = self.read(address, 8) if address is not None else None
        return int.from_bytes(data, "little") if data is not None else None

    def text(self, address: int | None, size: int | None = None) -> str | None:
        """The text at an address, of this size or up to a zero byte."""
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
        """An invented address for an external symbol."""
        address = self.outside.setdefault(name, OUTSIDE + len(self.outside) * BLOCK)
        self.names_outside[address] = name
        return address

    def name_at(self, address: int | None) -> str | None:
        """The external symbol with this invented address."""
        return self.names_outside.get(address) if address is not None else None

    def variable_of(self, address: int | None) -> str | None:
        """The external variable whose content this address represents."""
        return self.name_at(address - CONTENT) if address is not None else None

    def new_block(self) -> int:
        self.blocks += 1
        return HEAP + self.blocks * BLOCK


@dataclass
class Call:
    """A call: the name of the function, if it has one, and the arguments."""

    place: int
    name: str
    arguments: list[int | None]
    memory: EmulatedMemory


Answer = Callable[[Call], "int | None"]
"""Returns the result of a call; None if it is unknown."""


class Emulator(ABC):
    """The emulation of one function; a subclass for each machine."""

    mode: tuple[int, int]
    """The architecture, and how to read it, as Capstone's numbers."""
    least_size: int
    """Bytes of the shortest instruction."""
    stack_register = ""
    argument_registers: tuple[str, ...] = ()
    result_register = ""
    lost_at_calls: tuple[str, ...] = ()

    def __init__(self, code: Code, memory: EmulatedMemory, answer: Answer) -> None:
        self.code, self.memory, self.answer = code, memory, answer
        self.registers: dict[str, bytes] = {}
        self.waiting: dict[int, dict[str, bytes]] = {}
        """The registers at the targets of jumps."""

    def number(self, register: str) -> int | None:
        data = self.registers.get(register)
        return int.from_bytes(data[:8], "little") if data is not None and len(data) >= 8 else None

    def set_number(self, register: str, value: int | None) -> None:
        if value is None:
            self.registers.pop(register, None)
        else:
            self.registers[register] = (value & (1 << 64) - 1).to_bytes(8, "little")

    def instructions(self, start: int, end: int) -> Iterator[capstone.CsInsn]:
        """The instructions between two addresses; bytes that are none are skipped."""
        import capstone

        self.reader = capstone.Cs(*self.mode)
        self.reader.detail = True
        self.set_number(self.stack_register, STACK)
        address = start
        while address < end:
            data = self.memory.image.read_up_to(address, end - address).tobytes()
            for instruction in self.reader.disasm(data, address):
                address = instruction.address + instruction.size
                yield instruction
            address += self.least_size

    @abstractmethod
    def register(self, number: int) -> str:
        """The whole register of which Capstone's number is a part."""

    @abstractmethod
    def step(self, instruction: capstone.CsInsn) -> bool:
        """Emulate an instruction; return whether execution continues with the next one."""

    def run(self, start: int, end: int) -> int:
        count, continues = 0, True
        for instruction in self.instructions(start, end):
            count += 1
            if not continues and instruction.address in self.waiting:
                self.registers = self.waiting.pop(instruction.address)
            continues = self.step(instruction)
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

    def forget(self, instruction: capstone.CsInsn) -> None:
        """The registers that an instruction writes are unknown from here."""
        import capstone

        try:
            _, written = instruction.regs_access()
        except capstone.CsError:
            return
        for register in written:
            self.registers.pop(self.register(register), None)
