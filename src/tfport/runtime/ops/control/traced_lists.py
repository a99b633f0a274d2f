"""Convert between lists and tensors while planning: rows of a list, loop counters, shapes of elements.

A list on the host may state no shape for its elements. What is written to it while planning still tells
their rank, so that what follows a read, a gather or a concatenation can run in the engine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import INT64, VARIANT, DType
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.structure_steps import common_shape, emit
from tfport.runtime.ops.control.tensor_list import (
    TensorList,
    is_compatible,
    merged,
    rows_of_tensor,
    shape_text,
)
from tfport.runtime.ops.shared.axes import full, zero_of
from tfport.runtime.trace import Tracer
from tfport.runtime.value_facts import ListFacts


def list_from_rows(tracer: Tracer, name: str, facts: ListFacts) -> Operand:
    """A list whose elements are the rows of `facts.stacked`; created on the host only if it is read."""
    assert facts.stacked is not None

    def run(rows: Any) -> TensorList:
        return TensorList(rows_of_tensor(rows), facts.shape, facts.element)

    out = emit(tracer, name, "TensorListFromTensor", [facts.stacked], run, (VARIANT, ()))
    tracer.lists[out] = facts
    return out


def all_rows(
    tracer: Tracer, name: str, facts: ListFacts, rows: Operand, *, grows: bool, falls: bool = False
) -> Operand:
    """All elements of a list as one tensor: its head, the rows from a loop, and zeros for the rest.

    `falls`: the same from the end, with its tail.
    """
    head = list(facts.tail if falls else facts.head or ())
    grows = grows and not falls
    if not head and facts.size is None:
        return rows
    size = [facts.size] if facts.size is not None else []

    def run(appended: Any, *others: Any) -> Any:
        parts = [*(element[None] for element in others[: len(head)]), appended]
        if size:
            missing = int(others[-1]) - len(head) - len(appended)
            if missing < 0 and not grows:
                last = len(head) + len(appended) - 1 if not falls else missing
                raise RunFailed(f"index {last} is out of range for a list of {int(others[-1])} elements")
            like = parts[0].shape[1:]
            parts.append(full((max(missing, 0), *like), zero_of(appended.dtype), appended.dtype))
        filled = [part for part in parts if len(part)] or parts
        joined = filled[0] if len(filled) == 1 else np.concatenate(filled)
        return joined[::-1] if falls else joined

    def lower(b: Any, appended: Operand, *others: Operand) -> Operand:
        parts = [*(b.unsqueeze(element, 0) for element in others[: len(head)]), appended]
        if size:
            count = b.Sub(b.vector(others[-1]), b.Add(b.Shape(appended, start=0, end=1), b.ints(len(head))))
            if grows:
                count = b.Max(count, b.ints(0))
            dims = b.Concat(count, b.Shape(parts[0], start=1), axis=0)
            zero = np.zeros(1, appended.dtype.numpy)
            parts.append(b.nodes("ConstantOfShape", dims, dtype=appended.dtype, value=zero)[0])
        out: Operand = b.Concat(*parts, axis=0)
        if falls:
            out = b.Slice(out, b.ints(-1), b.ints(np.iinfo(np.int64).min), b.ints(0), b.ints(-1))
        out.shape = shape
        return out

    shape = rows.shape and (count_of(facts, grows), *rows.shape[1:])
    return emit(tracer, name, "TensorListStack", [rows, *head, *size], run, (rows.dtype, shape), lower)


def with_a_row(tracer: Tracer, name: str, rows: Operand, facts: ListFacts, stated: Dims | None) -> Operand:
    """The elements of a list as a tensor; an error if none is set and the file leaves their shape unknown."""
    shape, set_rows = merged(facts.shape, stated), facts.set_rows or rows
    is_full = shape is not None and None not in shape
    if not facts.is_open or is_full or rows.shape is None or not set_rows.shape or set_rows.shape[0]:
        return rows

    def run(tensor: Any, written: Any) -> Any:
        if not len(written):
            raise RunFailed(f"no element is set, and the shape of elements is not known: {shape_text(shape)}")
        return tensor

    def lower(b: Any, tensor: Operand, written: Operand) -> Operand:
        too_far = b.cast(b.Equal(b.Shape(written, start=0, end=1), b.ints(0)), INT64)
        same = b.Add(b.ints(*(0 for _ in tensor.shape or ())), b.Gather(b.ints(0), too_far, axis=0))
        out: Operand = b.Reshape(tensor, same)  # a size of 0 is that of the input
        out.shape = tensor.shape
        return out

    return emit(tracer, name, "TensorListStack", [rows, set_rows], run, (rows.dtype, rows.shape), lower)


def count_of(facts: ListFacts, grows: bool) -> int | None:
    """The number of elements of a list, if it is fixed and known."""
    known = facts.size.known if facts.size is not None and not grows else None
    return known[0] if known else None


def counter_value(
    tracer: Tracer, name: str, start: int, iterations: Operand, dtype: DType, *, is_iteration: bool = False
) -> Operand:
    """The value of a counter after a number of iterations, or in the iteration with that number."""

    def run(count: Any) -> Any:
        return np.asarray(start + max(int(count), 0), dtype.numpy)

    def lower(b: Any, count: Operand) -> Operand:
        passed = count if is_iteration else b.Max(count, b.const(0, count.dtype))
        counter: Operand = b.cast(passed, dtype)
        return b.Add(counter, b.const(start, dtype)) if start else counter

    out = emit(tracer, name, "Cast", [iterations], run, (dtype, ()), lower)
    if start >= 0:
        tracer.counters.add(out)
    return out


def last_row(tracer: Tracer, name: str, rows: Operand) -> Operand:
    """The last row, as a tensor of one row."""

    def lower(b: Any, tensor: Operand) -> Operand:
        return b.Slice(tensor, b.ints(-1), b.ints(np.iinfo(np.int64).max), b.ints(0))  # type: ignore[no-any-return]

    shape = None if rows.shape is None else (1, *rows.shape[1:])
    out = emit(
        tracer, name, "TensorListStack", [rows], lambda tensor: tensor[-1:], (rows.dtype, shape), lower
    )
    out.shape = shape
    return out


def row_at(tracer: Tracer, name: str, rows: Operand, index: Operand) -> Operand:
    """One row of a tensor; an index out of range is an error, also a negative one."""

    def run(tensor: Any, at: Any) -> Any:
        if not 0 <= int(at) < len(tensor):
            raise RunFailed(f"index {int(at)} is out of range for a list of {len(tensor)} elements")
        return tensor[int(at) : int(at) + 1].reshape(tensor.shape[1:])

    def lower(b: Any, tensor: Operand, at: Operand) -> Operand:
        # ONNX counts negative indices from the end: map them to an index that it rejects
        if at in tracer.counters:
            tracer.relied_on.add(at)
            return b.Gather(tensor, at, axis=0)  # type: ignore[no-any-return]
        wide = b.int64(at)
        if at.array is None:
            wide = b.Where(b.Less(wide, b.const(0, INT64)), b.const(np.iinfo(np.int64).max, INT64), wide)
        elif int(at.array) < 0:
            wide = b.const(np.iinfo(np.int64).max, INT64)
        return b.Gather(tensor, wide, axis=0)  # type: ignore[no-any-return]

    shape = None if rows.shape is None else rows.shape[1:]
    return emit(tracer, name, "TensorListGetItem", [rows, index], run, (rows.dtype, shape), lower)


def item_shape(tracer: Tracer, flow: Operand, stated: Dims | None = None) -> Dims | None:
    """The shape of all elements that are set, as far as it is known, with a shape that the model states."""
    shape = _common(_shapes_set(tracer, flow))
    return merged(stated, shape) if is_compatible(stated, shape) else stated


def item_shape_after_loop(tracer: Tracer, initial: Operand, arg: Operand, result: Operand) -> Dims | None:
    """The same after a loop: of the elements set before it, and of those that an iteration sets."""
    return _common([*_shapes_set(tracer, initial), *_shapes_set(tracer, result, since=arg)])


def _shapes_set(tracer: Tracer, flow: Operand, since: Operand | None = None) -> list[Dims | None]:
    """A shape per op that sets elements, back to a list `since` or to the list without elements."""
    shapes: list[Dims | None] = []
    while flow is not since:
        facts = tracer.lists.get(flow)
        if facts is None:
            return [None]
        if facts.head is not None:
            return [*shapes, *(item.shape for item in facts.head)]
        if facts.change is None:
            return [*shapes, facts.items]
        shapes.append(facts.change.item.shape)
        flow = facts.change.base
    return shapes


def _common(shapes: list[Dims | None]) -> Dims | None:
    return common_shape(shapes) if shapes else None
