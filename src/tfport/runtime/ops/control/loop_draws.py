"""Random draws in a loop of a known number of iterations, made for all of them before it.

ONNX has no op that draws TensorFlow's numbers, so that a loop with a draw would run on the host. A draw
whose shape is the same in each iteration can be made before the loop: each node has a generator of its own,
and the rows are the numbers that it would draw in one iteration after another. The loop reads its row.

`LoopSizes` goes back from an axis inside the body to where its size comes from. A loop variable has the
size of its initial value if the body returns that size. Where two sizes must be equal for this, the pair is
recorded in `equal`: whoever runs the loop compares them first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.lower import Context
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.traced_lists import row_at
from tfport.runtime.ops.random.draw_rows import DRAWS as ROW_DRAWS
from tfport.runtime.ops.random.draw_rows import RowDraw, draw_rows
from tfport.runtime.program import DRAWS, Program, Step, needed
from tfport.runtime.size_expression import SizeExpression
from tfport.runtime.symbolic_values import SymbolicValues
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
    def dtype(self) -> Any:
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
            iterations * prod(shape) * draw.dtype.itemsize
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
    draws = [step for step in body.steps if step.op in ROW_DRAWS and step.lowered is None]
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


Axis = tuple[Operand, int]
Size = int | Axis
"""A known size, or that of an axis of an operand outside the loop."""
_MAX_DEPTH = 100
_SAME_SHAPE: Mapping[str, int] = {
    "BiasAdd": 0, "LeakyRelu": 0, "Rsqrt": 0, "Select": 1, "Sqrt": 0, "Square": 0,
}  # fmt: skip
"""Ops whose output has the shape of this input."""
_BROADCAST = frozenset(
    ("Add", "AddV2", "Div", "Greater", "GreaterEqual", "Less", "LessEqual", "Maximum", "Minimum", "Mul",
     "RealDiv", "SelectV2", "SquaredDifference", "Sub")
)  # fmt: skip


class LoopSizes:
    """The sizes in the body of one loop; `starts` are the initial values of its last arguments."""

    def __init__(self, tracer: Tracer, body: Program, starts: Sequence[Operand]) -> None:
        self._tracer = tracer
        self._values = SymbolicValues(tracer)
        self._body = body
        variables = body.args[len(body.args) - len(starts) :]
        self._args = set(body.args)
        self._starts = dict(zip(variables, starts, strict=True))
        self._results = dict(zip(variables, body.results[1:], strict=False))
        self._assumed: dict[Axis, None] = {}
        """The axes of loop variables that have their initial size."""
        self.equal: list[tuple[Size, Size]] = []

    def elements(self, shape: Operand) -> list[Size] | None:
        """The elements of a shape; None where one may differ between iterations."""
        sizes = self._elements(shape, 0)
        return sizes if sizes is not None and self._is_proven() else None

    def _is_proven(self) -> bool:
        """Whether the body returns the sizes that were assumed for its arguments."""
        checked = 0
        while checked < len(self._assumed):
            arg, axis = list(self._assumed)[checked]
            before = self._size(self._starts[arg], axis, 0)
            after = self._size(self._results[arg], axis, 0)
            if before is None or after is None:
                return False
            self._require_equal(after, before)
            checked += 1
        return True

    def _elements(self, shape: Operand, depth: int) -> list[Size] | None:
        values = self._values.of(shape) if shape.rank == 1 else None
        if values is None:
            return None
        sizes = [self._of_number(number, depth) for number in values.tolist()]
        known = [size for size in sizes if size is not None]
        return known if len(known) == len(sizes) else None

    def _of_number(self, number: int | SizeExpression, depth: int) -> Size | None:
        if isinstance(number, int):
            return number
        terms = list(number.terms)
        match terms, number.constant:
            case [((Operand() as operand, int() as axis), 1)], 0:
                return self._size(operand, axis, depth)
        return None

    def _size(self, operand: Operand, axis: int, depth: int) -> Size | None:
        if operand.shape is None or depth > _MAX_DEPTH:
            return None
        size = operand.shape[axis]
        if size is not None:
            return size
        operand = self._tracer.facts.shape_source(operand)
        if operand in self._starts:
            self._assumed[operand, axis] = None
            return self._size(self._starts[operand], axis, depth + 1)
        step = self._body.producer(operand)
        if step is not None:
            return self._output_size(step, operand, axis, depth + 1)
        return None if operand in self._args else (operand, axis)

    def _output_size(self, step: Step, output: Operand, axis: int, depth: int) -> Size | None:
        inputs = step.inputs
        assert output.shape is not None
        if step.op in _SAME_SHAPE:
            return self._size(inputs[_SAME_SHAPE[step.op]], axis, depth)
        if step.op in _BROADCAST:
            return self._broadcast_size(step, axis - len(output.shape), depth)
        if step.op in DRAWS:
            sizes = self._elements(inputs[0], depth)
            return sizes[axis] if sizes is not None else None
        match step.op:
            case "MatMul" if not (step.attrs.get("transpose_a") or step.attrs.get("transpose_b")):
                return self._size(inputs[axis], axis, depth)
            case "TensorListGetItem" if inputs[0].rank == len(output.shape) + 1:
                return self._size(inputs[0], axis + 1, depth)
            case "ConcatV2" if _is_other_axis(inputs[-1], axis, len(output.shape)):
                return self._size(inputs[0], axis, depth)
            case "Split" if _is_other_axis(inputs[0], axis, len(output.shape)):
                return self._size(inputs[1], axis, depth)
        return None

    def _broadcast_size(self, step: Step, axis: int, depth: int) -> Size | None:
        """The size of an axis, counted from the end, if all inputs that are not 1 there have the same."""
        sizes: list[Size] = []
        for operand in step.inputs:
            if operand.rank is None:
                return None
            size = self._size(operand, operand.rank + axis, depth) if -axis <= operand.rank else 1
            if size is None:
                return None
            if size != 1:
                sizes.append(size)
        for size in sizes[1:]:
            self._require_equal(size, sizes[0])
        return sizes[0] if sizes else 1

    def _require_equal(self, size: Size, other: Size) -> None:
        if size != other and (size, other) not in self.equal:
            self.equal.append((size, other))


def _is_other_axis(axis: Operand, other: int, rank: int) -> bool:
    return axis.array is not None and int(axis.array) % rank != other
