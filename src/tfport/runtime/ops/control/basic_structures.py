"""Structure ops without control flow: constants, placeholders, identities, variable reads."""

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
        raise MalformedGraph(f"constant `{node.name}` has no attribute `value`")
    return [Operand(tensor.dtype, value=tensor.numpy(), name=node.name)]


@structure("Placeholder PlaceholderV2")
def placeholder(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """A placeholder that is not fed: an error only if it is read."""
    out = Operand(attrs["dtype"], node.output_shape(0).dims, name=node.name)

    def run(inputs: Any) -> Any:
        raise RunFailed(f"placeholder `{node.name}:0` must be fed")

    return list(tracer.add(Step(node.name, node.op, (), (out,), run=run)))


@structure(
    "Identity IdentityN StopGradient PreventGradient Snapshot PlaceholderWithDefault DisableCopyOnRead "
    "LoopCond CopyHost Copy"
)
def pass_through(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    return inputs


@structure("NoOp")
def no_op(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    return []


@structure("PartitionedCall StatefulPartitionedCall")
def call(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """A call of an undefined function; the tracer handles all other calls."""
    raise MalformedGraph(f"`{node.name}` calls a function that the model does not define")


@structure("ReadVariableOp")
def read_variable(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    return [tracer.read_variable(inputs[0], node.name, attrs["dtype"])]
