"""The calls by which a library registers ops and kernels, and their arguments.

C++ passes texts to builders (`OpDefBuilder`, `KernelDefBuilder`), C to functions such as
`TF_NewKernelBuilder`. The emulator reports each call to a `RegistrationRecorder`, which
records registrations and returns the results of string functions.
"""

from __future__ import annotations

import re

from tfport.formats.elf.emulate import STACK, Call, EmulatedMemory
from tfport.startup.dataclass import dataclass, field

OP_BUILDER = re.compile(
    r"_ZN10tensorflow(?:11register_op19OpDefBuilderWrapper(?:ILb[01]EE)?|12OpDefBuilder)"
    r"(?P<method>C[12]|4Attr|5Input|6Output|13SetIsStateful|16SetIsCommutative)E(?P<parameters>.*)"
)
KERNEL_BUILDER = re.compile(
    r"_ZN10tensorflow(?:15register_kernel4Name|16KernelDefBuilder)"
    r"(?P<method>C[12]|6Device|14TypeConstraint|10HostMemory|5Label|8Priority|5Build)(?P<parameters>.*)"
)
REGISTERS_OP = re.compile(
    r"_ZN10tensorflow11register_op(?:19OpDefBuilderWrapperclEv|20OpDefBuilderReceiverC[12]E.*)"
)
REGISTERS_KERNEL = re.compile(
    r"_ZN10tensorflow14kernel_factory17OpKernelRegistrar(?:12InitInternal|C[12])E.*"
)
OP_NAME = re.compile(r"[A-Za-z0-9_.>][A-Za-z0-9_.>/\\-]*")
C_API = re.compile(
    r"TF_(NewOpDefinitionBuilder|OpDefinitionBuilderAdd(?:Attr|Input|Output)|RegisterOpDefinition"
    r"|NewKernelBuilder|KernelBuilder_(?:TypeConstraint|HostMemory|Priority)|RegisterKernelBuilder)"
)
BEGINNINGS = (
    "_ZN10tensorflow12OpDefBuilder",
    "_ZN10tensorflow16KernelDefBuilder",
    "_ZN10tensorflow11register_op",
    "_ZN10tensorflow15register_kernel",
    "_ZN10tensorflow14kernel_factory",
    "TF_",
)
STRING = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE"
STRING_FROM_CHARS = re.compile(STRING + r"C[12](?:I.*E)?E?PKcRKS3_")
STRING_FROM_RANGE = re.compile(STRING + r"12_M_constructIPK?cEEvT_S\w?_St20forward_iterator_tag")
OLD_STRING_FROM_CHARS = re.compile(r"_ZNSsC[12].*PKcRKS.*")
TEMPLATE_TYPE = re.compile(r"I(.+)EERS0_PKc")
TYPES = {
    "f": 1, "d": 2, "i": 3, "h": 4, "s": 5, "a": 6, "N3tsl7tstringE": 7, "NS_7tstringE": 7, "Ss": 7,
    "St7complexIfE": 8, "l": 9, "x": 9, "b": 10, "N5Eigen8bfloat16E": 14, "NS_8bfloat16E": 14,
    "N9ml_dtypes8bfloat16E": 14, "t": 17, "St7complexIdE": 18, "N5Eigen4halfE": 19, "j": 22, "m": 23, "y": 23,
}  # fmt: skip
"""The numbers of TensorFlow's data types by their mangled C++ types."""
DEVICES = {
    "_ZN10tensorflow10DEVICE_CPUE": "CPU",
    "_ZN10tensorflow10DEVICE_GPUE": "GPU",
    "_ZN10tensorflow14DEVICE_DEFAULTE": "DEFAULT",
    "_ZN10tensorflow17DEVICE_TPU_SYSTEME": "TPU_SYSTEM",
}


def registers(symbol: str) -> bool:
    """Whether a function belongs to a registration."""
    if not symbol.startswith(BEGINNINGS):  # most symbols
        return False
    patterns = (OP_BUILDER, KERNEL_BUILDER, REGISTERS_OP, REGISTERS_KERNEL, C_API)
    return any(pattern.match(symbol) for pattern in patterns)


def wrapper_of(symbol: str) -> str:
    """The symbol for a function that only passes its argument to a builder."""
    builder = OP_BUILDER.match(symbol)
    if builder and builder["method"] in ("C1", "C2"):
        return "_ZN10tensorflow11register_op19OpDefBuilderWrapperC1EPKc"
    return symbol


@dataclass
class OpTexts:
    """An op as it was registered; None is a text that could not be read."""

    name: str | None
    attrs: list[str | None] = field(default_factory=list)
    inputs: list[str | None] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)
    unread: bool = False
    """Whether it may have more texts."""


@dataclass
class KernelTexts:
    """A kernel as it was registered."""

    op: str | None
    device: str | None = None
    constraints: dict[str, tuple[int, ...]] = field(default_factory=dict)
    host_memory: list[str] = field(default_factory=list)
    label: str = ""
    priority: int = 0
    unread: bool = False
    """Whether something about it could not be read."""


@dataclass
class RegistrationRecorder:
    """Records registrations from calls."""

    ops: list[OpTexts] = field(default_factory=list)
    kernels: list[KernelTexts] = field(default_factory=list)
    unread: list[tuple[int, str]] = field(default_factory=list)
    """Calls of builders whose text could not be read: address and function."""
    ops_by_place: dict[int, OpTexts] = field(default_factory=dict)
    kernels_by_place: dict[int, KernelTexts] = field(default_factory=dict)

    def __call__(self, call: Call) -> int | None:
        name, memory = call.name, call.memory
        if op := OP_BUILDER.match(name):
            self._op(op["method"], op["parameters"], call)
        elif kernel := KERNEL_BUILDER.match(name):
            self._kernel(kernel["method"], kernel["parameters"], call)
        elif c := C_API.fullmatch(name):
            return self._c(c[1], call)
        else:
            return _strings(call, memory)
        return call.arguments[0]  # builders return themselves

    def mark_unread(self) -> None:
        """Mark everything as possibly incomplete."""
        for op in self.ops:
            op.unread = True
        for kernel in self.kernels:
            kernel.unread = True

    def _op(self, method: str, parameters: str, call: Call) -> None:
        text = _text(parameters, call)
        if text is None:
            self.unread.append((call.place, call.name))
        if method in ("C1", "C2"):
            self._new_op(call.arguments[0], text)
        else:
            self._note_op(call.arguments[0], method.lstrip("0123456789"), text)

    def _new_op(self, index: int | None, name: str | None) -> None:
        op = OpTexts(name if name and OP_NAME.fullmatch(name) else None)
        self.ops.append(op)
        self.ops_by_place[index or 0] = op

    def _note_op(self, index: int | None, method: str, text: str | None) -> None:
        op = self.ops_by_place.get(index or 0) or (self.ops[-1] if self.ops else OpTexts(None))
        lists = {"Attr": op.attrs, "Input": op.inputs, "Output": op.outputs}
        if method in lists:
            lists[method].append(text)

    def _kernel(self, method: str, parameters: str, call: Call) -> None:
        place = call.arguments[0]
        if method in ("C1", "C2"):
            op = call.memory.text(call.arguments[1])
            if op is None:
                self.unread.append((call.place, call.name))
            self._new_kernel(place, op)
            return
        kernel = self.kernels_by_place.get(place or 0) or (self.kernels[-1] if self.kernels else None)
        if kernel is not None:
            _note_kernel(kernel, method.lstrip("0123456789"), parameters, call)

    def _new_kernel(self, index: int | None, op: str | None, device: str | None = None) -> None:
        kernel = KernelTexts(op if op and OP_NAME.fullmatch(op) else None, device)
        self.kernels.append(kernel)
        self.kernels_by_place[index or 0] = kernel

    def _c(self, function: str, call: Call) -> int | None:
        """TensorFlow's C functions: builders are pointers that they return."""
        text, block = call.memory.text, call.memory.new_block()
        first, second, third = call.arguments[:3]
        if function == "NewOpDefinitionBuilder":
            self._new_op(block, text(first))
        elif function.startswith("OpDefinitionBuilderAdd"):
            self._note_op(first, function.removeprefix("OpDefinitionBuilderAdd"), text(second))
        elif function == "NewKernelBuilder":
            self._new_kernel(block, text(first), text(second))
        elif function.startswith("KernelBuilder_") and first in self.kernels_by_place:
            kernel, name = self.kernels_by_place[first], text(second)
            if function.endswith("TypeConstraint") and name and third is not None:
                kernel.constraints[name] = (third & 0xFFFFFFFF,)
            elif function.endswith("HostMemory") and name:
                kernel.host_memory.append(name)
            else:
                kernel.unread = True
        return block


def _note_kernel(kernel: KernelTexts, method: str, parameters: str, call: Call) -> None:
    memory, second, third = call.memory, call.arguments[1], call.arguments[2]
    text = memory.text(second) or _device(memory, second)
    match method:
        case "Device":
            kernel.device = text
        case "Label":
            kernel.label = text or ""
        case "Priority":
            kernel.priority = (second or 0) & 0x7FFFFFFF
        case "HostMemory" if text:
            kernel.host_memory.append(text)
        case "TypeConstraint" if text and (types := _types(parameters, call, third)):
            kernel.constraints[text] = types
        case "TypeConstraint" | "HostMemory":
            kernel.unread = True


def _types(parameters: str, call: Call, third: int | None) -> tuple[int, ...]:
    """The types of a constraint: a template parameter, a number, or an array of numbers."""
    if template := TEMPLATE_TYPE.match(parameters):
        return (TYPES[template[1]],) if template[1] in TYPES else ()
    if third is None:
        return ()
    if parameters.endswith("8DataTypeE"):
        return (third & 0xFFFFFFFF,)
    size = call.arguments[3]
    data = call.memory.read(third, 4 * size) if size is not None and 0 < size < 64 else None
    if data is None:
        return ()
    return tuple(int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4))


def _device(memory: EmulatedMemory, address: int | None) -> str | None:
    """The device name in a variable of TensorFlow that an address was loaded from."""
    return DEVICES.get(memory.variable_of(address) or "")


def _text(parameters: str, call: Call) -> str | None:
    """The text argument of a builder: a C string, a `std::string` or a string view."""
    memory, second, third = call.memory, call.arguments[1], call.arguments[2]
    if parameters.startswith("PKc"):
        return memory.text(second)
    if "string_view" in parameters or "StringPiece" in parameters:
        return memory.text(second, third)
    if parameters.startswith("Ss"):
        return memory.text(memory.pointer(second))
    return memory.text(memory.pointer(second), memory.pointer(second + 8) if second is not None else None)


def _strings(call: Call, memory: EmulatedMemory) -> int | None:
    """Emulate the C++ library functions that build strings."""
    name, (first, second, third) = call.name, call.arguments[:3]
    if name in ("_Znwm", "malloc") or name.endswith("9_M_createERmm"):
        return memory.new_block()
    if name in ("memcpy", "memmove") and None not in (first, second, third) and (third or 0) < 4096:
        memory.write(first or 0, memory.read(second or 0, third or 0), third or 0)
        return first
    if OLD_STRING_FROM_CHARS.fullmatch(name):
        if first is not None and second is not None:
            memory.write(first, second.to_bytes(8, "little"), 8)
        return None
    made_from_range = STRING_FROM_RANGE.fullmatch(name) is not None
    if made_from_range or STRING_FROM_CHARS.fullmatch(name) or _looks_like_string(call):
        _make_string(memory, first, second, third if made_from_range or not name else None)
    return None


def _looks_like_string(call: Call) -> bool:
    """Whether a call of a function without a name looks like building a string from constants."""
    first, second = call.arguments[:2]
    if call.name or first is None or second is None or abs(first - STACK) > 1 << 20:
        return False
    segment = next((s for s in call.memory.image.loaded if s.holds(second)), None)
    return segment is not None and not segment.is_code and not segment.is_writable


def _make_string(memory: EmulatedMemory, index: int | None, start: int | None, end: int | None) -> None:
    if index is None or start is None:
        return
    size = end - start if end is not None and 0 <= end - start <= 4096 else None
    text = memory.text(start, size)
    if text is not None:
        block, data = memory.new_block(), text.encode()
        memory.write(block, data + b"\0", len(data) + 1)
        memory.write(index, block.to_bytes(8, "little") + len(data).to_bytes(8, "little"), 16)
