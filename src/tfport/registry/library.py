"""Which ops and kernels does a custom-op library register? Read from its code, without running it.

Its initializers are emulated, not run (`formats.elf.emulate`): the texts that they pass to
TensorFlow's builders are constants. `partial` says whether a text could not be read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable
from functools import cached_property
from pathlib import Path

from tfport.errors import UnreadableFile
from tfport.extras import is_installed, missing
from tfport.formats.elf.code import Code
from tfport.formats.elf.emulate import Answer, EmulatedMemory, Emulator
from tfport.formats.elf.library import ARM, ElfLibrary
from tfport.formats.files import Folder
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.dtypes import DType
from tfport.graph.op_spec import definition
from tfport.registry.kernels import Kernel
from tfport.registry.registrations import KernelTexts, OpTexts, RegistrationRecorder, registers, wrapper_of
from tfport.startup.dataclass import dataclass, field

MOST_CALLS = 20_000
"""A library with more calls is TensorFlow itself."""
MOST_STEPS = 400_000
"""Instructions to emulate."""


@dataclass
class Registered:
    """What a library registers."""

    ops: list[OpTexts] = field(default_factory=list)
    kernels: list[KernelTexts] = field(default_factory=list)
    partial: bool = False
    """Whether it may register more than was read."""
    calls: int = 0
    """The number of calls of registering functions in its code."""
    why_partial: str = ""
    uncalled: dict[str, list[str]] = field(default_factory=dict)
    """Functions that register ops but are not called when the library is loaded; the ops of each."""

    @cached_property
    def op_names(self) -> list[str]:
        return sorted({op.name for op in self.ops if op.name})

    @cached_property
    def kernel_ops(self) -> list[str]:
        """The ops for which it registers kernels."""
        return sorted({kernel.op for kernel in self.kernels if kernel.op})

    @property
    def twice(self) -> list[str]:
        """Ops that it registers more than once."""
        counts = Counter(op.name for op in self.ops if op.name)
        return sorted(name for name, count in counts.items() if count > 1)


def registered_by(library: ElfLibrary) -> Registered:
    """Read the code of a library for what it registers."""
    if not any(registers(symbol.name) for symbol in library.symbols.undefined):
        return Registered()
    code = Code(library)
    builders = {address: name for address, name in code.names.items() if registers(name)}
    through_table = code.calls_by_slot(registers)
    calls = through_table | code.calls(builders)
    if len(calls) > MOST_CALLS:
        return Registered(partial=True, calls=len(calls), why_partial="its code is too large to read")
    if not len(code.functions):
        return Registered(partial=True, calls=len(calls), why_partial="it has no table of functions")
    if not is_installed("capstone"):
        return Registered(
            partial=True, calls=len(calls), why_partial=str(missing("capstone", "reading its code"))
        )
    recorder, is_whole, idle = _recorded(code, calls, builders)
    wrappers = _wrappers(code, recorder, calls)
    if wrappers:
        code.names.update(wrappers)
        builders |= wrappers
        calls = through_table | code.calls(builders)
        recorder, is_whole, idle = _recorded(code, calls, builders)
        recorder.mark_unread()  # wrappers may register more
    unread = [op for op in recorder.ops if op.name is None] + [k for k in recorder.kernels if k.op is None]
    why = "" if is_whole else "its code is too large to read"
    if unread:
        why = f"{len(unread)} of its registrations could not be read"
    return Registered(
        ops=[op for op in recorder.ops if op.name],
        kernels=[kernel for kernel in recorder.kernels if kernel.op],
        partial=bool(why),
        calls=len(calls),
        why_partial=why,
        uncalled={code.names[start]: _ops_of(code, (start, end)) for start, end in idle},
    )


Function = tuple[int, int]


def _recorded(
    code: Code, calls: Iterable[int], builders: Container[int]
) -> tuple[RegistrationRecorder, bool, list[Function]]:
    """What the functions that run at load register; whether all were read; and those that do not run."""
    run, idle = _functions(code, calls, builders)
    recorder = RegistrationRecorder()
    return recorder, _follow(code, run, recorder), idle


def _wrappers(code: Code, recorder: RegistrationRecorder, calls: Iterable[int]) -> dict[int, str]:
    """Functions without a name that pass their argument to a builder, and the builder they stand for."""
    wrappers = {}
    count = Counter(code.function_at(address) for address in calls)
    for address, name in recorder.unread:
        function = code.function_at(address)
        if function and count[function] == 1 and function[0] not in code.own_names:
            wrappers[function[0]] = wrapper_of(name)
    return {start: name for start, name in wrappers.items() if code.is_called(start)}


def _functions(
    code: Code, calls: Iterable[int], builders: Container[int]
) -> tuple[list[Function], list[Function]]:
    """The functions that register something: those that run at load, and those that others may call.

    A function without a name can only be called from within the library, so it counts as one that runs.
    """
    calling = {function for address in calls if (function := code.function_at(address))}
    registering = sorted(function for function in calling if function[0] not in builders)
    idle = [f for f in registering if f[0] in code.own_names and f[0] not in code.run_at_load]
    return [function for function in registering if function not in idle], idle


def _ops_of(code: Code, function: Function) -> list[str]:
    recorder = RegistrationRecorder()
    _follow(code, [function], recorder)
    names = [*(op.name for op in recorder.ops), *(kernel.op for kernel in recorder.kernels)]
    return sorted({name for name in names if name})


class LibrarySource:
    """What a library registers, as a source for a registry."""

    def __init__(self, name: str, registered: Registered) -> None:
        self.name = name
        self.registered = registered
        self._ops = {op.name: op for op in registered.ops if op.name}
        self._definitions: dict[str, OpDef | None] = {}

    @property
    def partial(self) -> bool:
        """Whether it may register more than was read, or with other attributes."""
        ops = (op.unread or None in (*op.attrs, *op.inputs, *op.outputs) for op in self.registered.ops)
        return self.registered.partial or any(ops) or any(k.unread for k in self.registered.kernels)

    def ops(self) -> list[str]:
        return self.registered.op_names

    def is_whole(self, op: str) -> bool:
        """Whether the whole definition of an op could be read."""
        return op in self._ops and _definition(self._ops[op]) is not None

    def definition(self, op: str) -> OpDef | None:
        if op not in self._definitions:
            texts = self._ops.get(op)
            self._definitions[op] = (_definition(texts) or OpDef(name=op)) if texts else None
        return self._definitions[op]

    def kernels(self, op: str) -> list[Kernel]:
        return [_kernel(kernel) for kernel in self.registered.kernels if kernel.op == op]


def _definition(texts: OpTexts) -> OpDef | None:
    """The definition of an op; None where some of its texts could not be read."""
    all_texts = (texts.attrs, texts.inputs, texts.outputs)
    if texts.unread or any(None in some for some in all_texts):
        return None
    lists = [[text for text in some if text is not None] for some in all_texts]
    try:
        return definition(texts.name or "", *lists)
    except (ValueError, SyntaxError, KeyError):
        return None


def _kernel(texts: KernelTexts) -> Kernel:
    return Kernel(
        op=texts.op or "",
        device=texts.device or "",
        constraints={name: tuple(map(DType.of, types)) for name, types in texts.constraints.items()},
        host_memory=tuple(texts.host_memory),
        label=texts.label,
        priority=texts.priority,
    )


def library_source(path: str | os.PathLike[str]) -> LibrarySource:
    """What the library at a path registers; raises UnreadableFile if it is not a readable library."""
    file = Path(path)
    if not file.exists():
        raise UnreadableFile(f"{path}: no such file")
    library = ElfLibrary(Folder(file.parent).map(file.name), str(path))
    return LibrarySource(file.name, registered_by(library))


def _follow(code: Code, starts: list[tuple[int, int]], answer: Answer) -> bool:
    """Emulate functions and pass each call to `answer`; return whether all could be read."""
    memory = EmulatedMemory(code.library.image, code)
    emulator_class = _emulator_class(code.library.header.machine)
    left = MOST_STEPS
    for start, end in starts:
        emulator = emulator_class(code, memory, answer)
        left -= emulator.run(start, min(end, start + left * 4))
        if left <= 0:
            return False
    return True


def _emulator_class(machine: str) -> type[Emulator]:
    """The emulation of a machine's code; imported where it is used, as it needs the extra `lib`."""
    if machine == ARM:
        from tfport.formats.elf.emulate_arm import ArmEmulator

        return ArmEmulator
    from tfport.formats.elf.emulate_x86 import X86Emulator

    return X86Emulator
