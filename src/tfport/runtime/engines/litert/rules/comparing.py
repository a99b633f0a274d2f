"""Comparisons, and choices by them."""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import DType
from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, constant_value
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.rules.elementwise import broadcast
from tfport.runtime.onnx.known_values import index_mask

BOOL = "bool"
COMPARISONS = {
    "And": "LOGICAL_AND", "Equal": "EQUAL", "Greater": "GREATER", "GreaterOrEqual": "GREATER_EQUAL",
    "Less": "LESS", "LessOrEqual": "LESS_EQUAL", "Or": "LOGICAL_OR", "Xor": "NOT_EQUAL",
}  # fmt: skip


def comparison(out: LiteScribe, node: IslandNode) -> IslandValue:
    return broadcast(out, COMPARISONS[node.op], [node.first, node.value(1)], BOOL)


def negation(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    return out.add("LOGICAL_NOT", [x.tensor], x.sizes, x.order, BOOL)


def is_nan(out: LiteScribe, node: IslandNode) -> IslandValue:
    """Only NaN is not equal to itself."""
    return broadcast(out, "NOT_EQUAL", [node.first, node.first], BOOL)


def is_infinite(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    signs = [node.attrs.get(name, 1) for name in ("detect_negative", "detect_positive")]
    if signs == [1, 1]:
        x = out.add("ABS", [x.tensor], x.sizes, x.order, x.dtype)
    limit = -np.inf if signs == [1, 0] else np.inf
    return broadcast(out, "EQUAL", [x, constant_value(np.array(limit, x.dtype))], BOOL)


def choice(out: LiteScribe, node: IslandNode) -> IslandValue:
    return broadcast(out, "SELECT_V2", [node.first, node.value(1), node.value(2)])


def bitwise_and(out: LiteScribe, node: IslandNode) -> IslandValue:
    """With a constant of the form 2**n - 1 it is a remainder.

    What makes a negative index one that is out of range is left out; GATHER refuses negative ones itself.
    """
    for x, y in ((node.first, node.value(1)), (node.value(1), node.first)):
        if y.array is not None and x.array is None:
            mask = y.constant()
            if mask.dtype.kind == "i" and (mask == index_mask(DType.parse(mask.dtype.name))).all():
                return x
            mask = mask.astype(np.int64)
            if (mask > 0).all() and not (mask & (mask + 1)).any():
                return broadcast(out, "FLOOR_MOD", [x, constant_value((mask + 1).astype(y.dtype))])
    raise NotInLite("BitwiseAnd with such a mask")
