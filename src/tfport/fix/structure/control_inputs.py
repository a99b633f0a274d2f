"""Let nodes wait for transpositions through an Identity.

TensorFlow 1.4 removes transpositions that cancel each other, also if they become neighbors by other
optimizations, and turns the control inputs of nodes that wait for them into data inputs
(`check.findings.optimizer`). An Identity that something waits for stays.
"""

from __future__ import annotations

from tfport.graph.graph import Graph, Node


def wait_through_identities(graph: Graph) -> list[tuple[str, str]]:
    """Insert the Identity nodes; returns the nodes that wait for them, with their ops."""
    changed = []
    for node in [node for node in graph if node.op == "Transpose"]:
        if waiting := [user for user in node.users if node in user.controls]:
            passed = _identity(node)
            for user in waiting:
                user.set_controls([passed if control is node else control for control in user.controls])
                changed.append((user.name, user.op))
    return changed


def _identity(node: Node) -> Node:
    value = node.output(0)
    attrs = {"T": value.dtype.base}
    return node.graph.add("Identity", [value], attrs, name=f"{node.name}/done", device=node.device)
