"""A model for inputs of certain shapes: an engine can compute what depends on sizes in advance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.formats.proto import onnx_pb2 as pb


def with_fixed_shapes(model: bytes, shapes: Mapping[str, Sequence[int]]) -> bytes:
    """The model with the shape of each input that is named."""
    fixed = pb.ModelProto.FromString(model)
    for info in fixed.graph.input:
        if info.name in shapes:
            tensor = info.type.tensor_type
            tensor.shape.Clear()
            tensor.shape.SetInParent()
            for size in shapes[info.name]:
                tensor.shape.dim.add(dim_value=size)
    return fixed.SerializeToString()
