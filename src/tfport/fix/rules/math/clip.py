"""Clipping, and checks for NaN and infinity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import with_shape_of
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.graph import Node

if TYPE_CHECKING:
    from numpy.typing import NDArray


@rule("ClipByValue", keeps=EXACT)
def below_then_above(op: NodeBuilder, n: Node) -> Replacement:
    """The minimum with the upper bound, then the maximum with the lower bound."""
    x, low, high = n.inputs
    if not x.dtype.is_integer and not all(_are_numbers(op.constant(bound)) for bound in (low, high)):
        return refuse("its bounds may be NaN, which Minimum and Maximum treat differently")
    return op.Maximum(op.Minimum(x, high), low)


def _are_numbers(known: NDArray[Any] | None) -> bool:
    return known is not None and not np.isnan(known.astype(np.float64)).any()


@rule("ClipByValue", keeps=EXACT)
def replaced_by_bounds(op: NodeBuilder, n: Node) -> Replacement:
    """The upper bound is selected for greater numbers, then the lower bound for smaller ones."""
    x, low, high = n.inputs
    if x.dtype.is_complex:
        return refuse("complex numbers cannot be compared")
    below = with_shape_of(op, op.SelectV2(with_shape_of(op, op.Greater(x, high), x), high, x), x)
    return op.SelectV2(with_shape_of(op, op.Less(below, low), x), low, below)


@rule("CheckNumericsV2", keeps=EXACT)
def as_check_numerics(op: NodeBuilder, n: Node) -> Replacement:
    """CheckNumerics fails for the same numbers, with a less detailed message."""
    return op.CheckNumerics(*n.inputs, message=n.attrs["message"])


@rule("CheckNumerics", keeps=EXACT)
def as_check_numerics_v2(op: NodeBuilder, n: Node) -> Replacement:
    """CheckNumericsV2 fails for the same numbers."""
    return op.CheckNumericsV2(*n.inputs, message=n.attrs["message"])
