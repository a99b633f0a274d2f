"""Read an array of strings that NumPy stored as a pickle, without unpickling it.

`np.save` and `np.savez` store an array of Python objects as a pickle, a program that may call any
function. Only the opcodes that NumPy writes for an array of `str` or `bytes` are followed here, with
plain records in place of calls: nothing is imported and nothing is called.
"""

from __future__ import annotations

import math
import pickletools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NUMPY = ("numpy.core.multiarray", "numpy._core.multiarray")
ARRAY, DTYPE = "array", "dtype"
CALLS = {**{(module, "_reconstruct"): ARRAY for module in _NUMPY}, ("numpy", "dtype"): DTYPE}
"""The functions that NumPy's pickles of such arrays call."""
NAMES = {("numpy", "ndarray")}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = """
    BININT BININT1 BININT2 LONG1 BINUNICODE BINUNICODE8 SHORT_BINUNICODE BINBYTES BINBYTES8 SHORT_BINBYTES
"""
VALUES = frozenset(_VALUES.split())
TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
PUTS = frozenset(("BINPUT", "LONG_BINPUT", "MEMOIZE"))
GETS = frozenset(("BINGET", "LONG_BINGET"))
NOTHING = frozenset(("PROTO", "FRAME", "STOP"))
_MARK = object()


class _NotStrings(Exception):
    """The pickle is not an array of strings, or not one that NumPy wrote."""


@dataclass(slots=True)
class _Record:
    """What a call would have made, and the state that it would have been given."""

    kind: str
    state: Any = field(default=None)


def read_pickled_strings(data: bytes, where: str) -> NDArray[Any]:
    """The array of strings in a pickle of NumPy; UnreadableFile for anything else."""
    try:
        return _array(_Machine().run(data))
    except (_NotStrings, ValueError, IndexError, KeyError, TypeError) as error:
        why = f" ({error})" if isinstance(error, _NotStrings) else ""
        raise UnreadableFile(
            f"{where}: an array of Python objects that are not plain strings{why}; tfport does not unpickle. "
            'Save strings as bytes: np.savez(path, name=np.array(texts, "S"))'
        ) from None


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(data):
            self._step(opcode.name, argument)
        (result,) = self.stack
        return result

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in VALUES:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in PUTS:
            self.memo[len(self.memo) if name == "MEMOIZE" else argument] = stack[-1]
        elif name in GETS:
            stack.append(self.memo[argument])
        elif name in TUPLES:
            count = TUPLES[name]
            stack[len(stack) - count :] = [tuple(stack[len(stack) - count :])]
        elif name not in NOTHING:
            self._structure(name, argument)

    def _structure(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name == "MARK":
            stack.append(_MARK)
        elif name == "TUPLE":
            stack.append(tuple(self._to_mark()))
        elif name == "EMPTY_LIST":
            stack.append([])
        elif name == "APPENDS":
            elements = self._to_mark()
            _a_list(stack[-1]).extend(elements)
        elif name == "APPEND":
            element = stack.pop()
            _a_list(stack[-1]).append(element)
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            stack.append(self._name(argument))
        elif name == "REDUCE":
            del stack[-1]  # the arguments
            stack.append(_Record(CALLS[stack.pop()]))
        elif name == "BUILD":
            state = stack.pop()
            if not isinstance(stack[-1], _Record):
                raise _NotStrings("an object with state")
            stack[-1].state = state
        else:
            raise _NotStrings(f"opcode {name}")

    def _to_mark(self) -> list[Any]:
        """Take everything above the last mark."""
        indices = (i for i in reversed(range(len(self.stack))) if self.stack[i] is _MARK)
        if (index := next(indices, None)) is None:
            raise _NotStrings("elements without a mark")
        elements = self.stack[index + 1 :]
        del self.stack[index:]
        return elements

    def _name(self, argument: str | None) -> tuple[str, str]:
        if argument is not None:
            module, _, name = argument.partition(" ")
        else:
            name, module = self.stack.pop(), self.stack.pop()
        if (module, name) not in CALLS and (module, name) not in NAMES:
            raise _NotStrings(f"it names {module}.{name}")
        return module, name


def _a_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _NotStrings("elements outside a list")
    return value


def _array(result: Any) -> NDArray[Any]:
    if not isinstance(result, _Record) or result.kind != ARRAY:
        raise _NotStrings("not an array")
    _, shape, _, _, elements = result.state  # elements are in C order, whatever the order of the array
    if not all(type(size) is int and size >= 0 for size in shape) or math.prod(shape) != len(elements):
        raise _NotStrings("another number of elements than its shape has")
    for element in elements:
        if not isinstance(element, str | bytes):
            raise _NotStrings(f"an element of type {type(element).__name__}")
    flat = np.empty(len(elements), object)
    flat[:] = [element.encode() if isinstance(element, str) else element for element in elements]
    return flat.reshape(shape)
