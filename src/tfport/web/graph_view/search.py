"""Search the nodes of a model: `op:MatMul`, `dtype:bfloat16`, `attr:padding=SAME`, `name:conv`, or words.

Every word must match. Letters match in upper and lower case; `attr:` looks into attributes, of layers and
operators of TensorFlow Lite too, and `dtype:` into those of TensorFlow ops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.web.graph_view.columns import HIDDEN, VERSION, text_matches
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.graph_view.node_graph import nodes_of

MOST_MATCHES = 1000
WORDS = re.compile(r'(?:"[^"]*"?|[^\s"])+')
"""Words of a query; spaces in double quotes are part of a word."""
KINDS = ("op", "name", "attr", "dtype")


def search(graphs: ModelGraphs, query: str) -> dict[str, Any]:
    """How many nodes match, and the first of them."""
    words = [_parsed(word.replace('"', "")) for word in WORDS.findall(query)]
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
    types = [text for kind, text in words if kind == "dtype"]
    attributes = [text for kind, text in words if kind == "attr"]
    for family in graphs.families:
        for summary in family.summaries():
            columns = family.columns(summary.id)
            nodes = list(nodes_of(graphs.nodes.graph(summary.id))) if family is graphs.nodes else None
            if types and nodes is None:
                continue
            for index, name in enumerate(columns.names):
                if not _fits(name, columns.ops[columns.op[index]], words):
                    continue
                if types and nodes is not None and not all(_has_type(nodes[index], text) for text in types):
                    continue
                stated = family.attributes(summary.id, index) if attributes else []
                if all(text_matches(stated, text) for text in attributes):
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


def _has_type(node: Node, text: str) -> bool:
    try:
        return any(_is_type(value, text) for name, value in node.attrs.items() if name not in HIDDEN)
    except MalformedGraph:
        return False


def _is_type(value: Attr, text: str) -> bool:
    if isinstance(value, list):
        return any(_is_type(element, text) for element in value)
    return isinstance(value, DType) and str(value) == text
