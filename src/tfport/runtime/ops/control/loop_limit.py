"""A limit on the iterations of a loop, as a step of its body: it fails in the first iteration too many.

ONNX has no op that fails on purpose. An index that is out of range does, and the name of the node says
what it means (`bounds.loop_limit_name`). Other engines do not fail: such loops run on the host there.
"""

from __future__ import annotations

from typing import Any

from tfport.errors import ResourceExhausted
from tfport.graph.dtypes import BOOL, INT64
from tfport.runtime.bounds.loop_limit_name import limit_message, limit_name
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.trace import Tracer


def limited(tracer: Tracer, loop: str, iteration: Operand, condition: Operand) -> Operand:
    """The condition of the next iteration; an error if this one is not allowed any more."""
    most = tracer.limits.max_loop_iterations

    def run(number: Any, condition: Any) -> Any:
        if number >= most:
            raise ResourceExhausted(limit_message(loop, most))
        return condition

    def lower(b: Any, number: Operand, condition: Operand) -> Operand:
        too_many = b.cast(b.GreaterOrEqual(number, b.const(most, INT64)), INT64)
        allowed = b.Gather(b.const([True], BOOL), too_many)
        result: Operand = b.And(condition, allowed)
        return result

    return emit(
        tracer,
        limit_name(loop, most),
        "LoopLimit",
        [iteration, condition],
        run,
        (BOOL, ()),
        lower if getattr(tracer.engine, "checks_indices", False) else None,
    )
