"""Search the nodes of a model: `op:MatMul`, `dtype:bfloat16`, `attr:padding=SAME`, `name:conv`, or words.

Every word must match. Letters match in upper and lower case; `attr:` looks into attributes, of layers and
operators of TensorFlow Lite too, and `dtype:` into those of TensorFlow ops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tfport.check.graph_view.attribute_columns import node_attribute_texts, node_attributes, text_matches
from tfport.check.graph_view.columns import VERSION
from tfport.check.graph_view.graphs import ModelGraphs
from tfport.check.graph_view.node_graph import nodes_of
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node

MOST_MATCHES = 1000
OF_ATTRIBUTES = ("attr", "dtype")
WORDS = re.compile(r'(?:"[^"]*"?|[^\s"])+')
"""Words of a query; spaces in double quotes are part of a word."""
KINDS = ("op", "name", *OF_ATTRIBUTES)


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
    deep = [(kind, text) for kind, text in words if kind in OF_ATTRIBUTES]
    for family in graphs.families:
        for summary in family.summaries():
            columns = family.columns(summary.id)
            nodes = list(nodes_of(graphs.nodes.graph(summary.id))) if family is graphs.nodes else None
            attributes = family.attributes(summary.id) if deep and nodes is None else []
            for place, name in enumerate(columns.names):
                if not _fits(name, columns.ops[columns.op[place]], words):
                    continue
                if nodes is not None:
                    has_all = all(_has(nodes[place], *word) for word in deep)
                else:
                    has_all = all(_states(attributes[place], *word) for word in deep)
                if has_all:
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
    if kind == "dtype":
        return any(_is_type(value, text) for value in node_attributes(node).values())
    return text_matches(node_attribute_texts(node), text)


def _states(attributes: list[tuple[str, str]], kind: str, text: str) -> bool:
    return kind == "attr" and text_matches(attributes, text)


def _is_type(value: Attr, text: str) -> bool:
    if isinstance(value, list):
        return any(_is_type(element, text) for element in value)
    return isinstance(value, DType) and str(value) == text
