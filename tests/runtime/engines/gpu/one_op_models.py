"""ONNX models of a few nodes, and sessions of them on the CPU in place of a GPU."""

from collections.abc import Sequence

import onnxruntime as ort

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.program import ONNX_TYPES


def onnx_bytes(
    nodes: Sequence[pb.NodeProto], inputs: dict[str, tuple[str, int]], outputs: dict[str, str]
) -> bytes:
    """A model; inputs have a type and a rank, outputs a type."""
    model = pb.ModelProto(ir_version=9)
    model.opset_import.add(version=18)
    model.graph.name = "test"
    model.graph.node.extend(nodes)
    for name, (kind, rank) in inputs.items():
        tensor = model.graph.input.add(name=name).type.tensor_type
        tensor.elem_type = ONNX_TYPES[kind]
        tensor.shape.SetInParent()
        for _ in range(rank):
            tensor.shape.dim.add()
    for name, kind in outputs.items():
        model.graph.output.add(name=name).type.tensor_type.elem_type = ONNX_TYPES[kind]
    return model.SerializeToString()


def node(op: str, inputs: str, outputs: str, **attrs: int) -> pb.NodeProto:
    made = pb.NodeProto(op_type=op, input=inputs.split(), output=outputs.split(), name=outputs)
    for name, value in attrs.items():
        made.attribute.add(name=name, type=pb.AttributeProto.INT, i=value)
    return made


def onnx_session(model: bytes) -> ort.InferenceSession:
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"])
