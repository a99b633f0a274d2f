"""The attributes of nodes as texts, for a search: those that a file states, and the defaults of the others.

A page without a server has them by columns: each text once, and for each node the numbers of its texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr
from tfport.graph.graph import Node
from tfport.graph.text import attr_text

HIDDEN = ("_output_shapes", "value")
"""Values of constants are no attributes to a reader, and large."""
LONGEST = 120


def node_attributes(node: Node) -> dict[str, Attr]:
    """The attributes of a node by name; none if the file is malformed there."""
    try:
        stated = node.attrs
    except MalformedGraph:
        return {}
    defaults = node.signature.defaults if node.signature is not None else {}
    return {name: value for name, value in {**defaults, **stated}.items() if name not in HIDDEN}


def node_attribute_texts(node: Node) -> Iterator[tuple[str, str]]:
    """The same as texts, sorted."""
    for name, value in sorted(node_attributes(node).items()):
        yield name, attr_text(value)


def text_matches(attributes: Iterable[tuple[str, str]], wanted: str) -> bool:
    """Whether an attribute is the one of `name`, or of `name=part of the value`, in lower case."""
    name, equals, part = wanted.partition("=")
    values = [text for own, text in attributes if own.lower() == name]
    return bool(values) and (not equals or any(part in text.lower() for text in values))


def attribute_columns(nodes: Iterable[Iterable[tuple[str, str]]]) -> dict[str, Any]:
    """Attributes by columns: `texts[nodes[i][k]]` is the `k`th of node `i`, as `name=value`."""
    numbers: dict[str, int] = {}
    columns = [
        [numbers.setdefault(f"{name}={text}"[:LONGEST], len(numbers)) for name, text in attributes]
        for attributes in nodes
    ]
    return {"texts": list(numbers), "nodes": columns}
