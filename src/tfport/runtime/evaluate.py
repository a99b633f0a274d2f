"""Compute one node on arrays with its host kernel: for constants, without a plan or an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun, Error
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.registry.attr_upgrade import upgraded_attrs
from tfport.runtime.bounds.output_sizes import output_bytes
from tfport.runtime.custom.registry import PROCESS_WIDE
from tfport.runtime.effect_order import is_ordered
from tfport.runtime.host import group_inputs, host_run, kernel_arguments
from tfport.runtime.lower import Context
from tfport.runtime.operand import Operand
from tfport.runtime.program import Run
from tfport.runtime.state import State

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_FOLDED_BYTES = 1 << 24
"""The largest outputs that are computed, unless the inputs are at least half as large."""


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
    outputs = folded(run, node.op, [operand.value for operand in inputs], attrs, types)
    if outputs is None:
        return None
    return [Operand(dtype, value=output).array for dtype, output in zip(types, outputs, strict=True)]


def folded(
    run: Run, op: str, values: Sequence[Any], attrs: Mapping[str, Attr], types: Sequence[DType]
) -> list[Any] | None:
    """What a kernel computes from constants; None where one is unknown, where it fails, or if it is large."""
    if any(value is None for value in values):
        return None
    size_before = sum(v.nbytes for v in values if isinstance(v, np.ndarray))
    most = max(MAX_FOLDED_BYTES, 2 * size_before)
    if output_bytes(op, values, attrs, types) > most:
        return None
    try:
        with np.errstate(all="ignore"):
            outputs = run(values)
    except (Error, MemoryError):
        return None
    size_after = sum(a.nbytes for a in outputs if isinstance(a, np.ndarray))
    return None if size_after > most or any(a is None for a in outputs) else list(outputs)
