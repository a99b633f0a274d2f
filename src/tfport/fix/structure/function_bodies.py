"""Insert the body of a function where a branch or a loop runs it.

Every node in a branch or loop iteration depends on one node, its pivot: a node without inputs
would otherwise run outside. Results wait for the effects of the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tfport.fix.structure.functional_ops import is_expanded, is_stateful, parts_of, types_of
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.dtypes import DType
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.inline import inline
from tfport.graph.op_facts.kinds import ALL_SWITCHES, ENTERS
from tfport.graph.tensors import Tensor
from tfport.startup.dataclass import dataclass, field


@dataclass(frozen=True)
class Site:
    """Adds new nodes next to the node that they replace, with its name as a prefix."""

    graph: Graph
    name: str
    device: str = ""
    inner: list[tuple[Node, Node]] = field(default_factory=list)
    """Nodes of inserted bodies that must be expanded too, each with the pivot of its body."""

    @classmethod
    def of(cls, node: Node) -> Site:
        return cls(node.graph, node.name, node.device)

    def below(self, name: str) -> Site:
        return Site(self.graph, f"{self.name}/{name}", self.device, self.inner)

    def add(
        self,
        op: str,
        inputs: Iterable[Value] = (),
        attrs: Mapping[str, Attr] | None = None,
        *,
        name: str,
        controls: Iterable[Node] = (),
    ) -> Node:
        full = f"{self.name}/{name}"
        return self.graph.add(op, inputs, attrs, name=full, controls=controls, device=self.device)

    def identity(self, value: Value, name: str, controls: Iterable[Node] = ()) -> Node:
        return self.add("Identity", [value], {"T": value.dtype.base}, name=name, controls=controls)

    def constant(self, value: object, dtype: DType, near: Node | None = None, name: str = "const") -> Value:
        """A constant; depends on `near` if it must be in the same loop iteration."""
        tensor = Tensor.from_numpy(np.array(value, dtype.numpy), dtype)
        waits = [near] if near is not None else []
        return self.add("Const", (), {"dtype": dtype, "value": tensor}, name=name, controls=waits).output(0)


def insert_body(
    site: Site, name: str, ref: FunctionRef, values: Sequence[Value], types: Sequence[DType], pivot: Node
) -> list[Value]:
    """The results of a function that runs with the pivot; without any, a value that depends on the call."""
    attrs = {"f": ref, "Tin": [value.dtype.base for value in values], "Tout": list(types)}
    call = site.add("PartitionedCall", values, attrs, name=name, controls=[pivot])
    body = site.below(name)
    results = [body.identity(call.output(i), f"result_{i}") for i in range(len(types))]
    if not results:
        results = [body.identity(pivot.output(0), "done", controls=[call])]
    ends = [result.output(0) for result in results]
    expand(call, pivot, site.inner)
    for i in range(len(types)):
        results[i].set_inputs([call.inputs[i]])
    for result in results:
        result.set_controls(call.controls)
    call.graph.remove(call)
    return ends


def expand(call: Node, pivot: Node, inner: list[tuple[Node, Node]]) -> None:
    """Replace a call by the body of the function; nodes to expand next are added to `inner`."""
    stateful, waits = is_stateful(parts_of(call)), list(call.controls)
    nodes = inline(call)
    if nodes and nodes[0].op == "NoOp" and nodes[0].name.startswith(f"{call.name}/before"):
        before, *nodes = nodes
        arrived = [node for node in before.controls if node not in waits]
        # a body runs when its pivot does; only its effects have to wait for the arguments
        kept = [node for node in arrived if stateful and node.op not in ENTERS]
        before.replace_by([], dict.fromkeys([pivot, *waits, *kept]))
        call.graph.remove(before)
        for node in arrived:
            if node.op == "Identity" and not node.users and node.name.startswith(f"{call.name}/arrival"):
                call.graph.remove(node)
    inner += [(node, pivot) for node in nodes if is_expanded(node)]


def gates(node: Node, pivot: Node | None, stateful: bool) -> list[Node]:
    """The nodes that must run before any node of a branch or loop.

    In the body of another branch or loop, that is its pivot. In a graph with TF1 branches, it is
    every input, since inputs decide whether a functional node runs. Effects wait for all inputs.
    """
    waits = [*node.controls, *([pivot] if pivot is not None else [])]
    if stateful or (pivot is None and node.graph.has_branches):
        site = Site.of(node)
        for value in dict.fromkeys(node.inputs):
            if value.node.op in ALL_SWITCHES:
                waits.append(site.identity(value, "arrival"))
            elif value.node.op not in ENTERS:
                waits.append(value.node)
            elif pivot is None:
                waits.append(site.identity(value, "arrival"))
    return list(dict.fromkeys(waits))


def forward_results(node: Node, results: Sequence[Value], waits: Iterable[Node]) -> None:
    """Turn a node into an Identity of the results; it keeps its name and the nodes that wait for it."""
    types = types_of(node)
    shapes = node.attrs.get("_output_shapes")
    node.replace_by(results, [node])
    node.become_identity(types, {"_output_shapes": shapes} if isinstance(shapes, list) else None)
    node.set_inputs(results[: len(types)])
    node.set_controls(waits)


def drop_lost_colocations(graph: Graph) -> None:
    """Drop colocation with removed nodes: TensorFlow refuses such a graph."""
    for node in graph:
        locations = node.attr("_class")
        if isinstance(locations, list) and any(_is_lost(location, graph) for location in locations):
            node.attrs["_class"] = [location for location in locations if not _is_lost(location, graph)]


def _is_lost(location: Attr, graph: Graph) -> bool:
    return isinstance(location, str) and location.startswith("loc:@") and location[5:] not in graph
