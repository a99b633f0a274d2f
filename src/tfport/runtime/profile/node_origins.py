"""Which node of the model each step, and each ONNX node of an island, comes from.

ONNX nodes are named after operands, and the name of an operand ends in a number that is unique:
`Conv:block/conv#17`. Engines that fuse nodes keep the names, or combine them; the numbers in a name
lead back to the nodes of the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tfport.graph.graph import Function, Node
from tfport.runtime.program import Step
from tfport.startup.dataclass import dataclass

NUMBER = re.compile(r"#(\d+)")


@dataclass(frozen=True, slots=True)
class NodeOrigin:
    """A node of the model: the function that has it, None for the main graph, its name and op."""

    function: str | None
    name: str
    op: str

    @staticmethod
    def of(node: Node) -> NodeOrigin:
        function = node.graph.name if isinstance(node.graph, Function) else None
        return NodeOrigin(function, node.name, node.op)


class NodeOrigins:
    """Collects origins while a program is made."""

    def __init__(self) -> None:
        self._by_number: dict[int, NodeOrigin] = {}
        self._by_step: dict[Step, NodeOrigin] = {}
        self.folded: dict[NodeOrigin, None] = {}
        """Nodes that were computed before the run, or not at all, as another computes the same."""

    def add(self, node: Node, step: Step) -> None:
        """Note the node that a step is of."""
        origin = NodeOrigin.of(node)
        self.folded.pop(origin, None)
        self._by_step.setdefault(step, origin)
        for operand in (*step.outputs, *(out for lowered in step.lowered or () for out in lowered.outputs)):
            for number in numbers_in(operand.name)[-1:]:
                self._by_number.setdefault(number, origin)

    def add_folded(self, node: Node) -> None:
        """Note a node that needs no step."""
        self.folded.setdefault(NodeOrigin.of(node))

    def of_step(self, step: Step) -> NodeOrigin:
        """The node that a step is of; of a step that replaces others, the one with the same outputs."""
        known = (
            [self._by_step[step]] if step in self._by_step else self.of_names(o.name for o in step.outputs)
        )
        return known[0] if known else NodeOrigin(None, step.name, step.op)

    def of_names(self, names: Iterable[str]) -> list[NodeOrigin]:
        """The nodes that lead to names of ONNX nodes or operands, each once."""
        numbers = (number for name in names for number in numbers_in(name))
        return list(dict.fromkeys(o for number in numbers if (o := self._by_number.get(number)) is not None))


def numbers_in(name: str) -> list[int]:
    """The numbers of operands in a name."""
    return [int(digits) for digits in NUMBER.findall(name) if len(digits) < 16]
