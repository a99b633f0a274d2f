"""Models for the browser: one whose every name and value tries to be markup, and one with very long edges."""

from __future__ import annotations

from pathlib import Path

from tfport.formats.proto.graph_pb2 import GraphDef

MARKUP = "<img src=x onerror=document.title='broken'><script>document.title='broken'</script>"
BACKWARDS = "abc\u202edef\u0007"
EMOJI = "🦊" * 40
LONG = "x" * 10_000
SCOPED = "/".join(["scope"] * 200)
NAMES = [MARKUP, BACKWARDS, EMOJI, LONG, SCOPED, "'\"&amp;", "{{name}}", "javascript%3Aalert(1)", "../../etc"]


def hostile_graph(path: Path) -> None:
    """Write a chain of nodes with these names, an op of such a name, and constants with such texts."""
    graph = GraphDef()
    graph.versions.producer = 27
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 7
    last = "x"
    for name in NAMES:
        node = graph.node.add(name=name, op="Identity", input=[last])
        node.attr["T"].type = 7
        node.attr[f"attribute {MARKUP}"].s = MARKUP.encode()
        last = name
    graph.node.add(name="custom", op=f"Custom{MARKUP}", input=[last])
    constant = graph.node.add(name="text", op="Const")
    constant.attr["dtype"].type = 7
    constant.attr["value"].tensor.dtype = 7
    constant.attr["value"].tensor.tensor_shape.dim.add(size=len(NAMES))
    constant.attr["value"].tensor.string_val.extend(name.encode() for name in NAMES)
    path.write_bytes(graph.SerializeToString())


CHAIN = 400
"""The number of nodes of the graph with long edges."""


def chain_name(place: int) -> str:
    return f"n{place:03}"


def long_edges(path: Path) -> None:
    """Write a chain whose first hundred nodes are also read by its last hundred: too long to be drawn."""
    graph = GraphDef()
    graph.versions.producer = 27
    graph.node.add(name=chain_name(0), op="Placeholder").attr["dtype"].type = 1
    for place in range(1, CHAIN):
        far = CHAIN - 1 - place if place >= CHAIN - 100 else place - 1
        inputs = [chain_name(place - 1), chain_name(far)]
        graph.node.add(name=chain_name(place), op="AddV2", input=inputs).attr["T"].type = 1
    path.write_bytes(graph.SerializeToString())


def dense_scope(path: Path) -> None:
    """Write a scope that is wide, and empty at the top: a chain whose end also reads 100 sources."""
    graph = GraphDef()
    graph.versions.producer = 27
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    chain = [f"s/c{place}" for place in range(30)]
    sources = [f"s/side{place}" for place in range(100)]
    for place, name in enumerate(chain):
        graph.node.add(name=name, op=f"Chain{place}", input=[chain[place - 1] if place else "x"])
    for place, name in enumerate(sources):
        graph.node.add(name=name, op=f"Source{place}")
    graph.node.add(name="s/z", op="Join", input=[chain[-1], *sources])
    path.write_bytes(graph.SerializeToString())
