"""TensorArray ops, versions 1 to 3: the flow that passes from op to op is the array itself.

In TensorFlow a TensorArray is a resource that ops modify, and the flow is a number that orders them.
Here the flow is a value, a `TensorList`, and the handle only describes the elements. The results do
not depend on the execution order of ops that the flow does not order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import CannotRun, RunFailed
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import INT32, INT64, RESOURCE, VARIANT, DType
from tfport.graph.graph import Node
from tfport.graph.shapes import Shape
from tfport.runtime.lower import structure
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.ops.control.tensor_list import (
    TensorList,
    is_compatible,
    merged,
    rows_of_tensor,
    shape_text,
)
from tfport.runtime.ops.control.tensor_list_structures import length_of, record_set_item, rows_at
from tfport.runtime.ops.control.traced_lists import item_shape, list_from_rows, row_at, with_a_row
from tfport.runtime.passes.programs.recurrent_layers import is_size_of
from tfport.runtime.program import ONNX_TYPES
from tfport.runtime.trace import Tracer
from tfport.runtime.value_facts import ListFacts
from tfport.startup.dataclass import dataclass

Attrs = dict[str, Attr]


@dataclass(frozen=True, slots=True)
class TensorArrayInfo:
    """The description of a TensorArray: the value of its handle."""

    dtype: DType
    shape: Dims | None
    dynamic: bool
    start: Operand
    """The array before any write; in versions 1 and 2 the first flow is a number."""


def _versions(name: str) -> str:
    return f"{name} {name}V2 {name}V3"


def _handle(operand: Operand) -> TensorArrayInfo:
    if not isinstance(operand.value, TensorArrayInfo):
        raise CannotRun("unsupported TensorArray: its handle must be known while planning")
    return operand.value


def _flow(handle: Operand, flow: Operand) -> Operand:
    """The array of a flow."""
    return flow if flow.dtype == VARIANT else _handle(handle).start


@structure(_versions("TensorArray"))
def tensor_array(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    dtype, shape = attrs["dtype"], attrs.get("element_shape")
    assert isinstance(dtype, DType)
    dims = shape.dims if isinstance(shape, Shape) else None

    def run(size: Any) -> TensorList:
        if int(size) < 0:
            raise RunFailed(f"size must not be negative, found {int(size)}")
        return TensorList([None] * int(size), dims, dtype, written_once=True)

    flow = emit(tracer, node.name, node.op, inputs, run, (VARIANT, ()))
    is_open = dims is None or None in dims
    tracer.lists[flow] = ListFacts(dtype, dims, size=inputs[0], head=(), is_open=is_open)
    handle = TensorArrayInfo(dtype, dims, attrs.get("dynamic_size") is True, flow)
    array_handle = Operand(RESOURCE, (), value=handle, name=node.name)
    return [array_handle, flow] if node.op == "TensorArrayV3" else [array_handle]


@structure(_versions("TensorArrayWrite"))
def write(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    handle, index, value, flow = inputs
    flow = _flow(handle, flow)
    grows = _handle(handle).dynamic

    def run(array: Any, at: Any, item: Any) -> Any:
        return array.set(int(at), item, resize=grows)

    out = emit(tracer, node.name, node.op, [flow, index, value], run, (VARIANT, ()))
    record_set_item(tracer, out, flow, index, value, grows=grows)
    return [out]


@structure(_versions("TensorArrayRead"))
def read(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    handle, index, flow = inputs
    flow = _flow(handle, flow)
    rows = _stacked(tracer, flow)
    if rows is not None:
        return [row_at(tracer, node.name, rows, index)]
    info = _handle(handle)

    def run(array: Any, at: Any) -> Any:
        if (
            0 <= int(at) < len(array)
            and array.items[int(at)] is None
            and (info.shape is None or None in info.shape)
        ):
            raise RunFailed(f"element {int(at)} was read before it was written")
        return array.get(int(at), None)

    out = (info.dtype, item_shape(tracer, flow, info.shape))
    return [emit(tracer, node.name, node.op, [flow, index], run, out)]


@structure(_versions("TensorArrayScatter") + " TensorArrayUnpack")
def scatter(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """Set elements from the rows of a tensor; the tensor is the array if the indices are in order."""
    if node.op == "TensorArrayUnpack":
        handle, value, flow = inputs
        indices = None
    else:
        handle, indices, value, flow = inputs
    flow = _flow(handle, flow)
    info, facts = _handle(handle), tracer.lists.get(flow)
    in_order = indices is None or _counts_up(tracer, indices)
    if in_order and _takes_all(facts, value, info.dynamic) and info.dtype.name in ONNX_TYPES and value.rank:
        assert value.shape is not None
        assert facts is not None
        if is_compatible(value.shape[1:], info.shape):
            shape = merged(value.shape[1:], info.shape)
            size = None if info.dynamic or _is_as_long(tracer, facts, value) else facts.size
            return [list_from_rows(tracer, node.name, ListFacts(info.dtype, shape, stacked=value, size=size))]

    def run(array: Any, rows: Any, indices: Any = None) -> Any:
        at = range(len(rows)) if indices is None else np.asarray(indices).tolist()
        if len(at) != len(rows):
            raise RunFailed(f"value has {len(rows)} rows for {len(at)} indices")
        for index, row in zip(at, rows_of_tensor(rows), strict=True):
            array = array.set(index, row, resize=info.dynamic)
        return array

    operands = [flow, value] + ([indices] if indices is not None else [])
    return [emit(tracer, node.name, node.op, operands, run, (VARIANT, ()))]


def _takes_all(facts: ListFacts | None, value: Operand, grows: bool) -> bool:
    """Whether an array has no element set yet, and the rows may become its first elements."""
    if facts is None or facts.head != () or facts.size is None or not value.rank:
        return False
    size = facts.size.known[0] if facts.size.known else None
    rows = value.shape[0] if value.shape else None
    if grows:
        return size is not None and (size == 0 or (rows is not None and size <= rows))
    return size is None or rows is None or size == rows


def _is_as_long(tracer: Tracer, facts: ListFacts, value: Operand) -> bool:
    assert facts.size is not None
    assert value.shape is not None
    known = facts.size.known
    return (bool(known) and known == value.shape[:1] and None not in known) or is_size_of(
        tracer, facts.size, value
    )


def _counts_up(tracer: Tracer, indices: Operand) -> bool:
    """Whether the indices are 0, 1, 2 …"""
    if indices.array is not None:
        return bool(np.array_equal(indices.array, np.arange(indices.array.size)))
    step = next((s for s in reversed(tracer.steps) if indices in s.outputs), None)
    if step is None or step.op != "Range":
        return False
    start, delta = step.inputs[0].array, step.inputs[2].array
    return start is not None and delta is not None and int(start) == 0 and int(delta) == 1


@structure(_versions("TensorArrayGather") + " TensorArrayPack")
def gather(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    handle, *middle, flow = inputs
    flow = _flow(handle, flow)
    info, rows = _handle(handle), _stacked(tracer, flow)
    element_shape = attrs.get("element_shape")
    shape = element_shape.dims if isinstance(element_shape, Shape) else None
    if rows is not None:
        checked = with_a_row(tracer, node.name, rows, tracer.lists[flow], shape)
        return [_gathered(tracer, node, rows, checked, middle)]

    def run(array: Any, indices: Any = None) -> Any:
        at = range(len(array)) if indices is None else np.asarray(indices).tolist()
        return array.rows(at, shape)

    dims = item_shape(tracer, flow, info.shape if info.shape is not None else shape)
    out = (info.dtype, None if dims is None else (None, *dims))
    return [emit(tracer, node.name, node.op, [flow, *middle], run, out)]


def _gathered(tracer: Tracer, node: Node, rows: Operand, checked: Operand, middle: list[Operand]) -> Operand:
    """All rows, or those at the indices; `checked` are the rows if there is one."""
    if not middle:
        return checked
    step = next((s for s in reversed(tracer.steps) if middle[0] in s.outputs), None)
    if step is not None and step.op == "Range" and _counts_up(tracer, middle[0]):
        limit = next((s for s in tracer.steps if step.inputs[1] in s.outputs), None)
        if limit is not None and limit.op == "TensorListLength" and limit.inputs[0] is rows:
            return checked
    return rows_at(tracer, node.name, checked, middle[0])


@structure(_versions("TensorArrayConcat"))
def concat(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    handle, flow = inputs
    flow = _flow(handle, flow)
    info = _handle(handle)

    def lengths(array: Any) -> Any:
        return np.array([len(item) for item in array.items], np.int64)

    def run(array: Any) -> Any:
        if any(item is None for item in array.items):
            raise RunFailed("an element was read before it was written")
        if not array.items:
            row = array.zeros(rows, "an array without elements was concatenated")
            return np.zeros((0, *row.shape), row.dtype)
        for item in array.items:
            if not is_compatible(item.shape[1:], rows):
                raise RunFailed(f"expected rows of shape {shape_text(rows)}, found {item.shape[1:]}")
        return np.concatenate(array.items)

    except_first = attrs.get("element_shape_except0")
    rows = except_first.dims if isinstance(except_first, Shape) else None
    element = item_shape(tracer, flow, info.shape if rows is None else (None, *rows))
    return [
        emit(
            tracer, node.name, node.op, [flow], run, (info.dtype, (None, *element[1:]) if element else None)
        ),
        emit(tracer, node.name, node.op, [flow], lengths, (INT64, (None,))),
    ]


@structure(_versions("TensorArraySplit"))
def split(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    handle, value, lengths, flow = inputs
    flow = _flow(handle, flow)
    grows = _handle(handle).dynamic

    def run(array: Any, tensor: Any, sizes: Any) -> Any:
        counts = np.asarray(sizes).tolist()
        if sum(counts) != len(tensor) or (len(counts) != len(array) and not grows):
            raise RunFailed(
                f"cannot split {len(tensor)} rows into lengths {counts} for {len(array)} elements"
            )
        at = 0
        for i, count in enumerate(counts):
            array = array.set(i, tensor[at : at + count], resize=grows)
            at += count
        return array

    return [emit(tracer, node.name, node.op, [flow, value, lengths], run, (VARIANT, ()))]


@structure(_versions("TensorArraySize"))
def size(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    handle, flow = inputs
    flow = _flow(handle, flow)
    facts = tracer.lists.get(flow)
    if facts is not None and (
        facts.stacked is not None or (facts.size is not None and not _handle(handle).dynamic)
    ):
        return [length_of(tracer, node.name, facts)]
    return [emit(tracer, node.name, node.op, [flow], lambda a: np.array(len(a), np.int32), (INT32, ()))]


@structure(_versions("TensorArrayClose"))
def close(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    return []


def _stacked(tracer: Tracer, flow: Operand) -> Operand | None:
    facts = tracer.lists.get(flow)
    return facts.stacked if facts is not None else None
