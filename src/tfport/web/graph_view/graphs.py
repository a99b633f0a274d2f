"""The graphs of a model: the main graph, functions, branches, loops, subgraphs and layers, each with an id.

Ids are short and safe in an address: `main`, `f0` for the first function, `s0` for a subgraph of a
TensorFlow Lite file, `layers` for the layers of a Keras model. The first graph is the one to show first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

from tfport.errors import Error
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import BRANCHING, WHILES
from tfport.graph.reach import Callers
from tfport.graph.state import variables
from tfport.startup.garbage import gc_paused
from tfport.web.graph_view.columns import (
    BRANCH,
    FUNCTION,
    GRAPH,
    LOOP,
    GraphColumns,
    GraphSummary,
    attribute_columns,
)
from tfport.web.graph_view.node_graph import main_parts, node_columns
from tfport.web.graph_view.value_types import ValueTypes

MAIN = "main"
LOOPS = (*WHILES, "_While")
BRANCHES = (*BRANCHING, "_If")


class GraphFamily(Protocol):
    """The graphs of a model that are of one nature."""

    def summaries(self) -> list[GraphSummary]:
        """All of them, the first to show first."""

    def columns(self, id: str) -> GraphColumns:
        """One of them; its id is one of `summaries`."""

    def details(self, id: str, name: str) -> dict[str, Any] | None:
        """A node of one of them; None if there is no such node."""

    def attributes(self, id: str, index: int) -> list[dict[str, Any]]:
        """The attributes of the node at a place of the columns, as texts."""


class NodeGraphs:
    """The main graph and the functions of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.callers = Callers()
        self._columns: dict[str, tuple[GraphColumns, list[Node]]] = {}
        self._ids = {name: f"f{index}" for index, name in enumerate(model.graph.library.functions)}
        self._graphs: dict[str, Graph] = {MAIN: model.graph}
        self._graphs |= {self._ids[name]: f for name, f in model.graph.library.functions.items()}

    def id_of(self, function: str | None) -> str | None:
        """The id of a function, or of the main graph for None; None for an undefined function."""
        return MAIN if function is None else self._ids.get(function)

    def id_of_node(self, node: Node) -> str:
        """The id of the graph that a node is in."""
        return self._ids.get(node.graph.name, MAIN) if isinstance(node.graph, Function) else MAIN

    def graph(self, id: str) -> Graph:
        return self._graphs[id]

    def __contains__(self, id: str) -> bool:
        return id in self._graphs

    def summaries(self) -> list[GraphSummary]:
        return list(self._summaries())

    def _summaries(self) -> Iterator[GraphSummary]:
        calls, kinds = self._calls
        yield GraphSummary(MAIN, "", GRAPH, len(self.model.graph), 0, list(self.model.signatures))
        for name, function in self.model.graph.library.functions.items():
            yield GraphSummary(
                self._ids[name],
                name,
                kinds.get(name, FUNCTION),
                len(function) + len(function.args) + len(function.ends),
                calls[name],
                self._signatures_of.get(name, []),
            )

    @cached_property
    def _calls(self) -> tuple[Counter[str], dict[str, str]]:
        """How many nodes call each function, and what each is to them."""
        calls, kinds = Counter[str](), dict[str, str]()
        for graph in self._graphs.values():
            for node, names in self.callers.of(graph):
                for name in dict.fromkeys(names):
                    calls[name] += 1
                    if node.op in LOOPS or node.op in BRANCHES:
                        kinds.setdefault(name, LOOP if node.op in LOOPS else BRANCH)
        return calls, kinds

    @cached_property
    def _signatures_of(self) -> dict[str, list[str]]:
        """By function: the signatures whose outputs a call of it computes."""
        callees = dict(self.callers.of(self.model.graph))
        signatures: dict[str, list[str]] = {}
        for name, signature in self.model.signatures.items():
            for node in dict.fromkeys(value.node for value in self.model.ends_of(signature)):
                for function in callees.get(node, ()):
                    names = signatures.setdefault(function, [])
                    if name not in names:
                        names.append(name)
        return signatures

    def columns(self, id: str) -> GraphColumns:
        return self._built(id)[0]

    def node(self, id: str, name: str) -> Node | None:
        """A node by the name that its graph's columns have."""
        columns, nodes = self._built(id)
        index = columns.index_of(name)
        return None if index is None else nodes[index]

    def names(self, id: str) -> dict[Node, str]:
        """The names of the nodes of a graph in its columns."""
        columns, nodes = self._built(id)
        return dict(zip(nodes, columns.names, strict=True))

    def index(self, id: str) -> dict[Node, int]:
        """The places of the nodes of a graph in its columns."""
        return {node: index for index, node in enumerate(self._built(id)[1])}

    def _built(self, id: str) -> tuple[GraphColumns, list[Node]]:
        if id not in self._columns:
            self._columns[id] = self._build(id)
        return self._columns[id]

    @gc_paused()
    def _build(self, id: str) -> tuple[GraphColumns, list[Node]]:
        return node_columns(
            self._graphs[id],
            types=ValueTypes(),
            callers=self.callers,
            graph_id=self.id_of,
            outputs=self._signature_outputs if id == MAIN else (),
        )

    @cached_property
    def _signature_outputs(self) -> set[Node]:
        signatures = self.model.signatures.values()
        return {value.node for signature in signatures for value in self.model.ends_of(signature)}

    def stored_key(self, node: Node) -> str | None:
        """The key of the stored tensor behind a variable, or behind a constant of another file."""
        return self._keys.get(node)

    @cached_property
    def _keys(self) -> dict[Node, str]:
        return {variable.node: variable.key for variable in variables(self.model) if variable.key}

    def details(self, id: str, name: str) -> dict[str, Any] | None:
        from tfport.web.graph_view.node_details import node_details

        columns, nodes = self._built(id)
        index = columns.index_of(name)
        if index is None:
            return None
        node, role = nodes[index], columns.role[index]
        tensor = self.stored_key(node)
        return node_details(id, self.names(id), node, role=role, tensor=tensor, graph_id=self.id_of)

    def attributes(self, id: str, index: int) -> list[dict[str, Any]]:
        from tfport.web.graph_view.node_details import node_attributes

        return node_attributes(self._built(id)[1][index])


class ModelGraphs:
    """All graphs of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.nodes = NodeGraphs(model)

    @cached_property
    def families(self) -> list[GraphFamily]:
        families = list(self._of_files())
        return [*families, self.nodes] if len(self.model.graph) or not families else families

    def _of_files(self) -> Iterator[GraphFamily]:
        """The graphs of a TensorFlow Lite or Keras file, which other models do not need."""
        if self.model.lite is not None:
            from tfport.web.graph_view.lite_graph import LiteGraphs

            yield LiteGraphs(self.model.lite)
        root = getattr(self.model, "root", None)
        if root is not None and root.config.model is not None:
            from tfport.web.graph_view.layer_graph import LayerGraphs

            yield LayerGraphs(root)

    @cached_property
    def summaries(self) -> list[GraphSummary]:
        """All graphs, the one to show first at the front."""
        return [summary for family in self.families for summary in family.summaries()]

    @cached_property
    def _family_of(self) -> dict[str, tuple[GraphFamily, GraphSummary]]:
        return {summary.id: (family, summary) for family in self.families for summary in family.summaries()}

    def document(self, id: str) -> dict[str, Any]:
        """A graph by columns, as JSON."""
        family, summary = self._find(id)
        document = family.columns(id).to_json(id, summary.name, summary.kind)
        if family is self.nodes and id == MAIN:
            document["parts"] = [part.to_json() for part in main_parts(self.model, self.nodes.index(id))]
        return document

    def document_with_attributes(self, id: str) -> dict[str, Any]:
        """The same with the attributes of its nodes, for a page that cannot ask for them."""
        family, _ = self._find(id)
        document = self.document(id)
        indices = range(len(document["names"]))
        return {
            **document,
            "attributes": attribute_columns(family.attributes(id, place) for place in indices),
        }

    def details(self, id: str, name: str) -> dict[str, Any]:
        """A node, as JSON."""
        family, _ = self._find(id)
        details = family.details(id, name)
        if details is None:
            raise Error(f"the graph `{id}` has no node `{name}`")
        return details

    def nodes_with_op(self, op: str) -> list[dict[str, str]]:
        """The nodes of files that are not of TensorFlow ops, such as TensorFlow Lite files, with an op."""
        return [
            {"graph": summary.id, "node": name}
            for family in self.families
            if family is not self.nodes
            for summary in family.summaries()
            for name in family.columns(summary.id).names_with_op(op)
        ]

    def _find(self, id: str) -> tuple[GraphFamily, GraphSummary]:
        if id not in self._family_of:
            raise Error(f"{self.model.where}: there is no graph `{id}`")
        return self._family_of[id]
