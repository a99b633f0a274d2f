"""What is around a node that is known by columns only: its edges, and attributes as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.web.graph_view.columns import GraphColumns

MOST_READERS = 100
LONGEST = 500


def attribute(name: str, value: object) -> dict[str, Any]:
    """An attribute as text, shortened."""
    text = str(value)
    return {"name": name, "value": text if len(text) < LONGEST else f"{text[:LONGEST]}…", "default": False}


def edges_in(columns: GraphColumns, place: int) -> Iterator[dict[str, Any]]:
    """What a node reads, in order."""
    for edge, target in enumerate(columns.target):
        if target == place:
            yield {
                "argument": "",
                "node": columns.names[columns.source[edge]],
                "index": columns.source_output[edge],
                "type": columns.types[columns.edge_type[edge]],
            }


def edges_out(columns: GraphColumns, place: int) -> Iterator[dict[str, Any]]:
    """Its outputs, with the nodes that read them."""
    outputs: dict[int, dict[str, Any]] = {}
    for edge, source in enumerate(columns.source):
        if source != place:
            continue
        index = columns.source_output[edge]
        type = columns.types[columns.edge_type[edge]]
        new = {"argument": "", "index": index, "type": type, "readers": [], "more": 0}
        output = outputs.setdefault(index, new)
        if len(output["readers"]) < MOST_READERS:
            output["readers"].append(columns.names[columns.target[edge]])
        else:
            output["more"] += 1
    yield from (outputs[index] for index in sorted(outputs))
