"""Apply all patterns at every node of an island."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.onnx.patterns.clamp import clamp
from tfport.runtime.onnx.patterns.dense import dense
from tfport.runtime.onnx.patterns.gelu import gelu
from tfport.runtime.onnx.patterns.gemm_bias import gemm_bias
from tfport.runtime.onnx.patterns.layer_norm import layer_norm
from tfport.runtime.onnx.patterns.prelu import prelu
from tfport.runtime.onnx.patterns.producers import Producers
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

_BY_OP = {
    "Add": (layer_norm, prelu, gemm_bias),
    "Max": (clamp, prelu),
    "Min": (clamp,),
    "Mul": (gelu,),
    "Reshape": (dense,),
    "Sub": (prelu,),
    "Where": (prelu,),
}


def simplified(nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> list[OnnxNode]:
    """The nodes, with those that end a pattern replaced; nodes that become unused stay.

    `outputs`: those of the island.
    """
    producers = Producers(nodes, outputs)
    replaced = []
    for node in nodes:
        matches = (pattern(node, producers) for pattern in _BY_OP.get(node.op, ()))
        replaced.append(next(filter(None, matches), node))
    return replaced
