"""What planning knows about a list of tensors, so that loops over lists can be lowered to ONNX.

A list whose elements are the rows of a tensor is replaced by that tensor. A list to which a loop
adds one element per iteration becomes a scan output of the loop. All other lists are Python objects
on the host (`tensor_list`). The flows of TensorArrays are lists too.
"""

from __future__ import annotations

from tfport.graph.dtypes import DType
from tfport.runtime.operand import Dims, Operand
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ListFacts:
    """A list that is `stacked`, has only a `head` or `tail` set, or is a `change` of another list."""

    element: DType
    shape: Dims | None = None
    """Shape of each element, as far as it is known."""
    stacked: Operand | None = None
    """A tensor whose rows are the elements."""
    size: Operand | None = None
    """Number of elements if only the head or tail is set; None if no element is unset."""
    head: tuple[Operand, ...] | None = None
    """The first elements, if no others are set."""
    tail: tuple[Operand, ...] = ()
    """The last elements, from the end, if no others are set; the head is None then."""
    change: ListChange | None = None
    items: Dims | None = None
    """Shape of each element that a loop has set, as far as it is known."""


@dataclass(frozen=True, slots=True)
class ListChange:
    """A list with one element set, or with one element appended."""

    base: Operand
    index: Operand | None
    """None: appended."""
    item: Operand
    grows: bool = False
    """Whether an index after the last element extends the list."""
    falls: bool = False
    """Whether a loop sets the elements from the end."""
