"""What a loop is made of, and a walk through its body that agrees with itself.

What the body hands on unchanged is no variable of the loop: it is bound from around it, so
constants stay constant inside. Shapes that change from turn to turn are forgotten until the
body agrees with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfport.errors import MalformedGraph
from tfport.graph.dtypes import BOOL
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.list_facts import ListFacts
from tfport.runtime.ops.control.structure_steps import joined, truth
from tfport.runtime.ops.control.traced_lists import counted
from tfport.runtime.program import Program
from tfport.runtime.trace import Tracer

Operands = list[Operand]
_ADDS = ("Add", "AddV2")


@dataclass
class Loop:
    """What a loop is made of, whichever TensorFlow it comes from."""

    name: str
    op: str
    initial: Operands
    condition: Callable[[Operands], Operand]
    body: Callable[[Operands], Operands]
    ranks: Sequence[int | None]
    """Of the variables, where the file tells them."""
    stackable: Sequence[bool]
    """Whether a list is only ever stacked behind the loop, so that its elements have one shape."""


@dataclass
class Body:
    """One walk through the body: its program answers the next condition, then all variables."""

    args: Operands
    program: Program

    @property
    def results(self) -> Operands:
        return self.program.results[1:]


def settled(tracer: Tracer, loop: Loop) -> tuple[set[int], list[Dims | None], Body]:
    """Which variables never change, the shapes of the others, and the body that was walked with them."""
    fixed: set[int] = set()
    shapes = [operand.shape for operand in loop.initial]
    while True:
        unsupported = len(tracer.unsupported)
        body = walked(tracer, loop, fixed, shapes)
        unchanged = {i for i, r in enumerate(body.results) if i not in fixed and r is body.args[i]}
        weaker = [
            s if i in fixed else _weaker(s, r.shape, loop.ranks[i])
            for i, (s, r) in enumerate(zip(shapes, body.results, strict=True))
        ]
        if not unchanged and weaker == shapes:
            return fixed, shapes, body
        fixed |= unchanged
        if not unchanged:  # what is bound from around tells more of shapes: first walk with that
            shapes = weaker
        del tracer.unsupported[unsupported:]


def _weaker(before: Dims | None, after: Dims | None, rank: int | None) -> Dims | None:
    """What is true of a variable in each turn; the rank at least, where the file tells it."""
    both = joined([before, after])
    if both is None and rank is not None and (before is None or len(before) == rank):
        return (None,) * rank if before is None or after is None else None
    return both


def walked(
    tracer: Tracer,
    loop: Loop,
    fixed: set[int],
    shapes: Sequence[Dims | None],
    turn: Operand | None = None,
    counters: Mapping[int, int] | None = None,
) -> Body:
    """A walk through the body; with the number of the turn, counters come from that, and nothing decides."""
    args = [
        start if i in fixed else Operand(start.dtype, shapes[i], name=loop.name)
        for i, start in enumerate(loop.initial)
    ]
    for arg, start in zip(args, loop.initial, strict=True):
        if arg is not start and (facts := tracer.lists.get(start)) is not None:
            tracer.lists[arg] = ListFacts(facts.element, facts.shape)

    def walk() -> Operands:
        for i, start in (counters or {}).items():
            if turn is not None:
                args[i] = counted(tracer, loop.name, start, turn, args[i].dtype, is_turn=True)
        results = loop.body(list(args))
        if len(results) != len(args):
            raise MalformedGraph(
                f"`{loop.name}` has {len(args)} variables, and its body answers {len(results)}"
            )
        if turn is not None:
            return [Operand(BOOL, value=np.array(True)), *results]
        return [truth(tracer, loop.name, loop.condition(list(results))), *results]

    return Body(args, tracer.program([arg for i, arg in enumerate(args) if i not in fixed], walk))


def counts_from(loop: Loop, body: Body, i: int) -> int | None:
    """Where a variable starts that grows by one in each turn."""
    start, arg, result = loop.initial[i].array, body.args[i], body.results[i]
    if start is None or start.ndim or start.dtype.kind not in "iu":
        return None
    for step in body.program.steps:
        if result in step.outputs:
            others = [o for o in step.inputs if o is not arg]
            one = others[0].array if len(others) == 1 else None
            counts = step.op in _ADDS and len(step.inputs) == 2 and one is not None and one.ndim == 0
            return int(start) if counts and one == 1 else None
    return None
