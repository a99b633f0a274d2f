"""Is the graph whole in itself: is everything there that is read, called or named, and is there an order?

Findings 01x. They hold for every target; when they are noticed depends on the loader.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.functions import Lapses, function_lapses
from tfport.check.findings.trouble import Trouble, answers
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr
from tfport.graph.graph import Graph, Node
from tfport.graph.model import Model
from tfport.graph.reach import Callers, on_cycle
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved

NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
BESIDE = "_class"
LOCATION = b"loc:@"


@finding("TFP011", "missing-input")
class MissingInput(Finding):
    """node `{node}` reads `{lost}`, which is not in the graph

    ## Cause
    The graph was cut out of a larger one, or edited; or the op that is read has fewer
    outputs than the graph takes from it.
    ## Fix
    Export the model again; when cutting a graph out, keep all that its outputs need.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = Identity(x:3) {T=float32}
        on tensorflow==2.8.4
    """

    lost: str
    outputs: int | None = None
    """How many the node that is read has, where it is there."""
    index: int = 0

    def says(self) -> str:
        if self.outputs is None:
            return f"Node '{self.node}': Unknown input node '{self.lost}'"
        return (
            f"Node '{self.node}': Connecting to invalid output {self.index} of source node "
            f"{self.lost.partition(':')[0]} which has {self.outputs} outputs."
        )


@answers(Question.INPUT_THERE)
def missing_input(trouble: Trouble) -> Finding:
    return MissingInput(on=trouble.target, nodes=trouble.nodes, op=trouble.op, lost=trouble.reason.actual)


@answers(Question.OUTPUT_THERE)
def missing_output(trouble: Trouble) -> Finding:
    lost: str = trouble.reason.actual
    return MissingInput(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        lost=lost,
        outputs=trouble.reason.expected,
        index=int(lost.rpartition(":")[2]),
    )


@finding("TFP012", "cycle")
class Cycle(Finding):
    """node `{node}` needs its own result

    ## Cause
    The graph goes round without `NextIteration`, the one edge by which a TF1 loop may
    lead back: it was edited.
    ## Fix
    Export the model again.
    ## Example
        a = Identity(b) {T=float32}
        b = Identity(a) {T=float32}
        on tensorflow==2.8.4
    """

    def says(self) -> str:
        return "nodes in a cycle"


@answers(Question.ACYCLIC)
def cycle(trouble: Trouble) -> Finding:
    return Cycle(on=trouble.target, nodes=trouble.nodes, op=trouble.op)


@finding("TFP013", "bad-name")
class BadName(Finding):
    """TensorFlow takes no node called `{node}`

    ## Cause
    A name has letters, digits, `.`, `_`, `-`, `/`, `>` and `\\`, and begins with a letter, a
    digit or a dot. Another program wrote the graph, or it was edited.
    ## Fix
    Rename the node.
    ## Example
        _y = NoOp()
        on tensorflow==2.8.4
    """

    def says(self) -> str:
        return f"Node '{self.node}': Node name contains invalid characters"


@answers(Question.NAME)
def bad_name(trouble: Trouble) -> Finding:
    return BadName(on=trouble.target, nodes=trouble.nodes, op=trouble.op)


@finding("TFP014", "bad-order-of-inputs")
class BadOrderOfInputs(Finding):
    """node `{node}` names a node to wait for before the last that it reads

    ## Cause
    In a file, control inputs (`^name`) come after all others. The graph was edited.
    ## Fix
    Read and write the graph with `tfport.load` and `tfport.save`: that puts them in order.
    """

    def says(self) -> str:
        return f"Node '{self.node}': Control dependencies must come after regular dependencies"


@answers(Question.INPUT_ORDER)
def bad_order(trouble: Trouble) -> Finding:
    return BadOrderOfInputs(on=trouble.target, nodes=trouble.nodes, op=trouble.op)


@finding("TFP015", "missing-neighbour")
class MissingNeighbour(Finding):
    """node `{node}` is to run beside `{lost}`, which is not in the graph

    ## Cause
    The attribute `_class` says so. The graph was cut out of a larger one; a session does
    not mind, importing the graph does.
    ## Fix
    Export again with `clear_devices=True`, or take `_class` out.
    ## Example
        y = NoOp() {_class=["loc:@lost"]}
        on tensorflow==2.8.4
        loader capi
    """

    lost: str

    def says(self) -> str:
        return f"Node '{self.node}' expects to be colocated with unknown node '{self.lost}'"


@answers(Question.COLOCATION)
def missing_neighbour(trouble: Trouble) -> Finding:
    return MissingNeighbour(on=trouble.target, nodes=trouble.nodes, op=trouble.op, lost=trouble.reason.actual)


def lapses(model: Model, callers: Callers) -> Lapses:
    """What is wrong with the graph whatever the target."""
    yield from function_lapses(model, callers)
    for graph in (model.graph, *model.graph.library.functions.values()):
        for name, stand_in in graph.missing.items():
            yield _lapse(stand_in.users, Question.INPUT_THERE, name)
        in_main = graph is model.graph
        for node in graph:
            yield from _of_node(node)
            if in_main and node.record is not None and BESIDE in node.record.attr:  # nobody minds elsewhere
                yield from _beside(node)
        if not _is_in_order(graph) and (turning := on_cycle(graph)):
            yield _lapse([turning], Question.ACYCLIC, turning.name)


def _of_node(node: Node) -> Lapses:
    if not NAME.fullmatch(node.name):
        yield _lapse([node], Question.NAME, node.name)
    for value in node.inputs:
        if value.index and value.node.op and not value.node.may_have(value.index):
            many = len([v for v in value.node.outputs if value.node.may_have(v.index)])
            yield _lapse([node], Question.OUTPUT_THERE, value.name, many)
    if node.controls and node.record is not None and _out_of_order(node.record.input):
        yield _lapse([node], Question.INPUT_ORDER, node.name)


def _beside(node: Node) -> Lapses:
    assert node.record is not None
    for name in _neighbours(node.record.attr[BESIDE]):
        if node.graph.find(name) is None:
            yield _lapse([node], Question.COLOCATION, name)


def _lapse(
    nodes: list[Node], question: Question, found: Attr, expected: Attr = None
) -> tuple[Usage, Unresolved]:
    return Usage(nodes[0], (), nodes), Unresolved(question, actual=found, expected=expected)


def _out_of_order(inputs: Iterable[str]) -> bool:
    waits = False
    for name in inputs:
        if name.startswith("^"):
            waits = True
        elif waits:
            return True
    return False


def _neighbours(value: pb.AttrValue) -> Iterator[str]:
    """The nodes beside which one is to run; read from the record, as decoding all attributes costs more."""
    for name in value.list.s:
        if name.startswith(LOCATION):
            yield name.removeprefix(LOCATION).decode(errors="replace")


def _is_in_order(graph: Graph) -> bool:
    """Whether the file has each node after all that it reads, as most do: then nothing goes round."""
    seen = set[Node]()
    for node in graph:
        for value in node.inputs:
            if value.node not in seen and value.node.name in graph.nodes:
                return False
        seen.add(node)
    return True
