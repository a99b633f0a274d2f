"""Fewer islands: what host steps wait for is computed on the host if it is little, and the rest later.

What an island computes for a host step is often only an index or a reshaped view, beside layers that host
steps do not need. With the index on the host, the layers can be part of the island that reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from tfport.runtime.effect_order import keeps_order
from tfport.runtime.operand import Operand
from tfport.runtime.program import Step, values_of

MAX_SIZE_STEPS = 32
"""An island of at most this many steps that compute sizes and indices runs on the host: calling the engine
takes as long as about twenty of them."""
_SIZES = frozenset(("int32", "int64", "bool"))
_VIEWS = frozenset(("ExpandDims", "Identity", "Rank", "Reshape", "Shape", "Size", "Squeeze", "StridedSlice"))
"""Ops that take the host the same time for any number of elements."""
_COPIES = frozenset(("ConcatV2", "Gather", "GatherV2", "Pack", "Pad", "Slice"))
"""Ops that copy elements, which NumPy does as fast as the engine."""
StepGroup = tuple[int, Any, list[Step]]
"""How many changes between host and engines come before some steps, the engine of their island (None: the
host), and they."""
Reads = Callable[[Step], Sequence[Operand]]


def early_parts(steps: Sequence[Step], reads: Reads, host_reads: Collection[Operand]) -> Iterable[Step]:
    """The steps of an island that should run on the host, as host steps read what they compute.

    `reads`: what a step reads in the island; `host_reads`: all that host steps read.
    """
    for part in _connected(steps, reads):
        if _are_read(part, host_reads) and is_cheap(part):
            yield from part


def joined_islands(
    groups: Sequence[StepGroup], read_outside: Callable[[Any], Collection[Operand]]
) -> list[StepGroup]:
    """The groups in order, with islands that only their engine reads as part of its next island.

    `read_outside`: what is read by host steps and by other engines than this one.
    """
    joined: list[StepGroup] = []
    waiting: dict[Any, list[Step]] = {}
    last = {engine: i for i, (_, engine, _) in enumerate(groups)}
    outside = {engine: read_outside(engine) for engine in last if engine is not None}
    for i, (level, engine, steps) in enumerate(groups):
        if engine is None:
            joined.append((level, None, steps))
        elif i < last[engine] and not any(map(keeps_order, steps)) and not _are_read(steps, outside[engine]):
            waiting.setdefault(engine, []).extend(steps)
        else:
            joined.append((level, engine, [*waiting.pop(engine, ()), *steps]))
    return joined


def is_cheap(steps: Sequence[Step]) -> bool:
    """Whether the host computes steps in less time than a call of the engine takes."""
    return _are_all(_VIEWS, steps)


def only_copies(steps: Sequence[Step]) -> bool:
    """Whether steps compute only sizes or copy elements."""
    return _are_all(_VIEWS | _COPIES, steps)


def _are_all(ops: Collection[str], steps: Sequence[Step]) -> bool:
    """Whether steps are few, and have one of the ops or compute sizes."""
    return len(steps) <= MAX_SIZE_STEPS and all(
        step.run is not None and not step.programs and (step.op in ops or _computes_sizes(step))
        for step in steps
    )


def _computes_sizes(step: Step) -> bool:
    """Whether a step computes with sizes and indices only, which are few."""
    return all(
        operand.rank == 0 or (operand.dtype.name in _SIZES and operand.rank in (1, 2))
        for operand in (*step.inputs, *step.outputs)
    )


def _connected(steps: Sequence[Step], reads: Reads) -> Iterable[list[Step]]:
    """The steps in parts that read nothing of each other."""
    above = list(range(len(steps)))
    """An earlier step of the same part, or the step itself."""

    def first(at: int) -> int:
        while above[at] != at:
            above[at] = at = above[above[at]]
        return at

    maker: dict[Operand, int] = {}
    for at, step in enumerate(steps):
        for before in (maker[o] for o in reads(step) if o in maker):
            above[max(first(before), first(at))] = min(first(before), first(at))
        maker.update(dict.fromkeys(values_of(step, lowered=True), at))
    parts: dict[int, list[Step]] = {}
    for at, step in enumerate(steps):
        parts.setdefault(first(at), []).append(step)
    return parts.values()


def _are_read(steps: Sequence[Step], reads: Collection[Operand]) -> bool:
    return any(o in reads for step in steps for o in values_of(step, lowered=True))
