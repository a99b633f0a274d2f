"""Small models to verify: a graph in the node notation, frozen or as a SavedModel with a signature."""

from __future__ import annotations

from pathlib import Path

from tests.recorded_models import graph

import tfport
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model


def frozen(text: str) -> Model:
    return tfport.load(graph_to_def(graph(text)).SerializeToString())


def saved(
    folder: Path, text: str, inputs: dict[str, str], outputs: dict[str, str], name: str = "serving_default"
) -> Model:
    """A SavedModel at a folder; inputs and outputs are names of tensors."""
    program = graph(text)
    signature = pb.SignatureDef(method_name="tensorflow/serving/predict")
    for into, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for key, tensor in tensors.items():
            value = program.value(tensor)
            into[key].name, into[key].dtype = tensor, value.dtype.number
            into[key].tensor_shape.CopyFrom(value.shape.to_proto())
    meta = pb.MetaGraphDef(graph_def=graph_to_def(program))
    meta.meta_info_def.tags.append("serve")
    meta.signature_def[name].CopyFrom(signature)
    folder.mkdir(parents=True)
    proto = pb.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    (folder / "saved_model.pb").write_bytes(proto.SerializeToString())
    return tfport.load(folder)
