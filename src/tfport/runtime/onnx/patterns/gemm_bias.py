"""A product of matrices and the bias that is added to it, as one Gemm.

ONNX Runtime does that for MatMul, and not for Gemm, which a product with a transposed matrix is.
"""

from __future__ import annotations

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.patterns.producers import Producers
from tfport.runtime.program import OnnxNode


def gemm_bias(node: OnnxNode, producers: Producers) -> OnnxNode | None:
    """The Gemm that replaces a sum of a product that nothing else reads and a constant row."""
    output = node.outputs[0]
    for total, bias in producers.pairs(output, "Add"):
        product = producers.of(total, "Gemm")
        if product is None or len(product.inputs) != 2 or total is None or producers.uses(total) > 1:
            continue
        if bias is None or bias.array is None or output.dtype != FLOAT32 or total.shape is None:
            continue
        columns = total.shape[-1]
        if columns is not None and bias.array.shape in ((columns,), (1, columns)):
            return OnnxNode("Gemm", (*product.inputs, bias), node.outputs, product.attrs)
    return None
