"""A graph of `web.graph_view` as a graph of Model Explorer."""

from __future__ import annotations

from collections.abc import Iterator

from model_explorer import graph_builder as explorer

from tfport.web.graph_view.columns import GraphColumns, GraphSummary
from tfport.web.graph_view.graphs import GraphFamily
from tfport.web.model_explorer.shown_graphs import ShownGraphs

LONGEST, WIDEST = 500, 24
DEEPEST = 100
"""Scopes of a name beyond this one are not levels of their own."""
CONTROL, WHOLE_LIST = "control", "all"


def explorer_graph(shown: ShownGraphs, id: str) -> explorer.Graph:
    """The graph with all nodes."""
    family, summary = shown.graphs[id]
    columns = family.columns(id)
    nodes = [
        explorer.GraphNode(
            id=name,
            label=_label(name, columns.ops[op]),
            namespace=_namespace(name),
            attrs=list(_attributes(family, id, index)),
        )
        for index, (name, op) in enumerate(zip(columns.names, columns.op, strict=True))
    ]
    _add_edges(columns, nodes)
    for call in columns.calls:
        called = [shown.names[other] for other in call.graphs if (id, other) in shown.calls]
        nodes[call.node].subgraphIds = called
    about = dict(_about(summary, shown))
    return explorer.Graph(id=shown.names[id], nodes=nodes, groupNodeAttributes={"": about})


def _label(name: str, op: str) -> str:
    """The op; for an argument or result of a function, which have no op of their own, the name."""
    return _shortened(name.rpartition("/")[2], WIDEST) if op.startswith("_") else op


def _namespace(name: str) -> str:
    """The scopes of a node: `a/b` for `a/b/Conv2D`."""
    return "/".join([scope for scope in name.split("/")[:-1] if scope][:DEEPEST])


def _attributes(family: GraphFamily, id: str, index: int) -> Iterator[explorer.KeyValue]:
    for attribute in family.attributes(id, index):
        if not attribute["default"]:
            yield explorer.KeyValue(attribute["name"], _shortened(attribute["value"]))


def _shortened(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _add_edges(columns: GraphColumns, nodes: list[explorer.GraphNode]) -> None:
    known: set[tuple[int, int]] = set()
    edges = zip(
        columns.source,
        columns.source_output,
        columns.target,
        columns.target_input,
        columns.edge_type,
        strict=True,
    )
    for source, output, target, place, type in edges:
        port = str(output) if output >= 0 else WHOLE_LIST
        nodes[target].incomingEdges.append(explorer.IncomingEdge(nodes[source].id, port, str(place)))
        if (source, output) not in known:
            known.add((source, output))
            metadata = explorer.MetadataItem(port, list(_type(columns.types[type])))
            nodes[source].outputsMetadata.append(metadata)
    for source, target in zip(columns.control_source, columns.control_target, strict=True):
        nodes[target].incomingEdges.append(explorer.IncomingEdge(nodes[source].id, CONTROL, CONTROL))


def _type(text: str) -> Iterator[explorer.KeyValue]:
    """The parts of `float32 [?, 224]`; without a shape if the rank is unknown."""
    dtype, bracket, dims = text.partition(" [")
    if dtype:
        yield explorer.KeyValue("dtype", dtype)
    if bracket:
        yield explorer.KeyValue("shape", f"[{dims}")


def _about(summary: GraphSummary, shown: ShownGraphs) -> Iterator[tuple[str, str]]:
    """What Model Explorer shows of a graph while no node is selected."""
    yield "graph", shown.names[summary.id]
    yield "kind", summary.kind
    if summary.signatures:
        yield "signatures", _shortened(", ".join(summary.signatures))
    if summary.callers:
        yield "called by nodes", str(summary.callers)
    if shown.left_out:
        yield "functions that nothing calls", f"{shown.left_out:,} (not shown)"
