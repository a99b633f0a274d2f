"""Freeze variables: readers get constants with the checkpoint's values, and nothing is restored."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.formats.encoding.tensor import NUMPY
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import INT32, RESOURCE
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import ENTERS, SWITCHES
from tfport.graph.shapes import Shape
from tfport.graph.state import GraphVariable
from tfport.graph.tensors import Tensor

MOST_BYTES = (1 << 31) - (1 << 24)
"""The limit of a protobuf message, with room for the rest of the graph."""
CARRY = ("Identity", "RefIdentity", *ENTERS, *SWITCHES)


def freeze(
    model: Model, variables: Mapping[Node, GraphVariable]
) -> tuple[dict[Node, GraphVariable], list[str]]:
    """Turn variables into constants; returns the frozen variables, and why others were not frozen."""
    graph = model.graph
    used = {node: entry for node, entry in variables.items() if graph.nodes.get(node.name) is node}
    _fits(model, used)
    frozen, reasons = dict[Node, GraphVariable](), list[str]()
    for node, variable in used.items():
        try:
            if variable.slice:
                raise StructureRefusal(f"`{variable.name}` is restored from a slice of a tensor")
            _only_read(node.output(0), node)
        except StructureRefusal as refusal:
            reasons.append(str(refusal))
            continue
        _read_instead(graph, node.output(0), _constant(model, variable, node))
        for waiting in list(node.users):  # a handle is there before anything runs
            if node in waiting.controls:
                waiting.set_controls([before for before in waiting.controls if before is not node])
        frozen[node] = variable
    return frozen, reasons


def _fits(model: Model, variables: Mapping[Node, GraphVariable]) -> None:
    checkpoint = model.checkpoint
    sizes = (
        [checkpoint.entry(str(variable.key)) for variable in variables.values()]
        if checkpoint is not None
        else []
    )
    total = sum(_nbytes(entry.dtype, entry.shape) for entry in sizes)
    if total > MOST_BYTES:
        raise StructureRefusal(
            f"the variables have {total} bytes; a graph can hold {MOST_BYTES} bytes of constants"
        )


def _nbytes(dtype: int, shape: tuple[int, ...]) -> int:
    return math.prod(shape) * NUMPY[dtype].itemsize


def _only_read(value: Value, variable: Node) -> None:
    """Refuse if an op writes to a variable, or requires a variable."""
    for user in value.uses:
        if user.op in CARRY:
            for output in user.outputs:
                _only_read(output, variable)
        elif value.dtype == RESOURCE and user.op not in READS:
            raise StructureRefusal(f"`{user.name}` ({user.op}) needs `{variable.name}` to be a variable")
        elif value.dtype.is_ref and _writes(user, value):
            raise StructureRefusal(f"`{user.name}` ({user.op}) writes to `{variable.name}`")


def _writes(user: Node, value: Value) -> bool:
    """Whether an op takes this value as a reference."""
    signature = user.signature
    if signature is None:
        return True
    taken = [arg.is_ref for arg in signature.inputs]
    return any(taken[i] for i, v in enumerate(user.inputs) if v is value and i < len(taken))


def _constant(model: Model, variable: GraphVariable, node: Node) -> Value:
    checkpoint = model.checkpoint
    assert checkpoint is not None
    key = str(variable.key)
    entry = checkpoint.entry(key)
    dtype = variable.dtype.base
    tensor = Tensor(dtype, Shape(tuple(entry.shape)), load=lambda: checkpoint.read(key))
    attrs: dict[str, Attr] = {"dtype": dtype, "value": tensor}
    return model.graph.add("Const", (), attrs, name=f"{node.name}/frozen").output(0)


def _read_instead(graph: Graph, handle: Value, value: Value) -> None:
    """Let readers of the variable read the constant; pass-through nodes pass the constant on."""
    for user in handle.uses:
        if user.op in READS:
            READS[user.op](user, value)
        else:
            user.set_inputs([value if read is handle else read for read in user.inputs])
            if user.op in CARRY:
                _retype(graph, user, value)


def _retype(graph: Graph, carrier: Node, value: Value) -> None:
    op = carrier.op.removeprefix("Ref")
    old = carrier.outputs
    carrier.become(op, {**carrier.attrs, "T": value.dtype.base})
    for output in old:
        _read_instead(graph, output, carrier.output(output.index))


def _read(user: Node, value: Value) -> None:
    user.become("Identity", {"T": value.dtype.base})
    user.set_inputs([value])


def _gather(user: Node, value: Value) -> None:
    attrs = user.attrs
    batch = attrs.get("batch_dims", 0)
    axis = user.graph.add("Const", (), _number(int(batch or 0)), name=f"{user.name}/axis", controls=())
    kept = {"Tparams": value.dtype.base, "Tindices": attrs["Tindices"], "Taxis": axis.output(0).dtype}
    user.become("GatherV2", {**kept, "batch_dims": batch})
    user.set_inputs([value, user.inputs[1], axis.output(0)])


def _number(value: int) -> dict[str, Attr]:
    return {"dtype": INT32, "value": Tensor.from_numpy(np.asarray(value, np.int32), INT32)}


def _gather_nd(user: Node, value: Value) -> None:
    user.become("GatherNd", {"Tparams": value.dtype.base, "Tindices": user.attrs["Tindices"]})
    user.set_inputs([value, user.inputs[1]])


def _shape(user: Node, value: Value) -> None:
    user.become("Shape", {"T": value.dtype.base, "out_type": user.attrs.get("out_type")})
    user.set_inputs([value])


def _nothing(user: Node, value: Value) -> None:
    user.become("NoOp", {})
    user.set_inputs(())


READS = {
    "ReadVariableOp": _read,
    "ResourceGather": _gather,
    "ResourceGatherNd": _gather_nd,
    "VariableShape": _shape,
    "DisableCopyOnRead": _nothing,
}
