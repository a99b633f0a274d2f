"""What is known of TensorLists while a plan is made, so that loops over them can be said in ONNX.

Each op is a host step as any other; beside it stands what is known of the list. Reads of a
list whose elements are the rows of a tensor become reads of that tensor.
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
from tfport.runtime.ops.control.list_facts import Change, ListFacts
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.ops.control.tensor_list import fits, merged
from tfport.runtime.ops.control.traced_lists import row_of
from tfport.runtime.program import ONNX_TYPES
from tfport.runtime.trace import Tracer

Attrs = dict[str, Attr]


def told_shape(operand: Operand) -> Dims | None:
    """An element shape as far as it is known while planning."""
    if operand.rank == 0 or operand.known is None:
        return None
    return tuple(None if n is None or n < 0 else n for n in operand.known)


def element_of(attrs: Attrs) -> DType:
    element = attrs["element_dtype"]
    assert isinstance(element, DType)
    return element


@structure("TensorListReserve")
def reserve(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    tracer.lists[out] = ListFacts(element_of(attrs), told_shape(inputs[0]), size=inputs[1], head=())
    return [out]


@structure("EmptyTensorList")
def empty(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    tracer.lists[out] = ListFacts(element_of(attrs), told_shape(inputs[0]), head=())
    return [out]


@structure("TensorListFromTensor")
def from_tensor(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    tensor, shape = inputs[0], told_shape(inputs[1])
    if (
        tensor.rank
        and element_of(attrs).name in ONNX_TYPES
        and fits(tensor.shape and tensor.shape[1:], shape)
    ):
        assert tensor.shape is not None
        tracer.lists[out] = ListFacts(element_of(attrs), merged(tensor.shape[1:], shape), stacked=tensor)
    return [out]


@structure("TensorListSetItem")
def set_item(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    grows = attrs.get("resize_if_index_out_of_bounds") is True
    note_set(tracer, out, *inputs[:3], grows=grows)
    return [out]


@structure("TensorListPushBack")
def push_back(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    (out,) = tracer.plain(node, inputs, attrs)
    base, item = inputs
    facts = tracer.lists.get(base)
    if facts is not None:
        head = (*facts.head, item) if facts.head is not None and facts.size is None else None
        tracer.lists[out] = ListFacts(facts.element, facts.shape, head=head, change=Change(base, None, item))
    return [out]


def note_set(
    tracer: Tracer, out: Operand, base: Operand, index: Operand, item: Operand, *, grows: bool
) -> None:
    """What is known of a list once an element is set."""
    facts = tracer.lists.get(base)
    if facts is None:
        return
    head, size = None, None
    in_turn = facts.head is not None and index.array is not None and int(index.array) == len(facts.head)
    if facts.head is not None and facts.size is not None and in_turn:
        head, size = (*facts.head, item), facts.size
    tracer.lists[out] = ListFacts(
        facts.element, facts.shape, size=size, head=head, change=Change(base, index, item, grows)
    )


@structure("TensorListGetItem")
def get_item(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    rows = stacked_of(tracer, inputs[0], element_of(attrs), told_shape(inputs[2]))
    if rows is None:
        return [*tracer.plain(node, inputs, attrs)]
    return [row_of(tracer, node.name, rows, inputs[1])]


@structure("TensorListStack")
def stack(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    rows = stacked_of(tracer, inputs[0], element_of(attrs), told_shape(inputs[1]))
    count = attrs.get("num_elements")
    if rows is None or rows.shape is None:
        return [*tracer.plain(node, inputs, attrs)]
    if count in (-1, rows.shape[0]):
        return [rows]
    if rows.shape[0] is not None or not isinstance(count, int):
        return [*tracer.plain(node, inputs, attrs)]
    return [exactly(tracer, node.name, rows, count)]


def exactly(tracer: Tracer, name: str, rows: Operand, count: int) -> Operand:
    """A tensor that must have so many rows."""
    assert rows.shape is not None
    shape = (count, *rows.shape[1:])

    def run(tensor: Any) -> Any:
        if len(tensor) != count:
            raise RunFailed(f"expected a list of {count} elements, found {len(tensor)}")
        return tensor

    def say(b: Any, tensor: Operand) -> Any:
        out = b.Reshape(tensor, b.ints(count, *(0 for _ in shape[1:])))
        out.shape = shape
        return out

    return emit(tracer, name, "TensorListStack", [rows], run, (rows.dtype, shape), say)


def stacked_of(tracer: Tracer, handle: Operand, element: DType, shape: Dims | None) -> Operand | None:
    """The tensor whose rows a list has, where they are what the reader expects."""
    facts = tracer.lists.get(handle)
    if facts is None or facts.stacked is None or facts.element != element:
        return None
    rows = facts.stacked.shape
    return facts.stacked if rows is None or fits(rows[1:], shape) else None


@structure("TensorListLength")
def length(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    facts = tracer.lists.get(inputs[0])
    if facts is None or (facts.stacked is None and facts.size is None):
        return [*tracer.plain(node, inputs, attrs)]
    return [length_of(tracer, node.name, facts)]


def length_of(tracer: Tracer, name: str, facts: ListFacts) -> Operand:
    """How many elements a list has of which that is known."""
    if facts.size is not None:
        return facts.size
    assert facts.stacked is not None

    def run(rows: Any) -> Any:
        return np.array(len(rows), np.int32)

    def say(b: Any, rows: Operand) -> Any:
        return b.cast(b.squeeze(b.Shape(rows, start=0, end=1), 0), INT32)

    out = emit(tracer, name, "TensorListLength", [facts.stacked], run, (INT32, ()), say)
    if out.known is None and facts.stacked.shape is not None:
        out.known = facts.stacked.shape[:1]
    return out


@structure("TensorListGather")
def gather(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    rows = stacked_of(tracer, inputs[0], element_of(attrs), told_shape(inputs[2]))
    if rows is None:
        return [*tracer.plain(node, inputs, attrs)]
    return [rows_at(tracer, node.name, rows, inputs[1])]


def rows_at(tracer: Tracer, name: str, rows: Operand, indices: Operand) -> Operand:
    """Some rows of a tensor, none of them outside it."""

    def run(tensor: Any, places: Any) -> Any:
        if places.size and not (places.min() >= 0 and places.max() < len(tensor)):
            raise RunFailed(f"a list of {len(tensor)} elements does not have all of {places.tolist()}")
        return tensor[places]

    def say(b: Any, tensor: Operand, places: Operand) -> Any:
        wide, zero = b.int64(places), b.const(0, INT64)
        wide = b.Where(b.Less(wide, zero), b.const(np.iinfo(np.int64).max, INT64), wide)
        return b.Gather(tensor, wide, axis=0)

    shape = None if rows.shape is None else (None, *rows.shape[1:])
    return emit(tracer, name, "TensorListGather", [rows, indices], run, (rows.dtype, shape), say)
