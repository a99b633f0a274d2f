"""The attributes of nodes as texts, for a search.

A page without a server has them by columns: each text once, and for each node the numbers of its texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = ("_output_shapes", "value")
"""Values of constants are no attributes to a reader, and large."""
LONGEST = 120


def text_matches(attributes: Iterable[Mapping[str, Any]], wanted: str) -> bool:
    """Whether an attribute is the one of `name`, or of `name=part of the value`, in lower case."""
    name, equals, part = wanted.partition("=")
    values = [each["value"] for each in attributes if each["name"].lower() == name and name not in HIDDEN]
    return bool(values) and (not equals or any(part in text.lower() for text in values))


def attribute_columns(nodes: Iterable[Iterable[Mapping[str, Any]]]) -> dict[str, Any]:
    """Attributes by columns: `texts[nodes[i][k]]` is the `k`th of node `i`, as `name=value`."""
    numbers: dict[str, int] = {}
    columns = [
        [
            numbers.setdefault(f"{each['name']}={each['value']}"[:LONGEST], len(numbers))
            for each in attributes
            if each["name"] not in HIDDEN
        ]
        for attributes in nodes
    ]
    return {"texts": list(numbers), "nodes": columns}
