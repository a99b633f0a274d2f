"""Find nodes of one graph that compute the same: they are written once.

A lowering often makes nodes that another one made: the shape of an image, an index in another type.
ONNX Runtime's optimizer for it takes longer, and the whole graph is prepared again after it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


class EqualNodes:
    """The nodes of one graph, by what they compute; `results` are its outputs, which keep their names."""

    def __init__(self, results: Sequence[Operand]) -> None:
        self._results = set(results)
        self._first: dict[Hashable, OnnxNode] = {}

    def earlier(self, node: OnnxNode, inputs: Sequence[str]) -> OnnxNode | None:
        """An earlier node with the same outputs; `inputs` are the names of what this one reads."""
        if any(node.programs):
            return None
        attrs = _attrs_key(node.attrs) if node.attrs else ()
        key = node.op, node.domain, len(node.outputs), attrs, *inputs
        first = self._first.setdefault(key, node)
        return first if first is not node and self._results.isdisjoint(node.outputs) else None


def _attrs_key(attrs: Mapping[str, Any]) -> Hashable:
    return tuple((name, _attr_key(value)) for name, value in attrs.items())


def _attr_key(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, str | int):
        return value
    return repr(value)  # lists; 0.0 and -0.0 are equal, but not the same
