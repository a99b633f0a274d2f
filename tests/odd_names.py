"""A GraphDef whose nodes have names that TensorFlow refuses."""

from __future__ import annotations

from pathlib import Path

from tfport.formats.proto import graph_pb2 as pb

FLOAT = 1


def odd_name(path: Path, *nodes: tuple[str, str]) -> Path:
    """Write a chain of nodes of float32: the op and the name of each."""
    graph, before = pb.GraphDef(), ""
    graph.versions.producer = 1087
    for op, name in nodes:
        node = graph.node.add(name=name, op=op, input=[before] if before else [])
        node.attr["dtype" if op == "Placeholder" else "T"].type = FLOAT
        before = name
    path.write_bytes(graph.SerializeToString())
    return path
