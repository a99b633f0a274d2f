"""Compute one node on arrays with its host kernel: for constants, without a plan or an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import CannotRun
from tfport.graph.graph import Node
from tfport.registry.resolve import upgraded_attrs
from tfport.runtime.bounds.output_sizes import output_bytes
from tfport.runtime.constant_folding import fold
from tfport.runtime.custom.registry import PROCESS_WIDE
from tfport.runtime.effects import is_ordered
from tfport.runtime.host import group_inputs, host_run, kernel_arguments
from tfport.runtime.lower import Context
from tfport.runtime.operand import Operand
from tfport.runtime.state import State

if TYPE_CHECKING:
    from numpy.typing import NDArray


def evaluated(node: Node, arrays: Sequence[NDArray[Any]], state: State) -> list[NDArray[Any] | None] | None:
    """The outputs of a node; None if it has no kernel, an effect, or large outputs, or if it fails."""
    signature = node.signature
    if signature is None:
        return None
    attrs = {**signature.defaults, **upgraded_attrs(node.attrs, signature)}
    kernel = PROCESS_WIDE.kernel_for(node.op, attrs)
    inputs = [
        Operand(value.dtype.base, value=array) for value, array in zip(node.inputs, arrays, strict=True)
    ]
    if kernel is None or is_ordered(node.op, signature, inputs, kernel):
        return None
    types = signature.output_types(attrs)
    try:
        groups = group_inputs(inputs, attrs, signature)
        context = Context(state, node.name, node.op, types)
        run = host_run(kernel, groups, kernel_arguments(kernel, node, attrs, signature), context)
    except CannotRun:
        return None
    outputs = fold(run, inputs, types, node.name, lambda values: output_bytes(node.op, values, attrs, types))
    return None if outputs is None else [operand.array for operand in outputs]
