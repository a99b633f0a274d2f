"""Search the nodes of a model: `op:MatMul`, `dtype:bfloat16`, `attr:padding=SAME`, `name:conv`, or words.

Every word must match. Letters match in upper and lower case; `attr:` and `dtype:` look into the attributes
of TensorFlow ops.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.check.graph_view.columns import VERSION
from tfport.check.graph_view.graphs import ModelGraphs
from tfport.check.graph_view.node_graph import nodes_of
from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.text import attr_text

MOST_MATCHES = 1000
HIDDEN = ("_output_shapes", "value")
OF_ATTRIBUTES = ("attr", "dtype")
KINDS = ("op", "name", *OF_ATTRIBUTES)


def search(graphs: ModelGraphs, query: str) -> dict[str, Any]:
    """How many nodes match, and the first of them."""
    words = [_parsed(word) for word in query.split()]
    matches: list[dict[str, str]] = []
    total = 0
    for id, name in _matching(graphs, words) if words else ():
        total += 1
        if total <= MOST_MATCHES:
            matches.append({"graph": id, "node": name})
    return {"version": VERSION, "total": total, "matches": matches}


def _parsed(word: str) -> tuple[str, str]:
    kind, colon, rest = word.partition(":")
    return (kind.lower(), rest.lower()) if colon and kind.lower() in KINDS else ("", word.lower())


def _matching(graphs: ModelGraphs, words: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    deep = [(kind, text) for kind, text in words if kind in OF_ATTRIBUTES]
    for family in graphs.families:
        for summary in family.summaries():
            columns = family.columns(summary.id)
            nodes = list(nodes_of(graphs.nodes.graph(summary.id))) if family is graphs.nodes else None
            if deep and nodes is None:
                continue
            for place, name in enumerate(columns.names):
                if not _fits(name, columns.ops[columns.op[place]], words):
                    continue
                if not deep or (nodes is not None and all(_has(nodes[place], *word) for word in deep)):
                    yield summary.id, name


def _fits(name: str, op: str, words: list[tuple[str, str]]) -> bool:
    for kind, text in words:
        if kind == "op" and text != op.lower():
            return False
        if kind == "name" and text not in name.lower():
            return False
        if not kind and text not in name.lower() and text not in op.lower():
            return False
    return True


def _has(node: Node, kind: str, text: str) -> bool:
    try:
        attrs = {name: value for name, value in node.attrs.items() if name not in HIDDEN}
    except MalformedGraph:
        return False
    if kind == "dtype":
        return any(_is_type(value, text) for value in attrs.values())
    name, equals, wanted = text.partition("=")
    values = [value for own, value in attrs.items() if own.lower() == name]
    return bool(values) and (not equals or any(wanted in attr_text(value).lower() for value in values))


def _is_type(value: Attr, text: str) -> bool:
    if isinstance(value, list):
        return any(_is_type(element, text) for element in value)
    return isinstance(value, DType) and str(value) == text
