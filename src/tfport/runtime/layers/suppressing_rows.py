"""The loop in which boxes suppress each other, by a vector of rows: see `self_suppression`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.graph.dtypes import BOOL, FLOAT32
from tfport.runtime.onnx.runtime_branch import runtime_branch
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.trace import Tracer


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
