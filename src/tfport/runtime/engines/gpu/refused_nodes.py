"""Nodes that a GPU computes differently from TensorFlow, so that they stay on the host.

Measured with ONNX Runtime 1.31's CUDA provider on recorded answers of TensorFlow (docs/evidence/gpu.md).
"""

from __future__ import annotations

from tfport.runtime.passes.islands.input_flags import reads_by_index
from tfport.runtime.program import OnnxNode

DIFFERENT = {
    "NonMaxSuppression": "it selects other boxes where scores are equal or boxes are empty",
    "ReverseSequence": "it reads outside of the tensor if a length is larger than the sequence",
    "LRN": "its session cannot be made for windows that cuDNN does not have",
}
"""By op: what is different."""
OF_TYPE = {
    "float64": frozenset(["LogSoftmax", "ReduceMax", "ReduceMin", "Softmax", "TopK"]),
    "int64": frozenset(["ReduceMax", "ReduceMin"]),
}
"""By type: ops whose kernels for it compute with the precision or the range of another type, or start from a
finite number."""

ENDLESS = frozenset(["max", "min", "mul"])
"""Reductions of Scatter whose kernels wait until a number equals itself: with NaN, the GPU never ends."""


def is_refused(node: OnnxNode) -> bool:
    """Whether a node must not run on a GPU; nor does a loop or branch with indices that nothing checks."""
    if node.op in DIFFERENT or any(map(reads_by_index, node.programs)):
        return True
    if node.attrs.get("reduction") in ENDLESS:
        return True
    first = node.inputs[0] if node.inputs else None
    return first is not None and node.op in OF_TYPE.get(first.dtype.name, ())
