"""Words that a model compares strings with, or has as keys of its tables.

Random strings rarely contain what a model looks for. Strings built from these words do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfport.errors import Error
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.tensors import Tensor
from tfport.runtime.ops.tables.table import LookupTable
from tfport.runtime.state import State

ATTRS = ("pattern", "delimiter", "separator", "field_delim")
LONGEST, MOST_WORDS, MOST_NODES = 40, 24, 100_000
_NOT_LITERAL = re.compile(rb"\\[pP]\{[^}]*\}|\[[^\]]*\]|\\[bBdDsSwWAzZ]|[\^$.|?*+(){}]+|\\")
MOST_KEYS = 24


def graph_words(model: Model) -> list[bytes]:
    """The literals of patterns, delimiters and constants, in the order of the nodes."""
    graphs = (model.graph, *model.graph.library.functions.values())
    nodes = [node for graph in graphs for node in graph][:MOST_NODES]
    words = dict.fromkeys(word for node in nodes for word in _of(node) if 0 < len(word) <= LONGEST)
    return list(words)[:MOST_WORDS]


def _of(node: Node) -> Iterator[bytes]:
    for name in ATTRS:
        if isinstance(pattern := node.attrs.get(name), str | bytes):
            raw = pattern if isinstance(pattern, bytes) else pattern.encode()
            yield from (_NOT_LITERAL.split(raw) if name == "pattern" else [raw])
    tensor = node.attrs.get("value") if node.op == "Const" else None
    if isinstance(tensor, Tensor) and tensor.dtype.name == "string" and _is_small(tensor):
        for element in tensor.numpy().reshape(-1).tolist():
            yield element
            yield from _NOT_LITERAL.split(element)


def _is_small(tensor: Tensor) -> bool:
    dims = tensor.shape.dims
    return dims is not None and len(dims) <= 1 and (not dims or (dims[0] or 0) <= MOST_WORDS)


def table_words(state: State) -> list[bytes]:
    """Some keys of each table of strings, spread over it."""
    words: list[bytes] = []
    for table in (r for r in state.resources() if isinstance(r, LookupTable)):
        try:
            keys = table.export()[0].reshape(-1)
        except Error:  # it was never initialized
            continue
        if keys.dtype == object:
            words += keys[:: max(1, len(keys) // MOST_KEYS)][:MOST_KEYS].tolist()
    return list(dict.fromkeys(words))
