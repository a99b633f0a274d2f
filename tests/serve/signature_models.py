"""Helpers: small models with signatures, from the text notation."""

from __future__ import annotations

from tests.recorded_models import graph

import tfport
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model

Ends = tuple[dict[str, str], dict[str, str]]
"""Inputs and outputs: names to tensors."""
PREDICT = "tensorflow/serving/predict"


def signed(text: str, signatures: dict[str, Ends], method: str = PREDICT) -> Model:
    """Return a model of a graph with signatures."""
    program = graph(text)
    meta = pb.MetaGraphDef(graph_def=graph_to_def(program))
    meta.meta_info_def.tags.append("serve")
    for name, (inputs, outputs) in signatures.items():
        signature = meta.signature_def[name]
        signature.method_name = method
        for into, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
            for key, tensor in tensors.items():
                value = program.value(tensor)
                into[key].name, into[key].dtype = tensor, value.dtype.number
                into[key].tensor_shape.CopyFrom(value.shape.to_proto())
    model = tfport.load(meta.graph_def.SerializeToString())
    model.meta.CopyFrom(meta)
    return model
