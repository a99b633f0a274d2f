"""One of two computations, chosen by the engine: a lowering cannot know which of two ways is faster."""

from __future__ import annotations

from collections.abc import Callable

from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.program import Program, Step

Make = Callable[[Builder], Operand]


def runtime_branch(
    b: Builder, condition: Operand, make_then: Make, make_else: Make, make_general: Make | None = None
) -> Operand:
    """What `make_then` or `make_else` computes with a builder of its own; it must make a node.

    `make_general` computes the same without a condition, for a GPU: to branch, it would have to wait.
    """
    (then_branch, _), (else_branch, result) = (_branch(b, make) for make in (make_then, make_else))
    (chosen,) = b.nodes(
        "If",
        condition,
        dtype=result.dtype,
        shape=result.shape,
        then_branch=then_branch,
        else_branch=else_branch,
    )
    if make_general is not None:
        b.added[-1].general, _ = _branch(b, make_general)
    return chosen


def _branch(b: Builder, make: Make) -> tuple[Program, Operand]:
    inner = Builder(b.name)
    result = make(inner)
    return Program([], [Step(b.name, "If", (), (result,), inner.added)], [result]), result
