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

from collections.abc import Mapping

from tfport.graph.dtypes import BOOL, FLOAT32
from tfport.runtime.layers.time_loop import TimeLoop, same_number
from tfport.runtime.operand import Operand
from tfport.runtime.program import Step
from tfport.runtime.symbolic_values import SymbolicValues, size_of_axis
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass

MATRIX_RANK = 3


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


def self_suppression(tracer: Tracer, loop: TimeLoop) -> SelfSuppression | None:
    """The suppression that a loop is, or None."""
    roles = _roles(loop)
    if roles is None:
        return None
    overlaps, goes_on, total = roles
    match = _Match(tracer, loop, loop.args[overlaps])
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
    loop: TimeLoop
    matrix: Operand

    @property
    def producers(self) -> Mapping[Operand, Step]:
        return {output: step for step in self.loop.steps for output in step.outputs}

    def step(self, operand: Operand, op: str) -> Step | None:
        made = self.producers.get(operand)
        return made if made is not None and made.op == op else None

    def is_sum(self, total: Operand, matrix: Operand) -> bool:
        made = self.step(total, "Sum")
        return made is not None and made.inputs[0] is matrix and _reduces(made, [1, 2])

    def columns_below(self, product: Operand, threshold: Operand) -> Operand | None:
        """X, if a product is the matrix with zeros in row i where column i of X has a value above."""
        made = self.step(product, "Mul")
        if made is None or made.inputs[1] is not self.matrix:
            return None
        factor, passed = made.inputs[0], list[str]()
        while (part := self.producers.get(factor)) is not None and part.op in ("Cast", "Reshape"):
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
    made, product = (tracer.traced.get(operand) for operand in (first, matrix))
    if made is None or made.step.op != "Sum" or made.step.inputs[0] is not matrix:
        return False
    if not _reduces(made.step, [1, 2]) or product is None or product.step.op != "Mul":
        return False
    overlap, factor = product.step.inputs
    cast = tracer.traced.get(factor)
    both = tracer.traced.get(cast.step.inputs[0]) if cast is not None and cast.step.op == "Cast" else None
    if both is None or both.step.op != "LogicalAnd":
        return False
    masks = [traced.step for o in both.step.inputs if (traced := tracer.traced.get(o)) is not None]
    return any(
        mask.op == "GreaterEqual" and mask.inputs[0] is overlap and same_number(mask.inputs[1], threshold)
        for mask in masks
    )
