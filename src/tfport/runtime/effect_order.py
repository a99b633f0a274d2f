"""Which earlier steps a step with an effect has to follow, while a plan is made.

Effects keep their order. Reads and assignments of a variable have only to follow those of the same variable,
and other effects: so a model that keeps several states reads all of them, computes in one island, and assigns
all of them at its end.
"""

from __future__ import annotations

from collections.abc import Iterable

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
