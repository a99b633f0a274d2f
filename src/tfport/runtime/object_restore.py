"""Restore variables that a model's restore op omits, as Python does: through the object graph.

A Keras 3 model saved with `tf.saved_model.save` has two handles for each variable, and restores
only the one that its signatures do not read; TensorFlow Serving cannot run such a model. The name of an
object finds its handle. Unnamed variables share a name, `Variable`, which may also be the handle of an
asset's path: that one is left to the init op.
"""

from __future__ import annotations

from tfport.errors import MissingTensor, UnreadableFile
from tfport.formats.encoding.message import parse_message
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model
from tfport.graph.restore_mismatches import mismatches_of
from tfport.graph.state import GraphVariable, filled_at_load, shared_name
from tfport.runtime.restore_checks import raise_mismatches
from tfport.runtime.state import State

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "VARIABLE_VALUE"


def restore_from_objects(model: Model, state: State) -> None:
    """Set the variables of the main graph that are still unset and that an object of the model owns."""
    unset = {node for node in model.graph if node.op == "VarHandleOp" and not state.is_set(shared_name(node))}
    if not unset or model.checkpoint is None:
        return
    unset -= filled_at_load(model)
    checkpoint, keys = model.checkpoint, checkpoint_keys(model)
    owned = [
        GraphVariable(shared_name(node), node, node.attrs["dtype"], node.attrs["shape"])
        for node in model.graph
        if node in unset and keys.get(shared_name(node), "") in checkpoint
    ]
    raise_mismatches(model, [m for v in owned for m in mismatches_of(v, keys[v.name], checkpoint)])
    for variable in owned:
        value = checkpoint.read(keys[variable.name])
        state.variable(variable.name, variable.dtype, variable.shape.dims).assign(value)


def checkpoint_keys(model: Model) -> dict[str, str]:
    """The checkpoint key of each variable that the object graph names, if one object has the name."""
    checkpoint = model.checkpoint
    assert checkpoint is not None
    try:
        raw = bytes(checkpoint.read(OBJECT_GRAPH).reshape(-1)[0])
        tracked = parse_message(pb.TrackableObjectGraph, raw, OBJECT_GRAPH).nodes
    except (MissingTensor, UnreadableFile, IndexError):
        return {}
    keys: dict[str, set[str]] = {}
    for saved, kept in zip(model.meta.object_graph_def.nodes, tracked, strict=False):
        if saved.HasField("variable"):
            for attribute in kept.attributes:
                if attribute.name == VALUE:
                    keys.setdefault(saved.variable.name, set()).add(attribute.checkpoint_key)
    return {name: next(iter(of_name)) for name, of_name in keys.items() if len(of_name) == 1}
