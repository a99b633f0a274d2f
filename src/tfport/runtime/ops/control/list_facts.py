"""What is known, while a plan is made, of a list of tensors: enough to keep it out of loops of ONNX.

A list whose elements are the rows of a tensor is that tensor; a list of which a loop sets one
element in each turn is what the loop hands out turn by turn. Lists of which nothing is known
are Python objects on the host (`kernels._tensor_list`). The flows of TensorArrays are lists too.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfport.graph.dtypes import DType
from tfport.runtime.operand import Dims, Operand


@dataclass(frozen=True, slots=True)
class ListFacts:
    """Either `stacked`, or `head` and the rest unset, or made of another list by `change`; or nothing."""

    element: DType
    shape: Dims | None = None
    """Of each element, as far as the list was told."""
    stacked: Operand | None = None
    """A tensor whose rows are the elements."""
    size: Operand | None = None
    """How many elements a list has of which only the head is set; None where nothing is unset."""
    head: tuple[Operand, ...] | None = None
    """The first elements, where those are all that are set."""
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A list with one element set, or with one more behind the last."""

    base: Operand
    index: Operand | None
    """None: behind the last."""
    item: Operand
    grows: bool = False
    """Whether an index behind the last makes the list longer."""
