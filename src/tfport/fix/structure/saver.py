"""What TF1 has in a graph to restore and save variables: one RestoreV2 and one SaveV2 with assignments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import STRING
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.state import GraphVariable
from tfport.graph.tensors import Tensor

RESOURCE_VARIABLE = "VarHandleOp"
V2 = pb.SaverDef.V2


def add_saver(graph: Graph, variables: Sequence[GraphVariable], *, saves: bool) -> pb.SaverDef:
    """Nodes that restore these variables and, where that is asked, save them; and where they are."""
    prefix = _strings(graph, "save/Const", "model")
    names = _strings(graph, "save/RestoreV2/tensor_names", [str(one.key) for one in variables])
    parts = _strings(graph, "save/RestoreV2/shape_and_slices", [one.slice for one in variables])
    types: list[Attr] = [one.dtype.base for one in variables]
    restored = graph.add("RestoreV2", [prefix, names, parts], {"dtypes": types}, name="save/RestoreV2")
    assigned = [_assign(graph, one, restored.output(i)) for i, one in enumerate(variables)]
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
    whole = {one.key: one for one in variables if not one.slice}
    names = _strings(graph, "save/SaveV2/tensor_names", map(str, whole))
    parts = _strings(graph, "save/SaveV2/shape_and_slices", [""] * len(whole))
    read = [_read(graph, one) for one in whole.values()]
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
    given = texts if isinstance(texts, str) else list(texts)
    array = np.empty((), object) if isinstance(given, str) else np.empty(len(given), object)
    array[...] = given.encode() if isinstance(given, str) else [text.encode() for text in given]
    attrs: dict[str, Attr] = {"dtype": STRING, "value": Tensor.from_numpy(array, STRING)}
    return graph.add("Const", (), attrs, name=name).output(0)
