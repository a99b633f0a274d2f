"""Emulate straight-line ARM64 code: the instructions that move known values."""

from __future__ import annotations

import re

import capstone
from capstone import arm64

from tfport.formats.elf.emulate import Emulator

VECTOR = re.compile(r"[vqdshb](\d+)")
WIDTH = {"b": 1, "h": 2, "s": 4, "d": 8, "q": 16, "v": 16}


class ArmEmulator(Emulator):
    """The emulation of ARM64 instructions."""

    mode = capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM
    least_size = 4
    stack_register = "sp"
    argument_registers = tuple(f"x{i}" for i in range(8))
    result_register = "x0"
    lost_at_calls = (*(f"x{i}" for i in range(19)), "x30", *(f"v{i}" for i in range(32)))

    def step(self, instruction: capstone.CsInsn) -> bool:
        name, operands = instruction.mnemonic, instruction.operands
        match name:
            case "bl":
                self.call(instruction.address, operands[0].imm)
            case "blr":
                self.call(
                    instruction.address,
                    None,
                    self.memory.name_at(self.number(self.register(operands[0].reg))),
                )
            case "b" | "br" | "ret" | "brk":
                if name == "b":
                    self.jump(operands[0].imm)
                return False
            case "adrp" | "adr":
                self.set_number(self.register(operands[0].reg), operands[1].imm)
            case "mov" | "movz" | "movn" | "movk" | "fmov" | "movi" | "orr" if len(operands) >= 2:
                self._move(instruction)
            case "add" | "sub" if len(operands) == 3:
                self._add(instruction, 1 if name == "add" else -1)
            case "str" | "stur" | "strb" | "sturb" | "strh" | "sturh" | "stp":
                self._store(instruction)
            case "ldr" | "ldur" | "ldrb" | "ldurb" | "ldrh" | "ldurh" | "ldp":
                self._load(instruction)
            case _:
                if name.startswith(("b.", "cb", "tb")):
                    self.jump(operands[-1].imm)
                else:
                    self.forget(instruction)
        return True

    def register(self, number: int) -> str:
        return self._register(number)[0]

    def _register(self, number: int) -> tuple[str, int]:
        """The whole register, and the number of its bytes that are used."""
        name = self.reader.reg_name(number) or ""
        if vector := VECTOR.fullmatch(name):
            return f"v{vector[1]}", WIDTH[name[0]]
        if name in ("wzr", "xzr"):
            return "zero", 4 if name[0] == "w" else 8
        if name.startswith("w"):
            return "x" + name[1:], 4
        return {"fp": "x29", "lr": "x30"}.get(name, name), 8

    def _value(self, operand: arm64.Arm64Op) -> bytes | None:
        if operand.type == arm64.ARM64_OP_IMM:
            value = operand.imm << (operand.shift.value if operand.shift.type == arm64.ARM64_SFT_LSL else 0)
            return int(value & (1 << 64) - 1).to_bytes(8, "little")
        register, size = self._register(operand.reg)
        data = bytes(16) if register == "zero" else self.registers.get(register)
        return data[:size] if data is not None else None

    def _set(self, register: str, data: bytes | None) -> None:
        if data is None:
            self.registers.pop(register, None)
        elif register != "zero":
            self.registers[register] = data.ljust(16, b"\0")

    def _move(self, instruction: capstone.CsInsn) -> None:
        name, operands = instruction.mnemonic, instruction.operands
        register, size = self._register(operands[0].reg)
        data = self._value(operands[-1])
        if name == "orr" and self._value(operands[1]) not in (bytes(4), bytes(8)):
            data = None
        elif name == "movk":
            shift = operands[1].shift.value // 8
            before = self.registers.get(register)
            half = int(operands[1].imm).to_bytes(2, "little")
            data = before[:shift] + half + before[shift + 2 :] if before is not None else None
        elif name == "movn" and data is not None:
            data = bytes(255 - byte for byte in data)
        elif name == "movi" and (operands[-1].imm or size < 16):
            data = None if operands[-1].imm else bytes(16)
        self._set(register, data[:size] if data is not None and name not in ("movk", "movi") else data)

    def _add(self, instruction: capstone.CsInsn, sign: int) -> None:
        target, first, second = instruction.operands
        a, b = self._value(first), self._value(second)
        both = None
        if a is not None and b is not None and second.ext == 0:
            both = int.from_bytes(a, "little") + sign * int.from_bytes(b, "little")
        register, _ = self._register(target.reg)
        self.set_number(register, both)
        if both is not None:
            self._set(register, self.registers[register])

    def _address(self, instruction: capstone.CsInsn) -> int | None:
        """The address of a load or store; updates the base register if the instruction does."""
        operands = instruction.operands
        memory = next(o for o in operands if o.type == arm64.ARM64_OP_MEM)
        base_name, _ = self._register(memory.mem.base)
        base = self.number(base_name)
        if base is None:
            return None
        if memory.mem.index:
            index = self.number(self.register(memory.mem.index))
            return base + index if index is not None and not memory.shift.value else None
        address = base + memory.mem.disp
        if instruction.writeback:
            after = operands[-1]
            moved = base + after.imm if after.type == arm64.ARM64_OP_IMM else address
            self.set_number(base_name, moved)
        return int(address)

    def _sizes(self, instruction: capstone.CsInsn) -> list[tuple[str, int]]:
        registers = [self._register(o.reg) for o in instruction.operands if o.type == arm64.ARM64_OP_REG]
        narrow = {"b": 1, "h": 2}.get(instruction.mnemonic[-1])
        return [(name, narrow or size) for name, size in registers]

    def _store(self, instruction: capstone.CsInsn) -> None:
        sizes, address = self._sizes(instruction), self._address(instruction)
        for register, size in sizes:
            data = bytes(16) if register == "zero" else self.registers.get(register)
            if address is not None:
                self.memory.write(address, data[:size] if data is not None else None, size)
                address += size

    def _load(self, instruction: capstone.CsInsn) -> None:
        sizes, address = self._sizes(instruction), self._address(instruction)
        for register, size in sizes:
            self._set(register, self.memory.read(address, size) if address is not None else None)
            address = address + size if address is not None else None
