"""Random draws in a loop of a known number of iterations, made for all of them before it.

ONNX has no op that draws TensorFlow's numbers, so that a loop with a draw would run on the host. A draw
whose shape is the same in each iteration can be made before the loop: each node has a generator of its own,
and the rows are the numbers that it would draw in one iteration after another. The loop reads its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.lower import Context
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.loop_sizes import LoopSizes, Size
from tfport.runtime.ops.control.traced_lists import row_at
from tfport.runtime.ops.random.draw_rows import DRAWS, RowDraw, draw_rows
from tfport.runtime.program import Program, Step, needed
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass

MAX_BYTES = 16 << 20
"""Draws of more bytes than this are made in each iteration."""


@dataclass(frozen=True)
class Draw:
    """A draw of one node: its shape in each iteration."""

    context: Context
    seeds: tuple[int, int]
    sizes: list[Size]

    @property
    def kind(self) -> Any:
        return self.context.outputs[0].numpy


@dataclass(frozen=True)
class LoopDraws:
    """A loop body without its draws, and how to make them."""

    body: Program
    rows: list[Operand]
    """What the body reads instead, one row in each iteration."""
    draws: list[Draw]
    equal: list[tuple[Size, Size]]
    """Sizes that must be equal, or else shapes may differ between iterations."""

    @property
    def sources(self) -> list[Operand]:
        """The operands outside the loop whose sizes are needed."""
        sizes = [size for draw in self.draws for size in draw.sizes]
        sizes += [size for pair in self.equal for size in pair]
        return list(dict.fromkeys(size[0] for size in sizes if not isinstance(size, int)))

    def drawn(self, iterations: int, sources: Sequence[Any]) -> list[Any] | None:
        """The rows of all draws; None where they have to be made in each iteration."""
        arrays = dict(zip(self.sources, sources, strict=True))

        def number(size: Size) -> int:
            return size if isinstance(size, int) else int(arrays[size[0]].shape[size[1]])

        if iterations <= 0 or any(number(a) != number(b) for a, b in self.equal):
            return None
        shapes = [tuple(map(number, draw.sizes)) for draw in self.draws]
        needs = sum(
            iterations * prod(shape) * draw.kind.itemsize
            for shape, draw in zip(shapes, self.draws, strict=True)
        )
        scope = current_scope()
        if needs > MAX_BYTES or (scope is not None and 0 < scope.max_bytes < scope.in_use + needs):
            return None
        together = zip(self.draws, shapes, strict=True)
        return draw_rows([RowDraw(draw.context, draw.seeds, shape) for draw, shape in together], iterations)


def loop_draws(tracer: Tracer, name: str, body: Program, starts: Sequence[Operand]) -> LoopDraws | None:
    """The body of a loop without its draws; None if it has none, or cannot be lowered without them.

    The first argument of the body is the number of the iteration; `starts` are the initial values of the
    loop variables, its last arguments.
    """
    draws = [step for step in body.steps if step.op in DRAWS and step.lowered is None]
    others = [step for step in body.steps if step not in draws]
    if not draws or any(step.effect or step.lowered is None for step in others):
        return None
    sizes = LoopSizes(tracer, body, starts)
    shapes = [shape for step in draws if (shape := sizes.elements(step.inputs[0])) is not None]
    if len(shapes) < len(draws):
        return None
    outputs = [step.outputs[0] for step in draws]
    rows = [Operand(o.dtype, (None, *(o.shape or ())), name=o.name) for o in outputs]
    if any(o.rank != len(shape) for o, shape in zip(outputs, shapes, strict=True)):
        return None
    reads = [_row(tracer, name, body.args[0], row, o) for row, o in zip(rows, outputs, strict=True)]
    steps = needed([*reads, *others], body.results)
    program = Program(body.args, steps, body.results)
    if not program.is_lowered:
        return None
    return LoopDraws(
        program,
        rows,
        [_draw(tracer, step, shape) for step, shape in zip(draws, shapes, strict=True)],
        sizes.equal,
    )


def _row(tracer: Tracer, name: str, iteration: Operand, rows: Operand, output: Operand) -> Step:
    """The step that reads the row of an iteration in place of a draw."""
    tracer.counters.add(iteration)
    (read,) = tracer.program([], lambda: [row_at(tracer, name, rows, iteration)]).steps
    for node in read.lowered or ():
        node.outputs = tuple(output if o is read.outputs[0] else o for o in node.outputs)
    read.outputs = (output,)
    return read


def _draw(tracer: Tracer, step: Step, sizes: list[Size]) -> Draw:
    context = Context(tracer.state, step.name, step.op, (step.outputs[0].dtype,), step.calls)
    return Draw(context, (int(step.attrs["seed"]), int(step.attrs["seed2"])), sizes)
