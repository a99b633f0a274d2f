"""Restore and save variables as TF1 does, by RestoreV2, assignments and SaveV2; and find the variables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import STRING
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.graph.state import GraphVariable, variables
from tfport.graph.tensors import Tensor
from tfport.runtime.restore.object_restore import checkpoint_keys
from tfport.startup.dataclass import replace

RESOURCE_VARIABLE = "VarHandleOp"
V2 = pb.SaverDef.V2


def add_saver(graph: Graph, variables: Sequence[GraphVariable], *, saves: bool) -> pb.SaverDef:
    """Add nodes that restore these variables, and optionally save them; returns the SaverDef."""
    prefix = _strings(graph, "save/Const", "model")
    names = _strings(graph, "save/RestoreV2/tensor_names", [str(variable.key) for variable in variables])
    parts = _strings(graph, "save/RestoreV2/shape_and_slices", [variable.slice for variable in variables])
    types: list[Attr] = [variable.dtype.base for variable in variables]
    restored = graph.add("RestoreV2", [prefix, names, parts], {"dtypes": types}, name="save/RestoreV2")
    assigned = [_assign(graph, variable, restored.output(i)) for i, variable in enumerate(variables)]
    everything = graph.add("NoOp", name="save/restore_all", controls=assigned)
    saved = _save(graph, prefix, variables) if saves else prefix
    return pb.SaverDef(
        filename_tensor_name=prefix.name,
        restore_op_name=everything.name,
        save_tensor_name=saved.name,
        version=V2,
    )


def _assign(graph: Graph, variable: GraphVariable, value: Value) -> Node:
    dtype = variable.dtype.base
    if variable.node.op == RESOURCE_VARIABLE:
        inputs = [variable.node.output(0), value]
        return graph.add("AssignVariableOp", inputs, {"dtype": dtype}, name="save/AssignVariableOp")
    return graph.add("Assign", [variable.node.output(0), value], {"T": dtype}, name="save/Assign")


def _save(graph: Graph, prefix: Value, variables: Sequence[GraphVariable]) -> Value:
    whole = {variable.key: variable for variable in variables if not variable.slice}
    names = _strings(graph, "save/SaveV2/tensor_names", map(str, whole))
    parts = _strings(graph, "save/SaveV2/shape_and_slices", [""] * len(whole))
    read = [_read(graph, variable) for variable in whole.values()]
    types: list[Attr] = [value.dtype.base for value in read]
    if not types:
        return prefix
    saved = graph.add("SaveV2", [prefix, names, parts, *read], {"dtypes": types}, name="save/SaveV2")
    done = graph.add("Identity", [prefix], {"T": STRING}, name="save/control_dependency", controls=[saved])
    return done.output(0)


def _read(graph: Graph, variable: GraphVariable) -> Value:
    dtype, handle = variable.dtype.base, variable.node.output(0)
    if variable.node.op == RESOURCE_VARIABLE:
        return graph.add("ReadVariableOp", [handle], {"dtype": dtype}, name="save/Read").output(0)
    return graph.add("Identity", [handle], {"T": dtype}, name="save/Read").output(0)


def _strings(graph: Graph, name: str, texts: str | Iterable[str]) -> Value:
    strings = texts if isinstance(texts, str) else list(texts)
    array = np.empty((), object) if isinstance(strings, str) else np.empty(len(strings), object)
    array[...] = strings.encode() if isinstance(strings, str) else [text.encode() for text in strings]
    attrs: dict[str, Attr] = {"dtype": STRING, "value": Tensor.from_numpy(array, STRING)}
    return graph.add("Const", (), attrs, name=name).output(0)


# The variables of a model, and the tensors of its checkpoint that restore them.

DATA = tuple[str, tuple[object, ...]]
"""A name, and an array with its DataType number."""


def restored_variables(model: Model) -> dict[Node, GraphVariable]:
    """The variables of the main graph that the checkpoint restores, by the restore op or the object graph."""
    known = variables(model)
    if (
        any(variable.key is None for variable in known)
        and model.checkpoint is not None
        and model.meta.object_graph_def.nodes
    ):
        by_object = checkpoint_keys(model)
        known = [
            variable if variable.key else replace(variable, key=by_object.get(variable.name))
            for variable in known
        ]
    return {variable.node: variable for variable in known if _is_in_checkpoint(model, variable)}


def _is_in_checkpoint(model: Model, variable: GraphVariable) -> bool:
    """Whether the checkpoint has a matching tensor; names of objects may belong to other variables."""
    checkpoint, key = model.checkpoint, variable.key
    if checkpoint is None or key is None or key not in checkpoint:
        return False
    entry = checkpoint.entry(key)
    fits = variable.slice or variable.shape.fits(Shape(tuple(entry.shape)))
    return entry.dtype == variable.dtype.base.number and bool(fits)


def tensors(model: Model, keys: Collection[str]) -> Iterator[DATA]:
    """Read the tensors of these names, one at a time."""
    checkpoint = model.checkpoint
    if checkpoint is None:
        return
    for key in sorted(keys):
        yield key, (checkpoint.read(key), checkpoint.entry(key).dtype)
        checkpoint.release_memory()
