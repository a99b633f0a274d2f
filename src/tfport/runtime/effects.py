"""Which nodes must run in order, or even if nothing reads their outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.graph.attrs import Attr
from tfport.graph.graph import Function, Node
from tfport.graph.op_signature import OpSignature
from tfport.runtime.lower import Implementation
from tfport.runtime.operand import Operand

READS = frozenset(
    ("ReadVariableOp", "LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2",
     "LookupTableExport", "LookupTableExportV2", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp",
     "IsVariableInitialized", "VariableShape", "TensorArrayReadV3", "TensorArraySizeV3")
)  # fmt: skip
"""Ops that read a resource: their order matters, but they run only if something needs their outputs."""

_PURE = frozenset(["CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"])
"""Stateful in TensorFlow because of training; in inference their outputs depend on their inputs only."""


def is_ordered(
    op: str, signature: OpSignature, inputs: Sequence[Operand], kernel: Implementation | None
) -> bool:
    """Whether a node must keep its place among others with resources or side effects."""
    is_stateful = signature.stateful and op not in _PURE
    if not is_stateful and not any(o.dtype.is_ref or o.dtype.name == "resource" for o in inputs):
        return False
    return not (kernel is not None and kernel.once)


def is_unseeded(attrs: Mapping[str, Attr]) -> bool:
    """Whether a node draws other random numbers in each session, so that a draw may be left out."""
    return attrs.get("seed") == 0 and attrs.get("seed2") == 0


def required_nodes(function: Function) -> list[Node]:
    """The nodes that a call must run: returns and effects (TF1 functions do not list those, so all)."""
    if function.control_returns:
        return function.ends
    # writes to a TensorArray are ordered by its flow value, so they need not be listed
    others = (n for n in function if not n.op.startswith(("_Arg", "TensorArray")) and n.op not in READS)
    return [*function.ends, *(n for n in others if n.is_stateful)]
