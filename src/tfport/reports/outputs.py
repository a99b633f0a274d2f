"""The outputs that a report is about, where they were fetched or guessed: a sentence and JSON."""

from __future__ import annotations

from typing import Any

from tfport.graph.graph_outputs import GraphOutputs

MOST_NAMES = 4


def outputs_sentence(outputs: GraphOutputs) -> str:
    """Which outputs a result is about, and how to name others."""
    more = [f"{len(outputs.fetches) - MOST_NAMES} more"] * (len(outputs.fetches) > MOST_NAMES)
    names = ", ".join([*(f"`{name}`" for name in outputs.fetches[:MOST_NAMES]), *more])
    others = f"; {outputs.unneeded:,} other nodes not needed" if outputs.unneeded else ""
    if not outputs.guessed:
        return f"for {names}{others}"
    return f"no signatures: for {names} (a guess; --fetch names other outputs){others}"


def outputs_json(outputs: GraphOutputs | None) -> dict[str, Any] | None:
    """The key `fetched` of reports; None if they are about signatures."""
    if outputs is None:
        return None
    return {
        "fetches": outputs.fetches,
        "feeds": outputs.feeds,
        "guessed": outputs.guessed,
        "needed_nodes": outputs.needed,
        "unneeded_nodes": outputs.unneeded,
    }
