"""TensorList ops while planning: record `ListFacts`, so that loops over lists can be lowered to ONNX.

Each op is an ordinary host step; `tracer.lists` records what is known about its list. A read of a
list whose elements are the rows of a tensor becomes a read of that tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import INT32, INT64, DType
from tfport.graph.graph import Node
from tfport.runtime.lower import structure
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.ops.control.tensor_list import is_compatible, merged
from tfport.runtime.ops.control.traced_lists import row_at, with_a_row
from tfport.runtime.program import ONNX_TYPES
from tfport.runtime.symbolic_values import SymbolicValues
from tfport.runtime.trace import Tracer
from tfport.runtime.value_facts import ListChange, ListFacts

Attrs = dict[str, Attr]


def known_element_shape(operand: Operand) -> Dims | None:
    """The element shape as far as it is known while planning."""
    if operand.rank == 0 or operand.known is None:
        return None
    return tuple(None if n is None or n < 0 else n for n in operand.known)


def is_open(operand: Operand) -> bool:
    """Whether an element shape is a constant with unknown sizes."""
    return operand.array is not None and (operand.array.ndim == 0 or bool((operand.array < 0).any()))


def element_of(attrs: Attrs) -> DType:
    element = attrs["element_dtype"]
    assert isinstance(element, DType)
    return element


@structure("TensorListReserve")
def reserve(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    shape = known_element_shape(inputs[0])
    tracer.lists[out] = ListFacts(
        element_of(attrs), shape, size=inputs[1], head=(), is_open=is_open(inputs[0])
    )
    return [out]


@structure("EmptyTensorList")
def empty(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    shape = known_element_shape(inputs[0])
    tracer.lists[out] = ListFacts(element_of(attrs), shape, head=(), is_open=is_open(inputs[0]))
    return [out]


@structure("TensorListFromTensor")
def from_tensor(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    tensor, shape = inputs[0], known_element_shape(inputs[1])
    if (
        tensor.rank
        and element_of(attrs).name in ONNX_TYPES
        and is_compatible(tensor.shape and tensor.shape[1:], shape)
    ):
        assert tensor.shape is not None
        tracer.lists[out] = ListFacts(
            element_of(attrs), merged(tensor.shape[1:], shape), stacked=tensor, is_open=is_open(inputs[1])
        )
    return [out]


@structure("TensorListSetItem")
def set_item(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    grows = attrs.get("resize_if_index_out_of_bounds") is True
    record_set_item(tracer, out, *inputs[:3], grows=grows)
    return [out]


@structure("TensorListPushBack")
def push_back(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    base, item = inputs
    facts = tracer.lists.get(base)
    if facts is not None:
        head = (*facts.head, item) if facts.head is not None and facts.size is None else None
        tracer.lists[out] = ListFacts(
            facts.element, facts.shape, head=head, change=ListChange(base, None, item)
        )
    return [out]


def record_set_item(
    tracer: Tracer, out: Operand, base: Operand, index: Operand, item: Operand, *, grows: bool
) -> None:
    """Record the facts of a list after an element is set."""
    facts = tracer.lists.get(base)
    if facts is None:
        return
    head, size = None, None
    tail: tuple[Operand, ...] = ()
    is_next = facts.head is not None and index.array is not None and int(index.array) == len(facts.head)
    if facts.head is not None and facts.size is not None and is_next:
        head, size = (*facts.head, item), facts.size
    elif is_before_tail(tracer, index, facts):
        tail, size = (*facts.tail, item), facts.size
    tracer.lists[out] = ListFacts(
        facts.element,
        facts.shape,
        size=size,
        head=head,
        tail=tail,
        change=ListChange(base, index, item, grows),
    )


def is_before_tail(tracer: Tracer, index: Operand, facts: ListFacts) -> bool:
    """Whether an index is that of the last element that is not set, and only the tail is."""
    if facts.size is None or not (facts.tail or facts.head == ()):
        return False
    values = SymbolicValues(tracer)
    size, at = values.of(facts.size), values.of(index)
    if size is None or at is None or size.size != 1 or at.size != 1:
        return False
    return bool(size.item() - at.item() == len(facts.tail) + 1)


@structure("TensorListGetItem")
def get_item(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    rows = stacked_of(tracer, inputs[0], element_of(attrs), known_element_shape(inputs[2]))
    if rows is None:
        return [*tracer.plain(node, inputs, attrs)]
    return [row_at(tracer, node.name, rows, inputs[1])]


@structure("TensorListStack")
def stack(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    rows = stacked_of(tracer, inputs[0], element_of(attrs), known_element_shape(inputs[1]))
    count = attrs.get("num_elements")
    if rows is None or rows.shape is None:
        return [*tracer.plain(node, inputs, attrs)]
    if is_open(inputs[1]):
        stated = known_element_shape(inputs[1])
        rows = with_a_row(tracer, node.name, rows, tracer.lists[inputs[0]], stated)
    assert rows.shape is not None
    if count in (-1, rows.shape[0]):
        return [rows]
    if rows.shape[0] is not None or not isinstance(count, int):
        return [*tracer.plain(node, inputs, attrs)]
    return [with_row_count(tracer, node.name, rows, count)]


def with_row_count(tracer: Tracer, name: str, rows: Operand, count: int) -> Operand:
    """A tensor that is checked to have `count` rows."""
    assert rows.shape is not None
    shape = (count, *rows.shape[1:])

    def run(tensor: Any) -> Any:
        if len(tensor) != count:
            raise RunFailed(f"expected a list of {count} elements, found {len(tensor)}")
        return tensor

    def lower(b: Any, tensor: Operand) -> Any:
        out = b.Reshape(tensor, b.ints(count, *(0 for _ in shape[1:])))
        out.shape = shape
        return out

    return emit(tracer, name, "TensorListStack", [rows], run, (rows.dtype, shape), lower)


def stacked_of(tracer: Tracer, handle: Operand, element: DType, shape: Dims | None) -> Operand | None:
    """The tensor whose rows are the list, if dtype and shape match what the reader expects."""
    facts = tracer.lists.get(handle)
    if facts is None or facts.stacked is None or facts.element != element:
        return None
    rows = facts.stacked.shape
    return facts.stacked if rows is None or is_compatible(rows[1:], shape) else None


@structure("TensorListLength")
def length(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    facts = tracer.lists.get(inputs[0])
    if facts is None or (facts.stacked is None and facts.size is None):
        return [*tracer.plain(node, inputs, attrs)]
    return [length_of(tracer, node.name, facts)]


def length_of(tracer: Tracer, name: str, facts: ListFacts) -> Operand:
    """The number of elements of a list for which it is known."""
    if facts.size is not None:
        return facts.size
    assert facts.stacked is not None

    def run(rows: Any) -> Any:
        return np.array(len(rows), np.int32)

    def lower(b: Any, rows: Operand) -> Any:
        return b.cast(b.squeeze(b.Shape(rows, start=0, end=1), 0), INT32)

    out = emit(tracer, name, "TensorListLength", [facts.stacked], run, (INT32, ()), lower)
    if out.known is None and facts.stacked.shape is not None:
        out.known = facts.stacked.shape[:1]
    return out


@structure("TensorListGather")
def gather(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    rows = stacked_of(tracer, inputs[0], element_of(attrs), known_element_shape(inputs[2]))
    if rows is None:
        return [*tracer.plain(node, inputs, attrs)]
    return [rows_at(tracer, node.name, rows, inputs[1])]


def rows_at(tracer: Tracer, name: str, rows: Operand, indices: Operand) -> Operand:
    """Selected rows of a tensor; an index out of range is an error."""

    def run(tensor: Any, indices: Any) -> Any:
        if indices.size and not (indices.min() >= 0 and indices.max() < len(tensor)):
            raise RunFailed(
                f"indices {indices.tolist()} are out of range for a list of {len(tensor)} elements"
            )
        return tensor[indices]

    def lower(b: Any, tensor: Operand, indices: Operand) -> Any:
        wide, zero = b.int64(indices), b.const(0, INT64)
        wide = b.Where(b.Less(wide, zero), b.const(np.iinfo(np.int64).max, INT64), wide)
        return b.Gather(tensor, wide, axis=0)

    shape = None if rows.shape is None else (None, *rows.shape[1:])
    return emit(tracer, name, "TensorListGather", [rows, indices], run, (rows.dtype, shape), lower)
