"""The parts of a loop, and its body traced until variables and shapes no longer change.

A variable that the body returns unchanged is captured instead of carried, so constants stay
constant inside the loop. Dimensions that differ between iterations become unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tfport.dataclass import dataclass
from tfport.errors import MalformedGraph
from tfport.graph.dtypes import BOOL
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.list_facts import ListFacts
from tfport.runtime.ops.control.structure_steps import as_condition, common_shape
from tfport.runtime.ops.control.traced_lists import counter_value
from tfport.runtime.program import Program, needed
from tfport.runtime.trace import Tracer

Operands = list[Operand]
_ADDS = ("Add", "AddV2")


@dataclass
class Loop:
    """The parts of a loop, from TF1 or TF2."""

    name: str
    op: str
    initial: Operands
    condition: Callable[[Operands], Operand]
    body: Callable[[Operands], Operands]
    ranks: Sequence[int | None]
    """Ranks of the variables, where the model states them."""
    stackable: Sequence[bool]
    """Whether a list is only stacked after the loop, so all its elements have the same shape."""


@dataclass
class LoopBody:
    """A traced body: its program returns the next condition, then all variables."""

    args: Operands
    program: Program

    @property
    def results(self) -> Operands:
        return self.program.results[1:]


def stable_body(tracer: Tracer, loop: Loop) -> tuple[set[int], list[Dims | None], LoopBody]:
    """The indices of the variables that never change, the shapes of all, and the body traced with them."""
    fixed: set[int] = set()
    shapes = [operand.shape for operand in loop.initial]
    while True:
        unsupported = len(tracer.unsupported)
        body = trace_body(tracer, loop, fixed, shapes)
        unchanged = {i for i, r in enumerate(body.results) if i not in fixed and r is body.args[i]}
        common = [
            s if i in fixed else _common_to_all(s, r.shape, loop.ranks[i])
            for i, (s, r) in enumerate(zip(shapes, body.results, strict=True))
        ]
        if not unchanged and common == shapes:
            return fixed, shapes, body
        fixed |= unchanged
        if not unchanged:  # captured values may give more precise shapes: trace again with them first
            shapes = common
        del tracer.unsupported[unsupported:]


def _common_to_all(before: Dims | None, after: Dims | None, rank: int | None) -> Dims | None:
    """The shape of a variable in every iteration; at least the rank, if the model states it."""
    both = common_shape([before, after])
    if both is None and rank is not None and (before is None or len(before) == rank):
        return (None,) * rank if before is None or after is None else None
    return both


def trace_body(
    tracer: Tracer,
    loop: Loop,
    fixed: set[int],
    shapes: Sequence[Dims | None],
    iteration: Operand | None = None,
    counters: Mapping[int, int] | None = None,
) -> LoopBody:
    """Trace the body; with an iteration number, counters are computed from it and the condition is true."""
    args = [
        start if i in fixed else Operand(start.dtype, shapes[i], name=loop.name)
        for i, start in enumerate(loop.initial)
    ]
    for arg, start in zip(args, loop.initial, strict=True):
        if arg is not start and (facts := tracer.lists.get(start)) is not None:
            tracer.lists[arg] = ListFacts(facts.element, facts.shape)

    def trace() -> Operands:
        for i, start in (counters or {}).items():
            if iteration is not None:
                args[i] = counter_value(tracer, loop.name, start, iteration, args[i].dtype, is_iteration=True)
        results = loop.body(list(args))
        if len(results) != len(args):
            raise MalformedGraph(
                f"loop `{loop.name}` has {len(args)} variables, but its body returns {len(results)}"
            )
        if iteration is not None:
            return [Operand(BOOL, value=np.array(True)), *results]
        return [as_condition(tracer, loop.name, loop.condition(list(results))), *results]

    program = tracer.program([arg for i, arg in enumerate(args) if i not in fixed], trace)
    # TensorFlow draws for several iterations at once, in any order: its generator has no certain state
    program.steps = needed(program.steps, program.results, unread_draws=False)
    return LoopBody(args, program)


def falls(body: LoopBody, i: int) -> bool:
    """Whether a variable becomes smaller by one per iteration."""
    step = next((step for step in body.program.steps if body.results[i] in step.outputs), None)
    if step is None or step.op not in ("Sub", *_ADDS) or len(step.inputs) != 2:
        return False
    value, delta = step.inputs if step.inputs[0] is body.args[i] or step.op == "Sub" else step.inputs[::-1]
    change = 1 if step.op == "Sub" else -1
    return (
        value is body.args[i] and delta.array is not None and delta.rank == 0 and int(delta.array) == change
    )


def counts_from(loop: Loop, body: LoopBody, i: int) -> int | None:
    """The initial value of a variable that grows by one per iteration; None for any other."""
    start, arg, result = loop.initial[i].array, body.args[i], body.results[i]
    if start is None or start.ndim or start.dtype.kind not in "iu":
        return None
    for step in body.program.steps:
        if result in step.outputs:
            others = [o for o in step.inputs if o is not arg]
            delta = others[0].array if len(others) == 1 else None
            counts = step.op in _ADDS and len(step.inputs) == 2 and delta is not None and delta.ndim == 0
            return int(start) if counts and delta == 1 else None
    return None
