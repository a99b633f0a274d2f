"""Emulate straight-line x86-64 code: the instructions that move known values."""

from __future__ import annotations

import re

import capstone
from capstone import x86

from tfport.formats.elf.emulate import Emulator

WIDE = re.compile(r"([xyz])mm(\d+)")
FULL = {
    **{part: f"r{n}x" for n in "abcd" for part in (f"r{n}x", f"e{n}x", f"{n}x", f"{n}l")},
    **{part: f"r{n}" for n in ("si", "di", "bp", "sp") for part in (f"r{n}", f"e{n}", n, f"{n}l")},
    **{f"r{i}{end}": f"r{i}" for i in range(8, 16) for end in ("", "d", "w", "b")},
}
"""The whole register, by the name of each of its parts."""
MOVE = re.compile(r"v?mov(?:abs|zx|[qd]|[ua]p[sd]|dq[ua](?:8|16|32|64)?|lp[sd]|s[sd])?")
CLEAR = re.compile(r"v?p?xor(?:p[sd]|[dq])?")
JOIN = re.compile(r"v?(?:punpcklqdq|movlhps|movhps|pinsrq)")


class X86Emulator(Emulator):
    """The emulation of x86-64 instructions."""

    mode = capstone.CS_ARCH_X86, capstone.CS_MODE_64
    least_size = 1
    stack_register = "rsp"
    argument_registers = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
    result_register = "rax"
    lost_at_calls = (
        "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", *(f"v{i}" for i in range(32))
    )  # fmt: skip

    def step(self, instruction: capstone.CsInsn) -> bool:
        name, operands = instruction.mnemonic, instruction.operands
        match name:
            case "call":
                self._call(instruction)
            case "jmp" | "ret" | "ud2" | "hlt":
                if name == "jmp":
                    self._jump(instruction)
                return False
            case "lea":
                self.set_number(self.register(operands[0].reg), self._address(instruction, operands[1]))
            case "push":
                self._push(instruction)
            case "pop":
                self._pop(operands[0])
            case "add" | "sub" if len(operands) == 2:
                self._add(instruction, 1 if name == "add" else -1)
            case _ if MOVE.fullmatch(name) and len(operands) == 2:
                self._write(instruction, operands[0], self._read(instruction, operands[1]))
            case _ if (
                CLEAR.fullmatch(name) and len({o.reg for o in operands if o.type == x86.X86_OP_REG}) == 1
            ):
                self.registers[self.register(operands[0].reg)] = bytes(32)
            case _ if JOIN.fullmatch(name):
                self._join(instruction)
            case _:
                if name.startswith("j") and name != "jmp":
                    self._jump(instruction)
                self.forget(instruction)
        return True

    def register(self, number: int) -> str:
        name = self.reader.reg_name(number) or ""
        wide = WIDE.fullmatch(name)
        return f"v{wide[2]}" if wide else FULL.get(name, name)

    def _address(self, instruction: capstone.CsInsn, operand: x86.X86Op) -> int | None:
        memory = operand.mem
        if memory.segment:
            return None
        total = memory.disp
        for register, scale in ((memory.base, 1), (memory.index, memory.scale)):
            if not register:
                continue
            name = self.reader.reg_name(register)
            value = (
                instruction.address + instruction.size
                if name == "rip"
                else self.number(self.register(register))
            )
            if value is None:
                return None
            total += value * scale
        return int(total) & (1 << 64) - 1

    def _read(self, instruction: capstone.CsInsn, operand: x86.X86Op) -> bytes | None:
        if operand.type == x86.X86_OP_IMM:
            return int(operand.imm & (1 << 64) - 1).to_bytes(8, "little")[: operand.size or 8]
        if operand.type == x86.X86_OP_REG:
            data = self.registers.get(self.register(operand.reg))
            return data[: operand.size] if data is not None else None
        address = self._address(instruction, operand)
        return self.memory.read(address, operand.size) if address is not None else None

    def _write(self, instruction: capstone.CsInsn, operand: x86.X86Op, data: bytes | None) -> None:
        size = operand.size
        if operand.type == x86.X86_OP_MEM:
            address = self._address(instruction, operand)
            if address is not None:
                self.memory.write(address, data[:size].ljust(size, b"\0") if data is not None else None, size)
            return
        register = self.register(operand.reg)
        if data is None:
            self.registers.pop(register, None)
        elif size < 4 and instruction.mnemonic != "movzx":  # the upper bytes stay
            before = self.registers.get(register, bytes(8))
            self.registers[register] = data[:size] + before[size:]
        else:
            self.registers[register] = data[:size].ljust(max(8, size), b"\0")

    def _push(self, instruction: capstone.CsInsn) -> None:
        top = self.number("rsp")
        if top is not None:
            self.set_number("rsp", top - 8)
            data = self._read(instruction, instruction.operands[0])
            self.memory.write(top - 8, data.ljust(8, b"\0")[:8] if data is not None else None, 8)

    def _pop(self, operand: x86.X86Op) -> None:
        top = self.number("rsp")
        if top is not None:
            self.set_number(self.register(operand.reg), self.memory.pointer(top))
            self.set_number("rsp", top + 8)

    def _add(self, instruction: capstone.CsInsn, sign: int) -> None:
        first, second = instruction.operands
        if first.type != x86.X86_OP_REG:
            return
        a, b = self.number(self.register(first.reg)), self._read(instruction, second)
        both = None if a is None or b is None else a + sign * int.from_bytes(b, "little")
        self.set_number(self.register(first.reg), both)

    def _join(self, instruction: capstone.CsInsn) -> None:
        """Combine two halves in one wide register."""
        operands = [o for o in instruction.operands if o.type != x86.X86_OP_IMM]
        low = self.registers.get(self.register(operands[-2].reg))
        high = self._read(instruction, operands[-1])
        register = self.register(operands[0].reg)
        if low is None or high is None:
            self.registers.pop(register, None)
        else:
            self.registers[register] = low[:8] + high[:8].ljust(8, b"\0")

    def _target(self, instruction: capstone.CsInsn) -> int | None:
        operand = instruction.operands[0]
        return int(operand.imm) if operand.type == x86.X86_OP_IMM else None

    def _jump(self, instruction: capstone.CsInsn) -> None:
        self.jump(self._target(instruction))

    def _call(self, instruction: capstone.CsInsn) -> None:
        operand = instruction.operands[0]
        name = None
        if operand.type == x86.X86_OP_MEM:
            name = self.code.slots.get(self._address(instruction, operand) or 0)
        elif operand.type == x86.X86_OP_REG:
            name = self.memory.name_at(self.number(self.register(operand.reg)))
        self.call(instruction.address, self._target(instruction), name)
