"""Call kernels in C++: inputs and outputs are DLPack tensors, without copies.

tvm-ffi makes the call and releases Python's GIL meanwhile. What a kernel throws becomes RunFailed
with the node and the op. This module needs tvm-ffi, and is imported when a library is loaded.

A node is packed for a kernel as 64-bit words, and texts padded to words; `packed.h` unpacks it. Types that
DLPack does not have are converted: strings to pairs of address and length, bfloat16 to its bits.
"""

from __future__ import annotations

import itertools
import struct
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm_ffi import from_dlpack

from tfport.errors import CannotRun, RunFailed
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime.host import Group
from tfport.runtime.lower import Context
from tfport.runtime.program import Run
from tfport.runtime.state import State

if TYPE_CHECKING:
    from numpy.typing import NDArray


STRING, BFLOAT16 = "string", "bfloat16"
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
"""DLPack's numbers for NumPy's kinds."""
HANDLE, BFLOAT = 3, 4
ANY = "\0"
"""The letter of an empty list, whose element type is unknown."""


def packed_node(
    counts: Sequence[int], inputs: Sequence[DType], outputs: Sequence[DType], attrs: Mapping[str, Attr]
) -> bytes:
    """The number of tensors of each argument, all types, and the attributes."""
    types = [_sizes([_type_word(dtype) for dtype in each]) for each in (inputs, outputs)]
    named = b"".join(_attribute(name, value) for name, value in attrs.items())
    return b"".join((_sizes(counts), *types, _word(len(attrs)), named))


def _word(number: int) -> bytes:
    return struct.pack("<q", number)


def _sizes(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers) + 1}q", len(numbers), *numbers)


def _text(text: bytes) -> bytes:
    return _word(len(text)) + text + bytes(-len(text) % 8)


def _type_word(dtype: DType) -> int:
    """A DLDataType: code, bits and lanes."""
    if dtype.name == STRING:
        code, bits = HANDLE, 128
    elif dtype.name == BFLOAT16:
        code, bits = BFLOAT, 16
    else:
        numpy_type = dtype.numpy if dtype.name not in ("resource", "variant") and not dtype.is_ref else None
        if numpy_type is None or numpy_type.kind not in CODES:
            raise CannotRun(f"kernels in C++ do not support {dtype.name}")
        code, bits = CODES[numpy_type.kind], numpy_type.itemsize * 8
    return code | bits << 8 | 1 << 16


def _attribute(name: str, value: Attr) -> bytes:
    is_list = isinstance(value, list)
    letters = {_letter(element, name) for element in value} if is_list else {_letter(value, name)}
    body = b"".join(map(_value, value)) if is_list else _value(value)
    letter = letters.pop() if letters else ANY
    return b"".join(
        (
            _text(name.encode()),
            _word(ord(letter)),
            _word(int(is_list)),
            _text(_word(len(value)) + body if is_list else body),
        )
    )


def _letter(value: Attr, name: str) -> str:
    match value:
        case bool():
            return "b"
        case int():
            return "i"
        case float():
            return "f"
        case str() | bytes():
            return "s"
        case DType():
            return "t"
        case Shape() if value.dims is not None:
            return "h"
    what = "a shape of unknown rank" if isinstance(value, Shape) else type(value).__name__
    raise CannotRun(f"kernels in C++ do not support the attribute {name}: it is {what}")


def _value(value: Attr) -> bytes:
    match value:
        case bool() | int():
            return _word(int(value))
        case float():
            return struct.pack("<d", value)
        case str():
            return _text(value.encode())
        case bytes():
            return _text(value)
        case DType():
            return _word(_type_word(value))
        case _:
            return _sizes([-1 if size is None else size for size in value.dims])


def pointers_to(strings: NDArray[Any], kept: list[Any]) -> NDArray[Any]:
    """Strings as pairs of address and length; `kept` keeps their bytes alive."""
    flat: Iterable[bytes] = strings.reshape(-1).tolist()
    joined = np.frombuffer(b"".join(flat) or b"\0", np.uint8)
    kept.append(joined)
    lengths = np.fromiter(map(len, flat), np.int64, strings.size)
    starts = np.cumsum(lengths) - lengths + joined.ctypes.data
    return np.stack((starts, lengths), axis=-1).reshape((*strings.shape, 2))


def strings_in(words: NDArray[Any]) -> NDArray[Any]:
    """Unpack the strings that a kernel returned: rank, sizes, lengths, then all bytes."""
    rank = int(words[0])
    shape = tuple(words[1 : 1 + rank].tolist())
    count = int(np.prod(shape, dtype=np.int64))
    lengths = words[1 + rank : 1 + rank + count].tolist()
    text = words[1 + rank + count :].tobytes()
    out = np.empty(count, object)
    at = 0
    for i, length in enumerate(lengths):
        out[i] = text[at : at + length]
        at += length
    return out.reshape(shape)


# Calls

InputConverter = Callable[[Any, list[Any]], Any]


class NativeKernel:
    """One kernel of a loaded library."""

    def __init__(self, call: Callable[..., Any], forget: Callable[[int], Any], index: int) -> None:
        self._call, self._forget, self._index = call, forget, index

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """Not used: the runtime calls `for_node` instead."""
        raise RunFailed("a kernel in C++ can only be called by a session")

    def for_node(self, groups: Sequence[Group], attrs: Mapping[str, Attr], context: Context) -> Run:
        """The kernel for one node, with its attributes packed once."""
        counts = [len(group) if isinstance(group, list) else 1 for group in groups]
        flat = [o for group in groups for o in (group if isinstance(group, list) else [group])]
        types = [operand.dtype for operand in flat]
        node = packed_node(counts, types, context.outputs, attrs)
        converters = {
            i: _INPUT_CONVERTERS[t.name] for i, t in enumerate(types) if t.name in _INPUT_CONVERTERS
        }
        output_converters = [_output_converter(dtype) for dtype in context.outputs]
        call, index, number = self._call, self._index, _number(context, self._forget)

        only = output_converters[0] if len(output_converters) == 1 else None

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            kept: list[Any] = []
            if converters:
                inputs = [
                    converters[i](array, kept) if i in converters else array for i, array in enumerate(inputs)
                ]
            tensors = [array if array.flags.carray else _shared(array) for array in inputs]
            try:
                output = call(index, node, number, *tensors)
            except Exception as error:
                raise RunFailed(f"`{context.name}` ({context.op}): {error}") from None
            if only is not None:
                return [only(output)]
            return [convert(part) for convert, part in zip(output_converters, output or (), strict=True)]

        return run


def _shared(array: NDArray[Any]) -> Any:
    """An array that is not C-contiguous or is read-only, as tvm-ffi accepts it."""
    if not (array.flags.c_contiguous and array.flags.aligned):
        return np.array(array, order="C")
    try:
        return from_dlpack(array.__dlpack__(max_version=(1, 0)))
    except TypeError:  # NumPy before 2.1 cannot export read-only arrays
        return array.copy()


_INPUT_CONVERTERS: dict[str, InputConverter] = {
    STRING: pointers_to,
    BFLOAT16: lambda array, _: np.ascontiguousarray(array).view(np.uint16).reshape(array.shape),
}


def _output_converter(dtype: DType) -> Callable[[Any], Any]:
    if dtype.name == STRING:
        return lambda output: strings_in(np.from_dlpack(output))
    if dtype.name == BFLOAT16:
        numpy_type = dtype.numpy
        return lambda output: np.from_dlpack(output).view(numpy_type)
    return np.from_dlpack


_NUMBERS = itertools.count(1)
_NODES: weakref.WeakKeyDictionary[State, dict[tuple[int, str], int]] = weakref.WeakKeyDictionary()


def _number(context: Context, forget: Callable[[int], Any]) -> int:
    """The id under which a node keeps its state between the runs of a session."""
    nodes = _NODES.setdefault(context.state, {})
    key = (id(forget), context.name)
    if key not in nodes:
        nodes[key] = next(_NUMBERS)
        weakref.finalize(context.state, forget, nodes[key]).atexit = False
    return nodes[key]
