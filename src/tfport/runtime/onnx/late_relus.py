"""Relu after a maximum instead of before it: the result is the same, of fewer numbers.

    maxpool(relu(x))  →  relu(maxpool(x))

A CPU computes a Relu together with the convolution before it; on a GPU it is a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.onnx.island_passes import live_nodes
from tfport.runtime.onnx.patterns.producers import Producers
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


def with_late_relus(nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> list[OnnxNode]:
    producers = Producers(nodes, outputs)
    made: list[OnnxNode] = []
    for node in nodes:
        relu = producers.of(node.inputs[0], "Relu") if node.op == "MaxPool" else None
        if relu is None or producers.uses(relu.outputs[0]) != 1 or len(node.outputs) != 1:
            made.append(node)
            continue
        (output,) = node.outputs
        pooled = Operand(output.dtype, output.shape, name=output.name)
        made.append(OnnxNode("MaxPool", relu.inputs, (pooled,), node.attrs))
        made.append(OnnxNode("Relu", (pooled,), (output,), {}))
    return live_nodes(made, outputs)
