"""The loop in which boxes of `tf.image.non_max_suppression_padded` suppress each other, with less work.

A matrix of overlaps is above its threshold where a box (row) would suppress another (column). In each
iteration the boxes that no other would suppress suppress others, whose rows become zeros, until the sum of
the matrix falls by less than the threshold. TensorFlow computes the whole matrix in each iteration. Here
the matrix stays: the loop carries which rows are not zeros, and a product of a vector and the matrix of
zeros and ones tells the columns with an overlap above the threshold.

Overlaps that are not finite stay so as zeros, 0 * NaN. They are above the threshold in every iteration, and
the loop ends after the first, as the sum is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.graph.dtypes import BOOL, FLOAT32
from tfport.runtime.onnx.runtime_branch import runtime_branch
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.loop_body import Loop, Operands, TimeLoop, same_number
from tfport.runtime.ops.control.loops import trace_loop
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.passes.pass_list import loop_pass
from tfport.runtime.program import Step
from tfport.runtime.symbolic_values import SymbolicValues, size_of_axis
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass

MATRIX_RANK = 3


@loop_pass
def suppression_loops(tracer: Tracer, loop: TimeLoop) -> Operands | None:
    """A loop in which boxes suppress each other carries the rows of the boxes that are left."""
    suppression = _self_suppression(tracer, loop)
    return None if suppression is None else _suppressed(tracer, loop, suppression)


@dataclass(frozen=True)
class SelfSuppression:
    """A loop in which boxes suppress each other; integers are indices of its variables."""

    overlaps: int
    """The matrix of each image: (images, boxes, boxes)."""
    goes_on: int
    """Whether there is another iteration."""
    total: int
    """The sum of each matrix."""
    threshold: Operand


def _self_suppression(tracer: Tracer, loop: TimeLoop) -> SelfSuppression | None:
    """The suppression that a loop is, or None."""
    roles = _roles(loop)
    if roles is None:
        return None
    overlaps, goes_on, total = roles
    match = _Match(tracer, loop.program.producer, loop.args[overlaps])
    ended = match.step(loop.condition, "Any")
    less = match.step(ended.inputs[0], "Greater") if ended is not None else None
    if ended is None or less is None or not _reduces(ended, [0]):
        return None
    difference, threshold = match.step(less.inputs[0], "Sub"), less.inputs[1]
    is_positive = threshold.array is not None and threshold.array.size == 1 and bool(threshold.array > 0)
    if difference is None or not is_positive or difference.inputs[0] is not loop.args[total]:
        return None
    if difference.inputs[1] is not loop.results[total]:
        return None
    if not match.is_sum(loop.results[total], loop.results[overlaps]):
        return None
    kept = match.columns_below(loop.results[overlaps], threshold)
    free = match.columns_below(kept, threshold) if kept is not None else None
    if free is not loop.args[overlaps] or not _starts_with_sum(tracer, loop, overlaps, total, threshold):
        return None
    return SelfSuppression(overlaps, goes_on, total, threshold)


def _roles(loop: TimeLoop) -> tuple[int, int, int] | None:
    """The variables that may be the matrix, the condition and the sum."""
    by_rank = {loop.args[i].rank: i for i in loop.states if loop.args[i].dtype == FLOAT32}
    conditions = [i for i in loop.states if loop.args[i].dtype == BOOL and loop.results[i] is loop.condition]
    if len(loop.states) != MATRIX_RANK or set(by_rank) != {1, MATRIX_RANK} or len(conditions) != 1:
        return None
    shape = loop.args[by_rank[MATRIX_RANK]].shape
    if shape is None or shape[1] is None or shape[1] != shape[2] or loop.outputs:
        return None
    return by_rank[MATRIX_RANK], conditions[0], by_rank[1]


def _reduces(step: Step, axes: list[int]) -> bool:
    array = step.inputs[1].array
    return array is not None and array.reshape(-1).tolist() == axes and not step.attrs.get("keep_dims")


@dataclass(frozen=True)
class _Match:
    """Finds the parts of an iteration, from its results back to the matrix."""

    tracer: Tracer
    step: Callable[..., Step | None]
    """The step of one of some ops that computes an operand."""
    matrix: Operand

    def is_sum(self, total: Operand, matrix: Operand) -> bool:
        summed = self.step(total, "Sum")
        return summed is not None and summed.inputs[0] is matrix and _reduces(summed, [1, 2])

    def columns_below(self, product: Operand, threshold: Operand) -> Operand | None:
        """X, if a product is the matrix with zeros in row i where column i of X has a value above."""
        multiplied = self.step(product, "Mul")
        if multiplied is None or multiplied.inputs[1] is not self.matrix:
            return None
        factor, passed = multiplied.inputs[0], list[str]()
        while (part := self.step(factor, "Cast", "Reshape")) is not None:
            if part.op == "Reshape" and not self._is_column(part):
                return None
            passed.append(part.op)
            factor = part.inputs[0]
        below = self.step(factor, "Less")
        largest = self.step(below.inputs[0], "Max") if below is not None else None
        if below is None or largest is None or sorted(passed) != ["Cast", "Reshape"]:
            return None
        if not _reduces(largest, [1]):
            return None
        return largest.inputs[0] if same_number(below.inputs[1], threshold) else None

    def _is_column(self, reshape: Step) -> bool:
        """Whether rows (images, boxes) become columns (images, boxes, 1)."""
        sizes = SymbolicValues(self.tracer).of(reshape.inputs[1])
        if sizes is None or len(sizes) != MATRIX_RANK or reshape.inputs[0].rank != MATRIX_RANK - 1:
            return False
        assert self.matrix.shape is not None
        images = size_of_axis(self.tracer, self.matrix, 0)
        return bool(sizes[0] == images and sizes[1] in (-1, self.matrix.shape[1]) and sizes[2] == 1)


def _starts_with_sum(tracer: Tracer, loop: TimeLoop, overlaps: int, total: int, threshold: Operand) -> bool:
    """Whether the first sum is that of the first matrix, which has no negative infinity.

    The matrix must be a product with `… & (overlap >= threshold)`: 0 * infinity is NaN.
    """
    matrix, first = loop.initial[overlaps], loop.initial[total]
    summed, product = tracer.producer(first, "Sum"), tracer.producer(matrix, "Mul")
    if summed is None or summed.inputs[0] is not matrix or not _reduces(summed, [1, 2]) or product is None:
        return False
    overlap, factor = product.inputs
    cast = tracer.producer(factor, "Cast")
    both = tracer.producer(cast.inputs[0], "LogicalAnd") if cast is not None else None
    masks = [tracer.producer(operand, "GreaterEqual") for operand in both.inputs] if both is not None else []
    return any(
        mask is not None and mask.inputs[0] is overlap and same_number(mask.inputs[1], threshold)
        for mask in masks
    )


def _suppressed(tracer: Tracer, loop: TimeLoop, suppression: SelfSuppression) -> Operands:
    """The values of the loop variables after the loop, by another loop."""
    rows = SuppressingRows(tracer, loop.name, loop.initial[suppression.overlaps], suppression.threshold)
    counted, op = list(loop.counters), loop.traced.loop.op

    def body(variables: Operands) -> Operands:
        before, _, *counts = variables
        after = rows.next_rows(before)
        return [after, rows.goes_on(before, after), *(_plus_one(tracer, loop.name, n) for n in counts)]

    initial = [rows.all_rows(), loop.initial[suppression.goes_on], *(loop.initial[i] for i in counted)]
    nothing, never = [None] * len(initial), [False] * len(initial)
    left, goes_on, *ends = trace_loop(
        tracer, Loop(loop.name, op, initial, lambda variables: variables[1], body, nothing, never)
    )
    results = list(loop.initial)
    for i, end in zip(counted, ends, strict=True):
        results[i] = end
    results[suppression.overlaps] = rows.matrix_of(left)
    results[suppression.goes_on] = goes_on
    results[suppression.total] = rows.total_of(results[suppression.overlaps])
    return results


def _plus_one(tracer: Tracer, name: str, count: Operand) -> Operand:
    return emit(
        tracer, name, "AddV2", [count], lambda n: n + n.dtype.type(1), (count.dtype, ()),
        lambda b, n: b.Add(n, b.const(1, count.dtype)),
    )  # fmt: skip


class SuppressingRows:
    """The steps of the loop that carries which rows of the matrix are not zeros."""

    def __init__(self, tracer: Tracer, name: str, matrix: Operand, threshold: Operand) -> None:
        self.tracer, self.name, self.matrix, self.threshold = tracer, name, matrix, threshold
        assert matrix.shape is not None
        self.shape = matrix.shape[:2]
        self.above = self._emit(
            "Less", [matrix, threshold], lambda m, t: (~(m < t)).astype(np.float32), (FLOAT32, matrix.shape),
            lambda b, m, t: b.cast(b.Not(b.Less(m, t)), FLOAT32),
        )  # fmt: skip
        """1 where a value is not below the threshold."""
        self.sums = self._emit("Sum", [matrix], _finite_sums, (FLOAT32, self.shape), _say_finite_sums)
        """The sum of each row; NaN if it is not finite."""
        inputs = [matrix, self.sums]
        self.always = self._emit("Any", inputs, _infinite, (FLOAT32, self.shape), _say_infinite)
        """1 where a column has a value that is not finite."""

    def _emit(self, op: str, inputs: list[Operand], run: Any, out: Any, say: Any) -> Operand:
        return emit(self.tracer, self.name, op, inputs, run, out, say)

    def all_rows(self) -> Operand:
        """1 for each row."""
        return self._emit(
            "OnesLike", [self.sums], np.ones_like, (FLOAT32, self.shape),
            lambda b, s: b.Expand(b.const(1, FLOAT32), b.Shape(s)),
        )  # fmt: skip

    def next_rows(self, rows: Operand) -> Operand:
        """The rows that are not zeros after an iteration."""
        inputs = [rows, self.above, self.always]
        return self._emit("MatMul", inputs, _kept, (FLOAT32, self.shape), _say_kept)

    def goes_on(self, before: Operand, after: Operand) -> Operand:
        """Whether a sum fell by more than the threshold."""
        inputs = [before, after, self.sums, self.threshold]
        return self._emit("Any", inputs, _falls, (BOOL, ()), _say_falls)

    def matrix_of(self, rows: Operand) -> Operand:
        """The matrix without the other rows."""
        return self._emit(
            "Mul", [rows, self.matrix], lambda r, m: r[..., np.newaxis] * m, (FLOAT32, self.matrix.shape),
            lambda b, r, m: b.Mul(b.unsqueeze(r, 2), m),
        )  # fmt: skip

    def total_of(self, matrix: Operand) -> Operand:
        return self._emit(
            "Sum", [matrix], lambda m: m.sum((1, 2)), (FLOAT32, self.shape[:1]),
            lambda b, m: b.ReduceSum(m, b.ints(1, 2), keepdims=0),
        )  # fmt: skip


def _finite_sums(matrix: Any) -> Any:
    sums = matrix.sum(2)
    return sums + (sums - sums)


def _say_finite_sums(b: Any, matrix: Operand) -> Any:
    sums = b.ReduceSum(matrix, b.ints(2), keepdims=0)
    return b.Add(sums, b.Sub(sums, sums))


def _infinite(matrix: Any, sums: Any) -> Any:
    if np.isfinite(sums).all():
        return np.zeros_like(sums)
    return (~np.isfinite(matrix)).any(1).astype(np.float32)


def _say_infinite(b: Any, matrix: Operand, sums: Operand) -> Any:
    def columns(b: Any) -> Any:
        differences = b.Sub(matrix, matrix)
        return b.cast(b.IsNaN(b.ReduceSum(differences, b.ints(1), keepdims=0)), FLOAT32)

    any_sum = b.IsNaN(b.ReduceSum(sums, keepdims=0))
    return runtime_branch(b, any_sum, columns, lambda b: b.Sub(sums, sums))


def _kept(rows: Any, above: Any, always: Any) -> Any:
    suppressed = (rows[:, np.newaxis] @ above)[:, 0] + always
    free = rows * (suppressed == 0)
    hit = (free[:, np.newaxis] @ above)[:, 0] + always
    return rows * (hit == 0)


def _say_kept(b: Any, rows: Operand, above: Operand, always: Operand) -> Any:
    def without(rows: Operand, by: Operand) -> Any:
        """The rows whose columns have no value above the threshold in the rows `by`."""
        count = b.squeeze(b.MatMul(b.unsqueeze(by, 1), above), 1)
        below = b.Equal(b.Add(count, always), b.const(0, FLOAT32))
        return b.Mul(rows, b.cast(below, FLOAT32))

    return without(rows, without(rows, rows))


def _falls(before: Any, after: Any, sums: Any, threshold: Any) -> Any:
    return (((before - after) * sums).sum(1) > threshold).any()


def _say_falls(b: Any, before: Operand, after: Operand, sums: Operand, threshold: Operand) -> Any:
    change = b.ReduceSum(b.Mul(b.Sub(before, after), sums), b.ints(1), keepdims=0)
    falls = b.cast(b.Greater(change, threshold), FLOAT32)
    return b.Greater(b.ReduceSum(falls, keepdims=0), b.const(0, FLOAT32))
