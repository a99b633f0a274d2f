"""The ONNX nodes of a graph with their links: which node computes an operand, and which nodes read it.

    graph.producer(operand, "MatMul")     the node that computes it, if it has this op
    graph.readers(operand)                the nodes that read it, or whose branches and bodies do
    graph.replace(node, *others)          other nodes in its place

Links follow each change. Nodes are never changed themselves: the program that they come from keeps them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


class OnnxGraph:
    """Nodes in an order in which they can run, and the outputs of the graph."""

    def __init__(self, nodes: Iterable[OnnxNode], outputs: Iterable[Operand] = ()) -> None:
        self._nodes = list(nodes)
        self.outputs = list(outputs)
        self.changed = False
        """Whether nodes were replaced since it was last set to False."""
        self._ops: set[str] | None = None
        self._edits: dict[OnnxNode, tuple[OnnxNode, ...]] = {}
        """What came in place of nodes of the list."""
        self._producers: dict[Operand, OnnxNode] | None = None
        self._readers: dict[Operand, list[OnnxNode]] = {}

    @property
    def nodes(self) -> Sequence[OnnxNode]:
        if self._edits:
            self._nodes = [node for old in self._nodes for node in self._now(old)]
            self._edits = {}
        return self._nodes

    @nodes.setter
    def nodes(self, nodes: Iterable[OnnxNode]) -> None:
        self._nodes, self._edits, self._producers, self._ops = list(nodes), {}, None, None
        self.changed = True

    def _now(self, node: OnnxNode) -> Iterator[OnnxNode]:
        edit = self._edits.get(node)
        if edit is None:
            yield node
            return
        for new in edit:
            yield from (new,) if new is node else self._now(new)

    @property
    def ops(self) -> Set[str]:
        """The ops of all nodes, and those that several nodes stand for."""
        if self._ops is None:
            self._ops = {node.op for node in self.nodes}
            self._ops.update(node.means[0] for node in self.nodes if node.means is not None)
        return self._ops

    def replace(self, node: OnnxNode, *others: OnnxNode) -> None:
        """Put other nodes in the place of one, which may be among them; without others, remove it."""
        before = self._edits.get(node, (node,))
        self._edits[node] = tuple(new for old in before for new in (others if old is node else (old,)))
        self.changed, self._ops = True, None
        if self._producers is not None:
            if node not in others:
                self._unlink(node)
            for other in others:
                if other is not node:
                    self._link(other)

    def append(self, *nodes: OnnxNode) -> None:
        """Add nodes at the end."""
        self.nodes = [*self.nodes, *nodes]

    def producer(self, operand: Operand | None, op: str | None = None) -> OnnxNode | None:
        """The node that computes an operand, if it has this op."""
        node = self.producers.get(operand) if operand is not None else None
        return node if node is None or op is None or node.op == op else None

    @property
    def producers(self) -> Mapping[Operand, OnnxNode]:
        """The node that computes each operand; changes with the graph."""
        if self._producers is None:
            self._link_all()
        assert self._producers is not None
        return self._producers

    def readers(self, operand: Operand) -> Sequence[OnnxNode]:
        """The nodes that read an operand, a node that reads it twice twice; of constants, none are known."""
        if self._producers is None:
            self._link_all()
        return self._readers.get(operand, ())

    def uses(self, operand: Operand) -> int:
        """How often nodes read an operand, and once more for each output of the graph that it is."""
        return len(self.readers(operand)) + sum(output is operand for output in self.outputs)

    def only_reader(self, node: OnnxNode, op: str | None = None) -> OnnxNode | None:
        """The node that alone reads the only output of a node, if it has this op."""
        (output,) = node.outputs
        if self.uses(output) != 1 or not (readers := self.readers(output)):
            return None
        return readers[0] if op is None or readers[0].op == op else None

    def pairs(self, operand: Operand | None, op: str) -> Iterator[tuple[Operand | None, Operand | None]]:
        """The two inputs of the node that computes an operand, in both orders, if it has this op."""
        node = self.producer(operand, op)
        if node is not None and len(node.inputs) == 2:
            yield node.inputs[0], node.inputs[1]
            yield node.inputs[1], node.inputs[0]

    def remove_unused(self) -> None:
        """Leave only the nodes that the outputs depend on."""
        needed: set[Operand | None] = set(self.outputs)
        kept, unused = list[OnnxNode](), list[OnnxNode]()
        for node in reversed(self.nodes):
            if needed.isdisjoint(node.outputs):
                unused.append(node)
                continue
            kept.append(node)
            needed.update(self.reads_of(node) if node.programs else node.inputs)
        if unused:
            self._nodes, self._ops, self.changed = kept[::-1], None, True
            for node in unused if self._producers is not None else ():
                self._unlink(node)

    def reads_of(self, node: OnnxNode) -> Iterable[Operand]:
        """What a node and its programs read, without constants, as often as they do."""
        return reads_of(node)

    def _link_all(self) -> None:
        self._producers, self._readers = {}, defaultdict(list)
        for node in self.nodes:
            self._link(node)

    def _link(self, node: OnnxNode) -> None:
        assert self._producers is not None
        for output in node.outputs:
            self._producers[output] = node
        for operand in self.reads_of(node):
            self._readers[operand].append(node)

    def _unlink(self, node: OnnxNode) -> None:
        assert self._producers is not None
        for output in node.outputs:
            if self._producers.get(output) is node:
                del self._producers[output]
        for operand in self.reads_of(node):
            self._readers[operand].remove(node)


def reads_of(node: OnnxNode) -> list[Operand]:
    """What a node and its programs read, without constants."""
    inputs = [operand for operand in node.inputs if operand is not None and operand.value is None]
    return [*inputs, *captured_by(node)] if node.programs else inputs


def captured_by(*nodes: OnnxNode) -> Iterator[Operand]:
    """What the branches and bodies of nodes read from outside of them."""
    for node in nodes:
        for program in node.programs:
            yield from program.captures()


def like(
    node: OnnxNode, inputs: tuple[Operand | None, ...], outputs: tuple[Operand, ...], **attrs: Any
) -> OnnxNode:
    """A node of the same op with other inputs and outputs, and some other attributes."""
    return OnnxNode(node.op, inputs, outputs, {**node.attrs, **attrs}, node.domain)


def scalar_and_other(node: OnnxNode) -> tuple[float | None, Operand | None]:
    """The number that is one of two inputs of a node, if it does not add axes to the other, and the other."""
    if len(node.inputs) == 2:
        for constant, other in (node.inputs, node.inputs[::-1]):
            array = constant.array if constant is not None else None
            if array is not None:
                is_scalar = other is not None and array.size == 1 and array.ndim <= (other.rank or 0)
                return (float(array.reshape(())), other) if is_scalar else (None, None)
    return None, None
