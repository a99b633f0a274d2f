"""Cut islands that are too large: the optimizers of ONNX Runtime take more than linear time for a session.

An island is cut where the fewest values cross, so that few are copied between its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from tfport.runtime.operand import Operand
from tfport.runtime.program import Step

LARGEST_ISLAND = 4000
"""The most ONNX nodes of an island. Measured with 20,000 nodes; usual models have fewer than this."""


def cut_island(
    steps: Sequence[Step],
    reads_of: Callable[[Step], Sequence[Operand]],
    results: Sequence[Operand],
    largest: int = LARGEST_ISLAND,
) -> list[list[Step]]:
    """The steps of an island in parts of at most `largest` nodes, in order; a step is never cut."""
    sizes = [len(step.lowered or ()) for step in steps]
    if sum(sizes) <= largest:
        return [list(steps)]
    crossing = _crossing(steps, reads_of, results)
    parts: list[list[Step]] = []
    start = 0
    while start < len(steps):
        end = _end(sizes, crossing, start, largest)
        parts.append(list(steps[start:end]))
        start = end
    return parts


def _end(sizes: Sequence[int], crossing: Sequence[int], start: int, largest: int) -> int:
    """Where to end the part that begins at `start`: the best place in the second half of what fits."""
    ends = list(accumulate(sizes[start:]))
    if ends[-1] <= largest:
        return len(sizes)
    fitting = [index for index, nodes in enumerate(ends, start + 1) if largest // 2 <= nodes <= largest]
    return min(reversed(fitting), key=crossing.__getitem__, default=start + 1)


def _crossing(
    steps: Sequence[Step], reads_of: Callable[[Step], Sequence[Operand]], results: Sequence[Operand]
) -> list[int]:
    """How many values that are computed before each place are read after it."""
    computed: dict[Operand, int] = {}
    last: dict[Operand, int] = {}
    for index, step in enumerate(steps):
        for operand in reads_of(step):
            if operand in computed:
                last[operand] = index
        outputs = [*step.outputs, *(o for node in step.lowered or () for o in node.outputs)]
        computed.update((operand, index) for operand in outputs if operand not in computed)
    last.update((operand, len(steps)) for operand in results if operand in computed)
    changes = [0] * (len(steps) + 2)
    for operand, index in last.items():
        changes[computed[operand] + 1] += 1
        changes[index + 1] -= 1
    return list(accumulate(changes))
