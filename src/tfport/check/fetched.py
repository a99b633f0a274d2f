"""Advice about nodes that the outputs which were fetched or guessed do not need."""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.graph.graph_outputs import GraphOutputs

MOST_NAMES = 4


def extraction_advice(outputs: GraphOutputs, target: Target) -> str:
    """How to get a graph without the nodes that the outputs do not need."""
    fetches = "" if outputs.guessed else "".join(f" --fetch {name}" for name in outputs.fetches[:MOST_NAMES])
    command = f"tfport fix MODEL --for {target.requirement}{fetches} -o OUT"
    return f"the outputs do not need this: `{command}` writes the graph without it"


PLACE_PRUNED = (
    "the outputs do not need this: let the session place only what it runs, with "
    "`tf.compat.v1.GraphOptions(place_pruned_graph=True)` in its config"
)
