"""Tensor lists that stay lists, for releases whose list ops do less."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, OtherProblem, Replacement, rule
from tfport.graph.graph import Node


@rule("TensorListSetItem", keeps=EXACT)
def resized_before_it_is_set(op: RuleBuilder, n: Node) -> Replacement:
    """TensorListResize makes a list long enough for the element before it is set."""
    if not n.attrs.get("resize_if_index_out_of_bounds"):
        return OtherProblem("it does not grow the list")
    handle, index, item = n.inputs
    length = op.Maximum(op.TensorListLength(handle), op.Add(index, 1))
    longer = op.TensorListResize(handle, length)
    return op.TensorListSetItem(longer, index, item, element_dtype=n.attrs["element_dtype"])
