"""Transpositions with a constant permutation, and which of them cancel each other."""

from __future__ import annotations

from tfport.graph.constants import constant
from tfport.graph.graph import Value

Order = tuple[int, ...]


def permutation(value: Value) -> Order | None:
    """The permutation of a value that is the output of a Transpose with a constant permutation."""
    node = value.node
    if node.op != "Transpose" or len(node.inputs) != 2 or (known := constant(node.inputs[1])) is None:
        return None
    order = tuple(int(place) for place in known.numpy().reshape(-1))
    return order if sorted(order) == list(range(len(order))) else None


def inverse(order: Order) -> Order:
    return tuple(order.index(place) for place in range(len(order)))
