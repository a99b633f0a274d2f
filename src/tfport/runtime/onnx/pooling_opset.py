"""In which version of ONNX's ops an island is written: the older one, where its average poolings are faster.

ONNX Runtime's kernel of AveragePool from version 19 on visits each window with all its pixels, one after
another; the kernel before uses the routines that MaxPool uses. Measured on ARM64 in one thread, the newer one
takes 3 times as long for windows of the whole image and 13 times for windows of 3x3 pixels. Both compute the
same. An exported model has the usual version.
"""

from __future__ import annotations

from tfport.graph.dtypes import FLOAT32, STRING
from tfport.runtime.onnx.builder import OPSET
from tfport.runtime.program import OnnxNode

BEFORE_NEW_POOLING = 18
_NEWER = frozenset(
    ("AffineGrid", "ConstantOfShape", "DFT", "DeformConv", "Gelu", "GridSample", "ImageDecoder", "IsInf",
     "IsNaN", "ReduceMax", "ReduceMin", "RegexFullMatch", "StringConcat", "StringSplit")
)  # fmt: skip
"""The ops that later versions brought, or extended to more types."""


class PoolingOpset:
    """Decides on the version while the nodes of a model are written."""

    def __init__(self) -> None:
        self._has_pooling = self._needs_newest = False

    def add(self, node: OnnxNode) -> None:
        self._has_pooling |= node.op == "AveragePool"
        self._needs_newest |= _needs_newest(node)

    @property
    def version(self) -> int:
        return BEFORE_NEW_POOLING if self._has_pooling and not self._needs_newest else OPSET


def _needs_newest(node: OnnxNode) -> bool:
    """Whether a node has a type or an attribute that the older version does not have."""
    match node.op:
        case "AveragePool":
            return node.outputs[0].dtype != FLOAT32 or "dilations" in node.attrs
        case "Equal":
            return any(operand is not None and operand.dtype == STRING for operand in node.inputs)
        case "Pad":
            return node.attrs.get("mode") == "wrap"
        case "Resize":
            return node.attrs.get("coordinate_transformation_mode") == "half_pixel_symmetric"
    return node.op in _NEWER
