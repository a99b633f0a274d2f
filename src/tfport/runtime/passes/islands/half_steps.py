"""Compute float16 steps in float32, and round where TensorFlow rounds.

Engines have few and slow float16 kernels on a CPU. TensorFlow too computes in float32 and rounds the
result of each op, so the same float32 nodes with a rounding after each step give the same answers.
Where a step sums (a convolution, a matrix product), TensorFlow's result depends on the order of the sum:
there the steps that are usually fused with it (bias, normalization, activation) read the sum itself,
and their result is rounded instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.onnx.graph import captured_by
from tfport.runtime.onnx.op_facts import MOVES, REDUCTIONS, TOGETHER, UNARY
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import CPU, island_pass
from tfport.runtime.program import ONNX_TYPES, OnnxNode, Step

FLOAT16 = DType.parse("float16")
_SUMS = frozenset([
    "Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul",
])  # fmt: skip
_SELECTS = frozenset([
    "Abs", "Ceil", "Clip", "Floor", "Max", "MaxPool", "Min", "Neg", "ReduceMax", "ReduceMin", "Relu",
    "Round", "Sign", "Where",
])  # fmt: skip
"""Float16 can represent the result of rounded inputs: there is nothing to round."""
_MOVES = frozenset(MOVES.split())
_FUSED = frozenset([
    "Add", "BatchNormalization", "Cast", "Clip", "Div", "Elu", "LeakyRelu", "Mul", "Relu", "Sub",
])  # fmt: skip
"""What may follow a sum without a rounding between them."""
_OTHERS = frozenset([
    "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Celu", "HardSigmoid", "HardSwish",
    "Mean", "Mish", "Mod", "PRelu", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare", "Shrink",
    "ThresholdedRelu",
])  # fmt: skip
"""Elementwise ops and reductions that stay in float16."""
_COMPUTES = frozenset(f"{UNARY} {TOGETHER} {REDUCTIONS}".split()) - _OTHERS | frozenset([
    "ArgMax", "ArgMin", "AveragePool", "GlobalAveragePool", "LRN", "LayerNormalization", "LogSoftmax",
    "Resize", "Softmax", "TopK",
])  # fmt: skip
_IN_FLOAT32 = _COMPUTES | _FUSED | _MOVES | _SELECTS | _SUMS


@island_pass(when=CPU, bodies=False)
def half_steps(graph: IslandGraph) -> None:
    """float16 steps are computed in float32, and rounded where TensorFlow rounds."""
    if not any(_is_half(o) for node in graph.nodes for o in node.outputs):
        return
    rewrite = _Rewrite(graph.steps, graph.outputs)
    for step in graph.steps:
        rewrite.take(step)
    for operand in graph.outputs:
        rewrite.rounded(operand)
    graph.nodes = rewrite.nodes


def _is_half(operand: Operand | None) -> bool:
    return operand is not None and operand.dtype == FLOAT16


class _Rewrite:
    """Collects the nodes; a float16 operand exists in float16, in float32, or in both."""

    def __init__(self, steps: Sequence[Step], results: Collection[Operand]) -> None:
        self.nodes: list[OnnxNode] = []
        self._wide: dict[Operand, Operand] = {}
        """The float32 operand of each float16 operand, and of each cast of one to float32."""
        self._missing: set[Operand] = set()
        """Operands that do not exist in float16 yet."""
        self._unrounded: set[Operand] = set()
        """Operands whose float32 value float16 cannot represent."""
        self._sums: set[Operand] = set()
        """Unrounded operands that are sums, or were made from a sum by fused steps."""
        self._named = {*results, *captured_by(*(node for step in steps for node in step.lowered or ()))}

    def take(self, step: Step) -> None:
        nodes = list(step.lowered or ())
        floats = [o for o in _inputs(nodes) if o.dtype in (FLOAT16, FLOAT32) and o.array is None]
        from_sum = len(floats) == 1 and floats[0] in self._sums
        ops = {node.op for node in nodes}
        if ops == {"Cast"}:
            self._cast_of_the_model(nodes[0], from_sum)
        elif from_sum and ops <= _FUSED | _MOVES:
            self._widen(nodes, fused=True)
        elif ops <= _IN_FLOAT32 and not ops <= _MOVES and any(map(_is_half, [*floats, *step.outputs])):
            self._widen(nodes)
        else:
            self._keep(nodes)

    def _cast_of_the_model(self, node: OnnxNode, from_sum: bool) -> None:
        source, output = node.inputs[0], node.outputs[0]
        if (
            source is not None
            and _is_half(source)
            and self._is_alias(self.wide(source, fused=from_sum), output)
        ):
            self._wide[output] = self._wide[source]
        else:
            self._keep([node])

    def _keep(self, nodes: Sequence[OnnxNode]) -> None:
        """Nodes as they are, with float16 operands in float16."""
        for node in nodes:
            for operand in captured_by(node):
                self.rounded(operand)
            inputs = tuple(o and self.rounded(o) for o in node.inputs)
            self.nodes.append(OnnxNode(node.op, inputs, node.outputs, node.attrs, node.domain, node.means))

    def _widen(self, nodes: Sequence[OnnxNode], *, fused: bool = False) -> None:
        """The nodes of a step with float16 operands in float32; `fused`: its input is a sum, not rounded."""
        inside = {output for node in nodes for output in node.outputs}
        for operand in _inputs(nodes):
            self.wide(operand, fused=fused)
        for node in nodes:
            self._in_float32(node)
        selects = {node.op for node in nodes} <= _SELECTS | _MOVES
        sums = fused or any(node.op in _SUMS for node in nodes)
        for operand in filter(_is_half, inside):
            self._missing.add(operand)
            if fused or not selects:
                self._unrounded.add(operand)
            if sums:
                self._sums.add(operand)

    def _in_float32(self, node: OnnxNode) -> None:
        inputs = tuple(o and self._wide.get(o, o) for o in node.inputs)
        if node.op == "Cast" and inputs[0] is not None and self._is_alias(inputs[0], node.outputs[0]):
            self._wide[node.outputs[0]] = inputs[0]
            return
        for output in filter(_is_half, node.outputs):
            self._wide[output] = Operand(FLOAT32, output.shape, name=output.name)
        outputs = tuple(self._wide.get(o, o) for o in node.outputs)
        means = node.means and (node.means[0], self._wide.get(node.means[1], node.means[1]))
        attrs = {"to": ONNX_TYPES[outputs[0].dtype.name]} if node.op == "Cast" else node.attrs
        self.nodes.append(OnnxNode(node.op, inputs, outputs, attrs, node.domain, means))

    def _is_alias(self, wide: Operand, output: Operand) -> bool:
        """Whether a cast to `output` does nothing while its step is computed in float32."""
        return wide.dtype == FLOAT32 and (
            _is_half(output) or (output.dtype == FLOAT32 and output not in self._named)
        )

    def wide(self, operand: Operand, *, fused: bool = False) -> Operand:
        """The operand in float32: rounded, unless a `fused` step reads a sum."""
        if not _is_half(operand):
            return self._wide.get(operand, operand)
        if operand.array is not None and operand not in self._wide:
            self._wide[operand] = Operand(FLOAT32, value=operand.array.astype(np.float32), name=operand.name)
        elif operand not in self._wide or (
            operand in self._unrounded and not (fused and operand in self._sums)
        ):
            self.rounded(operand)
            self._unrounded.discard(operand)
            self._sums.discard(operand)
            self._wide[operand] = Operand(FLOAT32, operand.shape, name=operand.name)
            self._cast(operand, self._wide[operand])
        return self._wide[operand]

    def rounded(self, operand: Operand) -> Operand:
        """The operand in its own type."""
        if not _is_half(operand):
            return self._wide.get(operand, operand)
        if operand in self._missing:
            self._missing.remove(operand)
            self._cast(self._wide[operand], operand)
        return operand

    def _cast(self, source: Operand, output: Operand) -> None:
        self.nodes.append(OnnxNode("Cast", (source,), (output,), {"to": ONNX_TYPES[output.dtype.name]}))


def _inputs(nodes: Sequence[OnnxNode]) -> list[Operand]:
    """What the nodes read from outside."""
    inside = {output for node in nodes for output in node.outputs}
    return [o for node in nodes for o in node.inputs if o is not None and o not in inside]
