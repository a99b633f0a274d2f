"""Whether a model has convolutions in groups.

cuDNN computes a sum together with a convolution, but for one in groups only with a kernel that is several
times slower. ONNX Runtime fuses the sums of a session or none of them, also if they are nodes.
"""

from __future__ import annotations

from tfport.formats.proto import onnx_pb2


def has_grouped_convolutions(model: bytes) -> bool:
    graph = onnx_pb2.ModelProto.FromString(model).graph
    return any(
        attribute.name == "group" and attribute.i != 1
        for node in graph.node
        if node.op_type == "Conv"
        for attribute in node.attribute
    )
