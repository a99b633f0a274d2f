"""Find the node that computes an operand, for patterns that match backwards."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Producers:
    """The nodes of an island by their outputs."""

    def __init__(self, nodes: Sequence[OnnxNode], outputs: Sequence[Operand] = ()) -> None:
        """`outputs`: those of the island."""
        self._of = {output: node for node in nodes for output in node.outputs}
        self._nodes = nodes
        captured = (o for node in nodes for program in node.programs for o in program.captures())
        self._uses = Counter(
            (*outputs, *captured, *(o for node in nodes for o in node.inputs if o is not None))
        )

    def uses(self, operand: Operand) -> int:
        """How often nodes read an operand, and once more if it is an output of the island."""
        return self._uses[operand]

    @functools.cached_property
    def _readers(self) -> dict[Operand, OnnxNode]:
        return {o: node for node in self._nodes for o in node.inputs if o is not None}

    def only_reader(self, node: OnnxNode) -> OnnxNode | None:
        """The node that alone reads the output of a node."""
        (output,) = node.outputs
        return self._readers.get(output) if self._uses[output] == 1 else None

    def of(self, operand: Operand | None, op: str) -> OnnxNode | None:
        """The node that computes an operand, if it has this op."""
        node = self._of.get(operand) if operand is not None else None
        return node if node is not None and node.op == op else None

    def any(self, operand: Operand | None) -> OnnxNode | None:
        return self._of.get(operand) if operand is not None else None

    def pairs(self, operand: Operand | None, op: str) -> Iterator[tuple[Operand | None, Operand | None]]:
        """The two inputs of the node that computes an operand, in both orders, if it has this op."""
        node = self.of(operand, op)
        if node is not None and len(node.inputs) == 2:
            yield node.inputs[0], node.inputs[1]
            yield node.inputs[1], node.inputs[0]


def constant_and_other(node: OnnxNode) -> tuple[NDArray[Any] | None, Operand | None]:
    """The constant input of a node with two inputs, and the other one."""
    if len(node.inputs) == 2:
        for constant, other in (node.inputs, node.inputs[::-1]):
            if constant is not None and constant.array is not None:
                return constant.array, other
    return None, None


def scalar_and_other(node: OnnxNode) -> tuple[float | None, Operand | None]:
    """As `constant_and_other`, for one number that does not add axes to the other input."""
    constant, other = constant_and_other(node)
    if constant is None or other is None or constant.size != 1 or constant.ndim > (other.rank or 0):
        return None, None
    return float(constant.reshape(())), other
