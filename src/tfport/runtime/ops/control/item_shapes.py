"""The shape of the elements that are set in a list, from the ops that set them.

A list on the host may state no shape for its elements. What is written to it while planning still tells
their rank, so that what follows a read, a gather or a concatenation can run in the engine.
"""

from __future__ import annotations

from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.structure_steps import common_shape
from tfport.runtime.ops.control.tensor_list import is_compatible, merged
from tfport.runtime.trace import Tracer


def item_shape(tracer: Tracer, flow: Operand, stated: Dims | None = None) -> Dims | None:
    """The shape of all elements that are set, as far as it is known, with a shape that the model states."""
    shape = _common(_shapes_set(tracer, flow))
    return merged(stated, shape) if is_compatible(stated, shape) else stated


def item_shape_after_loop(tracer: Tracer, initial: Operand, arg: Operand, result: Operand) -> Dims | None:
    """The same after a loop: of the elements set before it, and of those that an iteration sets."""
    return _common([*_shapes_set(tracer, initial), *_shapes_set(tracer, result, since=arg)])


def _shapes_set(tracer: Tracer, flow: Operand, since: Operand | None = None) -> list[Dims | None]:
    """A shape per op that sets elements, back to a list `since` or to the list without elements."""
    shapes: list[Dims | None] = []
    while flow is not since:
        facts = tracer.lists.get(flow)
        if facts is None:
            return [None]
        if facts.head is not None:
            return [*shapes, *(item.shape for item in facts.head)]
        if facts.change is None:
            return [*shapes, facts.items]
        shapes.append(facts.change.item.shape)
        flow = facts.change.base
    return shapes


def _common(shapes: list[Dims | None]) -> Dims | None:
    return common_shape(shapes) if shapes else None
