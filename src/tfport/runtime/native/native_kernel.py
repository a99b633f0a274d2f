"""A kernel in C++ as the runtime calls it: arrays in as DLPack tensors, answers out the same way, no copies.

The call itself is tvm-ffi's, which lets go of Python's lock meanwhile. What a kernel throws
becomes RunFailed with the node and the op. This module needs tvm-ffi, and is imported when a
library is loaded.
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

Take = Callable[[Any, list[Any]], Any]


class NativeKernel:
    """One kernel of a loaded library."""

    def __init__(self, call: Callable[..., Any], forget: Callable[[int], Any], place: int) -> None:
        self._call, self._forget, self._place = call, forget, place

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """What any kernel looks like; the runtime asks for `for_node` instead."""
        raise RunFailed("a kernel in C++ is called by a session, for a node")

    def for_node(self, groups: Sequence[Group], attrs: Mapping[str, Attr], context: Context) -> Run:
        """The kernel for one node, whose attributes are written down once."""
        counts = [len(group) if isinstance(group, list) else 1 for group in groups]
        flat = [o for group in groups for o in (group if isinstance(group, list) else [group])]
        types = [operand.dtype for operand in flat]
        node = packed_node(counts, types, context.outputs, attrs)
        takes = {place: _TAKES[dtype.name] for place, dtype in enumerate(types) if dtype.name in _TAKES}
        gives = [_given(dtype) for dtype in context.outputs]
        call, place, number = self._call, self._place, _number(context, self._forget)

        only = gives[0] if len(gives) == 1 else None

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            kept: list[Any] = []
            if takes:
                inputs = [takes[i](array, kept) if i in takes else array for i, array in enumerate(inputs)]
            tensors = [array if array.flags.carray else _shared(array) for array in inputs]
            try:
                answer = call(place, node, number, *tensors)
            except Exception as error:
                raise RunFailed(f"`{context.name}` ({context.op}): {error}") from None
            if only is not None:
                return [only(answer)]
            return [give(array) for give, array in zip(gives, answer or (), strict=True)]

        return run


def _shared(array: NDArray[Any]) -> Any:
    """An array that lies in another order, or may not be written to, as tvm-ffi takes it."""
    if not (array.flags.c_contiguous and array.flags.aligned):
        return np.array(array, order="C")
    try:
        return from_dlpack(array.__dlpack__(max_version=(1, 0)))
    except TypeError:  # a NumPy before 2.1 cannot say that it must not be written to
        return array.copy()


_TAKES: dict[str, Take] = {
    STRING: pointers_to,
    BFLOAT16: lambda array, _: np.ascontiguousarray(array).view(np.uint16).reshape(array.shape),
}


def _given(dtype: DType) -> Callable[[Any], Any]:
    if dtype.name == STRING:
        return lambda answer: strings_in(np.from_dlpack(answer))
    if dtype.name == BFLOAT16:
        kind = dtype.numpy
        return lambda answer: np.from_dlpack(answer).view(kind)
    return np.from_dlpack


_NUMBERS = itertools.count(1)
_NODES: weakref.WeakKeyDictionary[State, dict[tuple[int, str], int]] = weakref.WeakKeyDictionary()


def _number(context: Context, forget: Callable[[int], Any]) -> int:
    """By which a node finds again what it keeps between the runs of its session."""
    nodes = _NODES.setdefault(context.state, {})
    key = (id(forget), context.name)
    if key not in nodes:
        nodes[key] = next(_NUMBERS)
        weakref.finalize(context.state, forget, nodes[key]).atexit = False
    return nodes[key]
