"""The parts of a loop, its body traced until variables and shapes no longer change, and what is known of it.

A variable that the body returns unchanged is captured instead of carried, so constants stay
constant inside the loop. Dimensions that differ between iterations become unknown. An integer that may be
a counter is supposed to be one: tracing a large body once more only to know it takes long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from tfport.errors import MalformedGraph
from tfport.graph.dtypes import BOOL
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.structure_steps import as_condition, common_shape, emit
from tfport.runtime.ops.control.traced_lists import counter_value
from tfport.runtime.program import OnnxNode, Program, Step, needed
from tfport.runtime.trace import Tracer
from tfport.runtime.value_facts import ListChange, ListFacts
from tfport.startup.dataclass import dataclass

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
    passed_on: AbstractSet[int] = frozenset()
    """Variables that the body returns as they are, as far as that is known before it is traced."""


@dataclass
class LoopBody:
    """A traced body: its program returns the next condition, then all variables."""

    args: Operands
    program: Program

    @property
    def results(self) -> Operands:
        return self.program.results[1:]


@dataclass(frozen=True)
class TracedLoop:
    """A loop whose body is traced."""

    loop: Loop
    first: Operand
    """Its condition before the first iteration."""
    fixed: set[int]
    """The indices of the variables that never change."""
    shapes: Sequence[Dims | None]
    """The shapes of all variables."""
    body: LoopBody

    @property
    def carried(self) -> list[int]:
        """The variables that change."""
        return [i for i in range(len(self.loop.initial)) if i not in self.fixed]


@dataclass
class TimeLoop:
    """What is known about a traced loop, as loop passes see it; integers are indices of its variables."""

    traced: TracedLoop
    name: str
    program: Program
    """One iteration."""
    args: Sequence[Operand]
    results: Sequence[Operand]
    initial: Sequence[Operand]
    changes: Mapping[int, ListChange]
    """The variables to which each iteration adds an element."""
    states: Sequence[int]
    """The variables that are carried and are not counters."""
    counters: Mapping[int, int]
    """The variables that grow by one, and their initial values."""
    outputs: Sequence[Operand]
    """What each iteration appends to lists."""

    @property
    def condition(self) -> Operand:
        """Whether there is another iteration."""
        return self.program.results[0]

    def varies(self, operand: Operand) -> bool:
        """Whether an operand changes between iterations."""
        return self.program.producer(operand) is not None or any(
            operand is arg and arg is not start for arg, start in zip(self.args, self.initial, strict=True)
        )


def time_loop(traced: TracedLoop, changes: Mapping[int, ListChange]) -> TimeLoop:
    """What is known about a loop, of which these variables gain elements."""
    loop, body, carried = traced.loop, traced.body, traced.carried
    counters = {i: start for i in carried if (start := counts_from(loop, body, i)) is not None}
    return TimeLoop(
        traced,
        loop.name,
        body.program,
        body.args,
        body.results,
        loop.initial,
        changes,
        [i for i in carried if i not in counters and i not in changes],
        counters,
        [change.item for change in changes.values()],
    )


def traced_loop(tracer: Tracer, loop: Loop, first: Operand) -> TracedLoop:
    """The loop with its body traced; `first` is its condition before the first iteration."""
    fixed = set(loop.passed_on)
    shapes = [operand.shape for operand in loop.initial]
    supposed = {i for i, operand in enumerate(loop.initial) if _may_count(operand)}
    while True:
        unsupported = len(tracer.unsupported)
        body = _trace_body(tracer, loop, fixed, shapes, supposed)
        others = {i for i in supposed if counts_from(loop, body, i) is None}
        wrong = {i for i in others if body.args[i] in tracer.relied_on}
        tracer.counters.difference_update(body.args[i] for i in others)
        unchanged = {i for i, r in enumerate(body.results) if i not in fixed and r is body.args[i]}
        common = [
            s if i in fixed else _common_to_all(s, r.shape, loop.ranks[i])
            for i, (s, r) in enumerate(zip(shapes, body.results, strict=True))
        ]
        if not unchanged and not wrong and common == shapes:
            return TracedLoop(loop, first, fixed, shapes, body)
        fixed |= unchanged
        supposed -= wrong
        if not unchanged:  # captured values may give more precise shapes: trace again with them first
            shapes = common
        del tracer.unsupported[unsupported:]


def _common_to_all(before: Dims | None, after: Dims | None, rank: int | None) -> Dims | None:
    """The shape of a variable in every iteration; at least the rank, if the model states it."""
    both = common_shape([before, after])
    if both is None and rank is not None and (before is None or len(before) == rank):
        return (None,) * rank if before is None or after is None else None
    return both


def _trace_body(
    tracer: Tracer,
    loop: Loop,
    fixed: set[int],
    shapes: Sequence[Dims | None],
    supposed: Collection[int] = (),
) -> LoopBody:
    """Trace the body; `supposed`: variables that are taken to be counters."""
    args = [
        start if i in fixed else Operand(start.dtype, shapes[i], name=loop.name)
        for i, start in enumerate(loop.initial)
    ]
    for arg, start in zip(args, loop.initial, strict=True):
        if arg is not start and (facts := tracer.lists.get(start)) is not None:
            tracer.lists[arg] = ListFacts(facts.element, facts.shape)
    for i in supposed:
        if i not in fixed and shapes[i] == ():
            args[i].known = (None,)
            tracer.counters.add(args[i])

    def trace() -> Operands:
        results = loop.body(list(args))
        if len(results) != len(args):
            raise MalformedGraph(
                f"loop `{loop.name}` has {len(args)} variables, but its body returns {len(results)}"
            )
        return [as_condition(tracer, loop.name, loop.condition(list(results))), *results]

    program = tracer.program([arg for i, arg in enumerate(args) if i not in fixed], trace)
    # TensorFlow draws for several iterations at once, in any order: its generator has no certain state
    program.steps = needed(program.steps, program.results, unread_draws=False)
    return LoopBody(args, program)


def numbered_body(
    tracer: Tracer, loop: Loop, body: LoopBody, iteration: Operand, counters: Mapping[int, int]
) -> LoopBody:
    """The body with counters that are computed from the number of the iteration; its condition is true."""
    steps: list[Step] = []
    for i, start in counters.items():
        steps += _counting_steps(tracer, loop.name, start, iteration, body.args[i])
    results = [Operand(BOOL, value=np.array(True)), *body.results]
    numbers = {body.args[i] for i in counters}
    args = [arg for arg in body.program.args if arg not in numbers]
    steps = needed([*steps, *body.program.steps], results, unread_draws=False)
    return LoopBody(body.args, Program(args, steps, results))


def _counting_steps(
    tracer: Tracer, name: str, start: int, iteration: Operand, counter: Operand
) -> list[Step]:
    """Steps that compute a counter from the number of the iteration."""

    def trace() -> Operands:
        return [counter_value(tracer, name, start, iteration, counter.dtype, is_iteration=True)]

    program = tracer.program([iteration], trace)
    (value,) = program.results
    nodes = [OnnxNode("Identity", (value,), (counter,), {})]
    return [*program.steps, Step(name, "Identity", (value,), (counter,), nodes, run=list)]


def falls(body: LoopBody, i: int) -> bool:
    """Whether a variable becomes smaller by one per iteration."""
    step = body.program.producer(body.results[i], "Sub", *_ADDS)
    if step is None or len(step.inputs) != 2:
        return False
    value, delta = step.inputs if step.inputs[0] is body.args[i] or step.op == "Sub" else step.inputs[::-1]
    change = 1 if step.op == "Sub" else -1
    return (
        value is body.args[i] and delta.array is not None and delta.rank == 0 and int(delta.array) == change
    )


def counts_from(loop: Loop, body: LoopBody, i: int) -> int | None:
    """The initial value of a variable that grows by one per iteration; None for any other."""
    start, arg, result = loop.initial[i].array, body.args[i], body.results[i]
    if start is None or not _is_count(loop.initial[i]):
        return None
    step = body.program.producer(result, *_ADDS)
    others = [o for o in step.inputs if o is not arg] if step is not None and len(step.inputs) == 2 else []
    delta = others[0].array if len(others) == 1 else None
    return int(start) if delta is not None and delta.ndim == 0 and delta == 1 else None


def _is_count(operand: Operand) -> bool:
    """Whether an operand is a constant integer."""
    return operand.array is not None and operand.array.ndim == 0 and operand.array.dtype.kind in "iu"


def _may_count(operand: Operand) -> bool:
    """Whether a variable with this initial value may be a counter that is never negative."""
    return _is_count(operand) and operand.array is not None and bool(operand.array >= 0)


def limits_of(loop: TimeLoop) -> list[Operand]:
    """The limits of counters that start at zero; none if the condition depends on anything else."""
    pending, limits = [loop.condition], list[Operand]()
    while pending:
        step = loop.program.producer(pending.pop())
        if step is None:
            return []
        if step.op == "LogicalAnd":
            pending += step.inputs
            continue
        if step.op == "Reshape" and step.inputs[0].rank == 0:  # of a condition in TensorFlow Lite
            pending.append(step.inputs[0])
            continue
        counter = next((i for i, r in enumerate(loop.results) if r is step.inputs[0]), None)
        if step.op != "Less" or counter is None or loop.counters.get(counter) != 0:
            return []
        if loop.varies(step.inputs[1]):
            return []
        if not any(same_number(step.inputs[1], other) for other in limits):
            limits.append(step.inputs[1])
    return limits


def smallest(tracer: Tracer, name: str, limits: list[Operand]) -> Operand:
    first, *others = limits
    for other in others:
        out = (first.dtype, ())
        first = emit(tracer, name, "Minimum", [first, other], np.minimum, out, lambda b, m, n: b.Min(m, n))
    return first


def same_number(a: Operand, b: Operand) -> bool:
    """Whether two scalars are always equal."""
    if a is b:
        return True
    return (
        a.array is not None
        and b.array is not None
        and a.array.size == b.array.size == 1
        and a.array == b.array
    )
