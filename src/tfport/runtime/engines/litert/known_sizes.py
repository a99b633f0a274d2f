"""Nodes whose results are known before a run, as all sizes are: those that compute shapes."""

from __future__ import annotations

from tfport.runtime.engines.litert.island_node import IslandNode
from tfport.runtime.engines.litert.island_value import IslandValue, NotInLite, constant_value
from tfport.runtime.onnx.known_results import OF_SIZES, NotKnown, known_result, of_sizes


def known_value(node: IslandNode) -> IslandValue | None:
    """The result of a node on constants, or the shape of a value; None if it is computed in each run."""
    if node.op in OF_SIZES:
        return constant_value(of_sizes(node.op, node.attrs, node.first.sizes))
    arrays = [value.array if value is not None else None for value in node.inputs]
    if any(value is not None and value.array is None for value in node.inputs):
        return None
    try:
        return constant_value(known_result(node.op, node.attrs, arrays))
    except NotKnown as error:
        raise NotInLite(str(error)) from None
