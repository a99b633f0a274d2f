"""Lists of tensors while a plan is made: what is known of them, and how that becomes tensors again."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import INT64, VARIANT, DType
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.list_facts import ListFacts
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.ops.control.tensor_list import TensorList, rows_of_tensor
from tfport.runtime.trace import Tracer


def list_of(tracer: Tracer, name: str, facts: ListFacts) -> Operand:
    """A list whose elements are the rows of `facts.stacked`; made on the host if something asks for it."""
    assert facts.stacked is not None

    def run(rows: Any) -> TensorList:
        return TensorList(rows_of_tensor(rows), facts.shape, facts.element)

    out = emit(tracer, name, "TensorListFromTensor", [facts.stacked], run, (VARIANT, ()))
    tracer.lists[out] = facts
    return out


def rows_of(tracer: Tracer, name: str, facts: ListFacts, rows: Operand, *, grows: bool) -> Operand:
    """All elements of a list as one tensor: its head, the rows that a loop handed out, zeros for the rest."""
    head = list(facts.head or ())
    if not head and facts.size is None:
        return rows
    size = [facts.size] if facts.size is not None else []

    def run(made: Any, *others: Any) -> Any:
        parts = [*(one[None] for one in others[: len(head)]), made]
        if size:
            missing = int(others[-1]) - len(head) - len(made)
            if missing < 0 and not grows:
                raise RunFailed(
                    f"a list of {int(others[-1])} elements has none at {len(head) + len(made) - 1}"
                )
            like = parts[0].shape[1:]
            parts.append(np.zeros((max(missing, 0), *like), made.dtype))
        return np.concatenate([p for p in parts if len(p)] or parts)

    def say(b: Any, made: Operand, *others: Operand) -> Operand:
        parts = [*(b.unsqueeze(one, 0) for one in others[: len(head)]), made]
        if size:
            count = b.Sub(b.vector(others[-1]), b.Add(b.Shape(made, start=0, end=1), b.ints(len(head))))
            if grows:
                count = b.Max(count, b.ints(0))
            dims = b.Concat(count, b.Shape(parts[0], start=1), axis=0)
            zero = np.zeros(1, made.dtype.numpy)
            parts.append(b.nodes("ConstantOfShape", dims, dtype=made.dtype, value=zero)[0])
        out: Operand = b.Concat(*parts, axis=0)
        out.shape = shape
        return out

    shape = rows.shape and (count_of(facts, grows), *rows.shape[1:])
    return emit(tracer, name, "TensorListStack", [rows, *head, *size], run, (rows.dtype, shape), say)


def count_of(facts: ListFacts, grows: bool) -> int | None:
    """How many elements a list has, where that never changes and is known."""
    known = facts.size.known if facts.size is not None and not grows else None
    return known[0] if known else None


def counted(
    tracer: Tracer, name: str, start: int, turns: Operand, dtype: DType, *, is_turn: bool = False
) -> Operand:
    """What a counter is behind a loop of so many turns, or in the turn of that number."""

    def run(count: Any) -> Any:
        return np.asarray(start + max(int(count), 0), dtype.numpy)

    def say(b: Any, count: Operand) -> Operand:
        least = count if is_turn else b.Max(count, b.const(0, count.dtype))
        made: Operand = b.cast(least, dtype)
        return b.Add(made, b.const(start, dtype)) if start else made

    out = emit(tracer, name, "Cast", [turns], run, (dtype, ()), say)
    if start >= 0:
        tracer.counters.add(out)
    return out


def last_row(tracer: Tracer, name: str, rows: Operand) -> Operand:
    """The last row alone, still as a row."""

    def say(b: Any, tensor: Operand) -> Operand:
        return b.Slice(tensor, b.ints(-1), b.ints(np.iinfo(np.int64).max), b.ints(0))  # type: ignore[no-any-return]

    shape = None if rows.shape is None else (1, *rows.shape[1:])
    out = emit(tracer, name, "TensorListStack", [rows], lambda tensor: tensor[-1:], (rows.dtype, shape), say)
    out.shape = shape
    return out


def row_of(tracer: Tracer, name: str, rows: Operand, index: Operand) -> Operand:
    """One row of a tensor; an index outside is an error, and a negative one too."""

    def run(tensor: Any, at: Any) -> Any:
        if not 0 <= int(at) < len(tensor):
            raise RunFailed(f"there is no element {int(at)} in a list of {len(tensor)}")
        return tensor[int(at) : int(at) + 1].reshape(tensor.shape[1:])

    def say(b: Any, tensor: Operand, at: Operand) -> Operand:
        # ONNX counts negative places from the end: they are sent beyond it, which it refuses
        if at in tracer.counters:
            return b.Gather(tensor, at, axis=0)  # type: ignore[no-any-return]
        wide = b.int64(at)
        if at.array is None:
            wide = b.Where(b.Less(wide, b.const(0, INT64)), b.const(np.iinfo(np.int64).max, INT64), wide)
        elif int(at.array) < 0:
            wide = b.const(np.iinfo(np.int64).max, INT64)
        return b.Gather(tensor, wide, axis=0)  # type: ignore[no-any-return]

    shape = None if rows.shape is None else rows.shape[1:]
    return emit(tracer, name, "TensorListGetItem", [rows, index], run, (rows.dtype, shape), say)
