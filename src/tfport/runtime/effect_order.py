"""Which nodes and steps must run in order, or even if nothing reads their outputs.

Effects keep their order. Reads and assignments of a variable have only to follow those of the same variable,
and other effects: so a model that keeps several states reads all of them, computes in one island, and assigns
all of them at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tfport.graph.attrs import Attr
from tfport.graph.graph import Function, Node
from tfport.graph.op_signature import OpSignature
from tfport.runtime.lower import Implementation
from tfport.runtime.operand import Operand
from tfport.runtime.program import Step
from tfport.runtime.state import Variable

_ACCESSES = frozenset(["AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp", "ReadVariableOp"])
"""Ops that read or change the variable of their first input, and nothing else."""


class EffectOrder:
    """The last steps with effects so far."""

    def __init__(self) -> None:
        self._last: Step | None = None
        """The last one that is not an access of a known variable."""
        self._accesses: dict[Variable, Step] = {}
        """The last access of each variable since then."""

    def before(self, step: Step) -> Iterable[Step]:
        """The steps that this one has to follow; it becomes the last one itself."""
        if not keeps_order(step):
            return ()
        variable = _accessed(step)
        if variable is None:
            earlier = [*self._accesses.values()] or ([] if self._last is None else [self._last])
            self._last = step
            self._accesses.clear()
            return earlier
        access = self._accesses.get(variable, self._last)
        self._accesses[variable] = step
        return () if access is None else (access,)


def keeps_order(step: Step) -> bool:
    """Whether a step has to keep its place among others with effects or resources."""
    return step.effect or any(o.dtype.name == "resource" or o.dtype.is_ref for o in step.inputs)


def _accessed(step: Step) -> Variable | None:
    """The variable that a step reads or changes, if that is all that it does."""
    if step.op not in _ACCESSES:
        return None
    handle, *others = step.inputs
    is_alone = not any(o.dtype.name == "resource" or o.dtype.is_ref for o in others)
    return handle.value if is_alone and isinstance(handle.value, Variable) else None


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
