"""Call kernels in C++: inputs and outputs are DLPack tensors, without copies.

tvm-ffi makes the call and releases Python's GIL meanwhile. What a kernel throws becomes RunFailed
with the node and the op. This module needs tvm-ffi, and is imported when a library is loaded.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm_ffi import from_dlpack

from tfport.errors import RunFailed
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.runtime.host import Group
from tfport.runtime.lower import Context
from tfport.runtime.native.packing import BFLOAT16, STRING, packed_node, pointers_to, strings_in
from tfport.runtime.program import Run
from tfport.runtime.state import State

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
