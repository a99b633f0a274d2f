"""Restore variables that a model's restore op omits, as Python does: through the object graph.

A Keras 3 model saved with `tf.saved_model.save` has two handles for each variable, and restores
only the one that its signatures do not read; TensorFlow Serving cannot run such a model. Which object a
handle stands for is said where a signature calls its function: the last inputs of the call are the
objects that the function captured, in the order of `bound_inputs`. Names do not tell: layers in a list
share them, and the handle of an asset's path is left to the init op.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.errors import MissingTensor, UnreadableFile
from tfport.formats.encoding.message import parse_message
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.inline import callee
from tfport.graph.model import Model
from tfport.graph.restoring import mismatches_of
from tfport.graph.state import GraphVariable, filled_at_load, shared_name
from tfport.runtime.restore.restore_checks import raise_mismatches
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
    """The checkpoint key of each variable that a function called in the main graph captures."""
    checkpoint, objects = model.checkpoint, model.meta.object_graph_def
    assert checkpoint is not None
    try:
        raw = bytes(checkpoint.read(OBJECT_GRAPH).reshape(-1)[0])
        tracked = parse_message(pb.TrackableObjectGraph, raw, OBJECT_GRAPH).nodes
    except (MissingTensor, UnreadableFile, IndexError):
        return {}
    saved = {
        index: attribute.checkpoint_key
        for index, (node, kept) in enumerate(zip(objects.nodes, tracked, strict=False))
        if node.HasField("variable")
        for attribute in kept.attributes
        if attribute.name == VALUE
    }
    return {name: saved[index] for name, index in captured_objects(model) if index in saved}


def captured_objects(model: Model) -> Iterator[tuple[str, int]]:
    """Each variable that a call in the main graph passes to a function, and the number of its object."""
    functions = model.meta.object_graph_def.concrete_functions
    for call in model.graph:
        if (function := callee(call)) and function.name in functions:
            bound = functions[function.name].bound_inputs
            for value, index in zip(reversed(call.inputs), reversed(bound), strict=False):
                if value.node.op == "VarHandleOp":
                    yield shared_name(value.node), index
