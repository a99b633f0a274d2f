"""Structures without branches: constants, placeholders, what hands a value on, reads of variables."""

from __future__ import annotations

from typing import Any

from tfport.errors import MalformedGraph, RunFailed
from tfport.graph.attrs import Attr
from tfport.graph.graph import Node
from tfport.graph.tensors import Tensor
from tfport.runtime.lower import structure
from tfport.runtime.operand import Operand
from tfport.runtime.program import Step
from tfport.runtime.trace import Tracer

Attrs = dict[str, Attr]


@structure("Const HostConst")
def const(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    tensor = attrs.get("value")
    if not isinstance(tensor, Tensor):
        raise MalformedGraph(f"the constant `{node.name}` has no value")
    return [Operand(tensor.dtype, value=tensor.numpy(), name=node.name)]


@structure("Placeholder PlaceholderV2")
def placeholder(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """One that is reached was not fed; that is an error only when it is read."""
    out = Operand(attrs["dtype"], node.output_shape(0).dims, name=node.name)

    def run(given: Any) -> Any:
        raise RunFailed(f"nothing was fed for `{node.name}:0`")

    return list(tracer.add(Step(node.name, node.op, (), (out,), run=run)))


@structure(
    "Identity IdentityN StopGradient PreventGradient Snapshot PlaceholderWithDefault DisableCopyOnRead "
    "LoopCond CopyHost Copy"
)
def hand_on(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    return inputs


@structure("NoOp")
def nothing(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    return []


@structure("PartitionedCall StatefulPartitionedCall")
def call(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """A call that can be followed never comes here."""
    raise MalformedGraph(f"`{node.name}` calls a function that the model does not define")


@structure("ReadVariableOp")
def read_variable(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    return [tracer.read_variable(inputs[0], node.name, attrs["dtype"])]
