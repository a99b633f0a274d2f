"""Steps without ONNX nodes in a program that is translated whole: each is one node, of a domain of its own.

ONNX has no such op, so only a translation that knows the steps can read the node: its attribute is the index
of the step. Strings and resources that are constant are not inputs of the node; the step has them.
"""

from __future__ import annotations

from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.runtime.operand import Operand
from tfport.runtime.program import ONNX_TYPES, OnnxNode, Step
from tfport.startup.dataclass import dataclass, field

DOMAIN, OP, STEP = "tensorflow", "HostStep", "step"
DONE = "@done"
"""The name of the last effect of a model, among its outputs."""
OTHER_TYPES: dict[str, int] = {
    "string": 8, "complex64": 14, "complex128": 15, "resource": 1001, "variant": 1002
}  # fmt: skip
"""The numbers of types that islands do not compute with; ONNX has none for resources and variants."""


@dataclass
class HostedSteps:
    """Collects the steps of a program that are nodes of this domain."""

    forced: frozenset[str] = frozenset()
    """The names of nodes that are such steps although they have ONNX nodes."""
    direct: frozenset[str] = frozenset()
    """The same of ops."""
    lowered: frozenset[str] = frozenset()
    """The names of nodes of these ops that are not such steps."""
    steps: list[Step] = field(default_factory=list)

    def takes(self, node: Node) -> bool:
        """Whether a node is such a step whatever ONNX has."""
        return node.name in self.forced or (node.op in self.direct and node.name not in self.lowered)


def type_number(dtype: DType) -> int:
    """The number of an element type in a message."""
    return ONNX_TYPES[dtype.name] if dtype.name in ONNX_TYPES else OTHER_TYPES[dtype.name]


def hosted_node(step: Step, hosted: HostedSteps) -> OnnxNode:
    """The node of a step, which is added to the steps."""
    hosted.steps.append(step)
    reads = tuple(None if _is_outside(operand) else operand for operand in step.inputs)
    return OnnxNode(OP, reads, step.outputs, {STEP: len(hosted.steps) - 1}, DOMAIN)


def _is_outside(operand: Operand) -> bool:
    return operand.is_constant and (operand.array is None or operand.dtype.name not in ONNX_TYPES)
