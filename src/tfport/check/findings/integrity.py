"""Is the graph consistent: does everything exist that it reads or names, and is it free of cycles?

Findings 01x. They hold for every target; when they are noticed depends on the loader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding, merged
from tfport.check.loader_stages import COLOCATION, NAMES, ORDER, STRUCTURE
from tfport.check.loaders import Loader
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.graph import Graph, Node
from tfport.graph.reach import is_listed_in_order, on_cycle

NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
BEGINNINGS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.")
CHARACTERS = "".join(BEGINNINGS).encode() + rb"_\/>-"
Declared = Callable[[Node], int | None]
"""Says how many outputs a node declares."""
CLASS = "_class"
LOCATION = b"loc:@"


@finding("TFP011", "missing-input", noticed=STRUCTURE)
class MissingInput(Finding):
    """node `{node}` reads `{missing}`, which is not in the graph

    ## Cause
    The graph was cut out of a larger one, or edited; or the op that is read has fewer
    outputs than the graph uses.
    ## Fix
    Export the model again; when cutting a graph out, keep everything that its outputs
    need.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = Identity(x:3) {T=float32}
        on tensorflow==2.8.4
    """

    missing: str
    outputs: int | None = None
    """How many outputs the node that is read has, if it exists."""

    def says(self) -> str:
        if self.outputs is None:
            return f"Node '{self.node}': Unknown input node '{self.missing}'"
        name, _, index = self.missing.rpartition(":")
        return (
            f"Node '{self.node}': Connecting to invalid output {index} of source node "
            f"{name} which has {self.outputs} outputs."
        )


@finding("TFP012", "cycle", noticed=ORDER)
class Cycle(Finding):
    """node `{node}` needs its own output

    ## Cause
    The graph has a cycle without `NextIteration`, the only op through which a TF1 loop may go back.
    The graph was edited.
    ## Fix
    Export the model again.
    ## Example
        a = Identity(b) {T=float32}
        b = Identity(a) {T=float32}
        on tensorflow==2.8.4
    """

    def says(self) -> str:
        return "nodes in a cycle"


@finding("TFP013", "bad-name", noticed=NAMES)
class BadName(Finding):
    """`{node}` is not a valid node name

    ## Cause
    A name contains letters, digits, `.`, `_`, `-`, `/`, `>` and `\\`, and begins with a
    letter, a digit or a dot. Another program wrote the graph, or it was edited.
    ## Fix
    Rename the node.
    ## Example
        _y = NoOp()
        on tensorflow==2.8.4
    """

    def says(self) -> str:
        return f"Node '{self.node}': Node name contains invalid characters"


@finding("TFP014", "bad-order-of-inputs", noticed=NAMES)
class BadOrderOfInputs(Finding):
    """node `{node}` lists a control input before a data input

    ## Cause
    In a file, control inputs (`^name`) come after all others. The graph was edited.
    ## Fix
    Read and write the graph with `tfport.load` and `tfport.save`, which order them.
    ## Example
        tfport check tests/truth/models/control_before_data --on tensorflow==2.8.4 --loader capi
    """

    def says(self) -> str:
        return f"Node '{self.node}': Control dependencies must come after regular dependencies"


@finding("TFP015", "missing-neighbor", noticed=COLOCATION)
class MissingColocatedNode(Finding):
    """node `{node}` is colocated with `{missing}`, which is not in the graph

    ## Cause
    The attribute `_class` names that node. The graph was cut out of a larger one. A session ignores
    the name, but importing the graph fails.
    ## Fix
    Export again with `clear_devices=True`, or remove `_class`.
    ## Example
        y = NoOp() {_class=["loc:@lost"]}
        on tensorflow==2.8.4
        loader capi
    """

    missing: str

    def says(self) -> str:
        return f"Node '{self.node}' expects to be colocated with unknown node '{self.missing}'"


@check
def graph_is_consistent(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    yield from model.once(_graph)


def _graph(checked: CheckedModel) -> list[Finding]:
    main = checked.model.graph
    findings: list[Finding] = []
    for graph in (main, *main.library.functions.values()):
        for name, stand_in in graph.missing.items():
            nodes = stand_in.users
            findings.append(MissingInput(nodes=nodes, op=nodes[0].op, missing=name))
        declared = cache(lambda node: node.declared_outputs)  # many nodes read outputs of one
        suspects = _suspects(graph, declared)
        for node in graph if graph is main else suspects:
            if node in suspects:
                findings += _node(node, declared)
            # colocation matters in the main graph only
            if graph is main and node.record is not None and CLASS in (attrs := node.record.attr):
                findings += _colocation(node, attrs[CLASS])
        if not is_listed_in_order(graph) and (cyclic := on_cycle(graph)):
            findings.append(Cycle(nodes=[cyclic], op=cyclic.op))
    return merged(findings)


def _suspects(graph: Graph, declared: Declared) -> dict[Node, None]:
    """The nodes to look at closely: few nodes read another output than the first."""
    suspects: dict[Node, None] = {}
    for node in graph:
        inputs = node.inputs
        for value in inputs:
            if value.index and not 0 < value.index < (declared(value.node) or 0):
                suspects[node] = None
        if inputs and node.controls:
            suspects[node] = None
    if _are_names(graph.nodes):
        return suspects
    return {node: None for node in graph if node in suspects or not NAME.fullmatch(node.name)}


def _are_names(names: Mapping[str, object]) -> bool:
    """Whether all are valid names of nodes: faster than looking at each."""
    others = "".join(names).encode(errors="replace").translate(None, CHARACTERS)
    return not others and {name[:1] for name in names} <= BEGINNINGS


def _node(node: Node, declared: Declared) -> Iterator[Finding]:
    if not NAME.fullmatch(node.name):
        yield BadName(nodes=[node], op=node.op)
    for value in node.inputs:
        if value.index and value.node.op:
            count = declared(value.node)
            if count is not None and value.index >= count:
                outputs = len([v for v in value.node.outputs if value.node.may_have(v.index)])
                yield MissingInput(nodes=[node], op=node.op, missing=value.name, outputs=outputs)
    if node.controls and node.record is not None and _out_of_order(node.record.input[:]):
        yield BadOrderOfInputs(nodes=[node], op=node.op)


def _colocation(node: Node, value: pb.AttrValue) -> list[Finding]:
    """Read from the record, as decoding all attributes is slower."""
    locations = [name for name in value.list.s if name.startswith(LOCATION)]
    names = [name.removeprefix(LOCATION).decode(errors="replace") for name in locations]
    missing = [name for name in names if node.graph.find(name) is None]
    return [MissingColocatedNode(nodes=[node], op=node.op, missing=name) for name in missing]


def _out_of_order(inputs: Iterable[str]) -> bool:
    after_control = False
    for name in inputs:
        if name.startswith("^"):
            after_control = True
        elif after_control:
            return True
    return False
