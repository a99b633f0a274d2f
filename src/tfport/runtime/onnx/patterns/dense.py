"""A dense layer over the last axis as Keras writes it: reshape to rows, multiply, reshape back.

The engine multiplies tensors of any rank by a matrix, so the reshapes and the computation of their
sizes are removed, if the leading sizes are known to be the same.
"""

from __future__ import annotations

from tfport.runtime.onnx.patterns.producers import Producers
from tfport.runtime.operand import Dims
from tfport.runtime.program import OnnxNode


def dense(node: OnnxNode, producers: Producers) -> OnnxNode | None:
    """The MatMul that replaces a Reshape that ends this pattern."""
    product = producers.of(node.inputs[0], "MatMul") if node.op == "Reshape" else None
    rows = producers.of(product.inputs[0], "Reshape") if product is not None else None
    if product is None or rows is None:
        return None
    x, weights = rows.inputs[0], product.inputs[1]
    if x is None or weights is None or weights.rank != 2 or weights.shape is None:
        return None
    inner, outer = weights.shape
    if not x.shape or x.shape[-1] is None or x.shape[-1] != inner or _columns(rows) != inner:
        return None
    shape = node.outputs[0].shape
    if not shape or shape[-1] != outer or not _same_rows(x.shape[:-1], shape[:-1]):
        return None
    return OnnxNode("MatMul", (x, weights), node.outputs, {})


def _columns(rows: OnnxNode) -> int | None:
    shape = rows.outputs[0].shape
    wanted = rows.inputs[1].known if rows.inputs[1] is not None else None
    if wanted is not None and len(wanted) == 2:
        return wanted[1]
    return shape[1] if shape is not None and len(shape) == 2 else None


def _same_rows(before: Dims, after: Dims) -> bool:
    """Whether two shapes with the same product are equal: at most one size is unknown, at the same index."""
    unknown = [i for i, size in enumerate(before) if size is None]
    return len(before) == len(after) and before == after and len(unknown) <= 1 and 0 not in before
