"""The tensors that signatures return and are fed.

They return no fed inputs, and no outputs of ops that the target lacks; fed tensors become placeholders.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfport.errors import Error
from tfport.fix.journal import Journal
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model

PLACEHOLDER = "Placeholder"


def return_inputs_through_identities(model: Model) -> list[tuple[str, str]]:
    """Return inputs of a signature through Identity nodes, since sessions cannot fetch a fed tensor."""
    returned = []
    for name in list(model.signatures):
        signature = model.meta.signature_def[name]
        fed = {tensor for info in signature.inputs.values() for tensor in _names(info)}
        for info in signature.outputs.values():
            for holder, field in _tensor_fields(info):
                tensor = getattr(holder, field)
                if tensor in fed and model.has_tensor(tensor):
                    value = model.graph.value(tensor)
                    attrs = {"T": value.dtype.base}
                    node = model.graph.add("Identity", [value], attrs, name=f"{value.node.name}/answer")
                    setattr(holder, field, node.output(0).name)
                    returned.append((node.name, value.node.op))
    model.__dict__.pop("signatures", None)  # a cached property
    return returned


def bypass_op(model: Model, op: str) -> list[tuple[str, str]]:
    """Let signatures return the inputs of nodes of an op, each through an Identity; returns the nodes."""
    changed = []
    for signature in list(model.signatures):
        for info in model.meta.signature_def[signature].outputs.values():
            for holder, field in _tensor_fields(info):
                tensor = getattr(holder, field)
                if model.has_tensor(tensor) and (value := model.graph.value(tensor)).node.op == op:
                    passed = value.node.inputs[value.index]
                    attrs = {"T": passed.dtype.base}
                    node = model.graph.add(
                        "Identity", [passed], attrs, name=f"{value.node.name}/{value.index}"
                    )
                    setattr(holder, field, node.output(0).name)
                    changed.append((value.node.name, op))
    model.__dict__.pop("signatures", None)
    return changed


def _names(info: pb.TensorInfo) -> list[str]:
    return [getattr(holder, field) for holder, field in _tensor_fields(info)]


def _tensor_fields(info: pb.TensorInfo) -> list[tuple[object, str]]:
    """The messages and fields of a TensorInfo that name tensors."""
    form = info.WhichOneof("encoding")
    if form == "coo_sparse":
        fields = ("values_tensor_name", "indices_tensor_name", "dense_shape_tensor_name")
        return [(info.coo_sparse, field) for field in fields]
    if form == "composite_tensor":
        return [field for part in info.composite_tensor.components for field in _tensor_fields(part)]
    return [(info, "name")]


def feeds_to_placeholders(model: Model, feeds: Iterable[str], journal: Journal) -> None:
    """Replace the nodes of fed tensors by placeholders of the same name; nothing then needs their inputs."""
    changed = []
    for name in feeds:
        value = model.graph.value(name)
        node = value.node
        if others := [other for other in node.read_outputs if other is not value]:
            reader = others[0].uses[0]
            raise Error(f"`{name}` cannot become a placeholder: `{reader}` reads `{others[0].name}`")
        if value.index:
            raise Error(
                f"`{name}` cannot become a placeholder: a placeholder has only the output `{node.name}:0`; "
                f"feed what `{value.uses[0] if value.uses else node}` computes instead"
            )
        if not node.op.startswith(PLACEHOLDER):
            changed.append((node.name, node.op))
            attrs = {"dtype": value.dtype.base, "shape": value.shape}
            node.set_inputs(())
            node.set_controls(())
            node.become(PLACEHOLDER, attrs)
    journal.changed("fed", "Nodes whose outputs are fed become placeholders.", changed)
