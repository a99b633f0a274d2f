"""Find the steps that make a sparse matrix of a dense one, and replace them by one step.

A column of `tf.feature_column` takes the elements that are not padding (`NotEqual`, `Where`, `GatherNd`),
reshapes the sparse matrix to the shape that it has, and replaces ids that are out of range. These are up to
fifteen ops for each column, of a few elements each. They are only joined where the indices of the elements
are read by an op that runs on the host.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.runtime.engines.engine import Engine
from tfport.runtime.host_loop import original_steps
from tfport.runtime.operand import Operand
from tfport.runtime.ops.strings.byte_strings import MANY, differ
from tfport.runtime.passes.pass_list import program_pass
from tfport.runtime.program import NeverLowered, Program, Run, Step
from tfport.startup.dataclass import dataclass, field

SPARSE_COLUMN = "SparseColumn"
_TYPES = frozenset(("string", "int32", "int64"))
_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_MOST = (1 << 31) - 1
FEW = 16
"""Up to this many elements are compared one by one: NumPy's calls take longer."""


@dataclass(eq=False)
class _Column:
    """What is computed of a dense matrix."""

    dense: Operand
    padding: Operand
    steps: list[Step]
    """The steps that it replaces, and those that they need."""
    indices: list[Operand] = field(default_factory=list)
    values: list[Operand] = field(default_factory=list)
    shapes: list[Operand] = field(default_factory=list)
    valid: list[tuple[Operand, _Range]] = field(default_factory=list)
    """Values of which those out of a range are replaced."""

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (*self.indices, *self.values, *self.shapes, *(operand for operand, _ in self.valid))


@dataclass(frozen=True)
class _Range:
    """From `first` to before `end`; other values become `default`."""

    first: int
    end: int
    default: int

    def applied(self, values: Any) -> Any:
        if len(values) > FEW:
            return np.where((values < self.first) | (values >= self.end), self.default, values)
        numbers = values.tolist()
        if not numbers or (self.first <= min(numbers) and max(numbers) < self.end):
            return values
        return np.array([n if self.first <= n < self.end else self.default for n in numbers], values.dtype)


@program_pass
def sparse_columns(program: Program, engine: Engine) -> None:
    """A dense matrix becomes a sparse one in one step."""
    if not any(step.op == "Where" for step in program.steps):
        return
    columns = list(_Finder(program).columns())
    if not columns:
        return
    computed = {output for column in columns for output in column.outputs}
    begun: dict[Step, list[Step]] = {}
    for column in columns:
        begun.setdefault(column.steps[0], []).append(_joined(column))
    program.replace(
        {
            step: [*begun.get(step, ()), *(() if computed.intersection(step.outputs) else (step,))]
            for step in program.steps
        }
    )


def _joined(column: _Column) -> Step:
    where = next(step for step in column.steps if step.op == "Where")
    inputs = (column.dense,)
    run = _run(column, original_steps(column.steps, inputs, column.outputs))
    return Step(where.name, SPARSE_COLUMN, inputs, column.outputs, run=run, why=NeverLowered.SPARSE)


def _run(column: _Column, original: Run) -> Run:
    assert column.padding.array is not None
    padding = column.padding.array[()]
    index_count, values, shapes = (len(part) for part in (column.indices, column.values, column.shapes))
    ranges = [limits for _, limits in column.valid]

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        (dense,) = inputs
        if dense.ndim != 2 or not 0 < dense.size <= _MOST:
            return original(inputs)
        taken, indices = elements_of(dense, padding)
        valid = [limits.applied(taken) for limits in ranges]
        shape = np.array(dense.shape) if shapes else None
        return [*[indices] * index_count, *[taken] * values, *[shape] * shapes, *valid]

    return run


def elements_of(dense: Any, padding: Any) -> tuple[Any, Any]:
    """The elements other than padding, and their rows and columns."""
    if dense.size <= FEW:
        if padding not in (flat := dense.reshape(-1)).tolist():
            return flat, all_indices(*dense.shape)
        kept = [
            (value, row, column)
            for row, values in enumerate(dense.tolist())
            for column, value in enumerate(values)
            if value != padding
        ]
        taken = np.empty(len(kept), dense.dtype)
        taken[:] = [value for value, _, _ in kept]
        return taken, np.array([cell for _, *cell in kept], np.int64).reshape(-1, 2)
    flat = np.ascontiguousarray(dense).reshape(-1)
    marked = differ(flat, padding) if dense.dtype.kind == "O" and len(flat) > MANY else flat != padding
    at = np.flatnonzero(marked)
    indices = np.empty((len(at), 2), np.int64)
    np.divmod(at, dense.shape[1], out=(indices[:, 0], indices[:, 1]))
    return flat.take(at), indices


@functools.lru_cache(64)
def all_indices(rows: int, columns: int) -> Any:
    """The row and column of each element of a small matrix; nothing may change the array."""
    indices = np.array([(row, column) for row in range(rows) for column in range(columns)], np.int64)
    indices.flags.writeable = False
    return indices


class _Finder:
    """Finds columns, forwards from the steps that compare with padding."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._producer = program.producer

    def columns(self) -> Iterator[_Column]:
        for test in self.program.steps:
            if test.op != "NotEqual" or not _compares_with_padding(test):
                continue
            where = [step for step in self.program.readers(test.outputs[0]) if step.op == "Where"]
            if len(where) == 1 and (column := self._column(test, where[0])) is not None:
                yield column

    def _column(self, test: Step, where: Step) -> _Column | None:
        dense, padding = test.inputs
        (indices,) = where.outputs
        column = _Column(dense, padding, [], [indices])
        readers = self.program.readers(indices)
        for step in readers:
            if step.op == "GatherNd" and step.inputs[0] is dense:
                column.values.append(step.outputs[0])
                self._add_valid(column, step.outputs[0])
            elif step.op == "SparseReshape" and self._keeps_shape(step, indices, dense):
                column.indices.append(step.outputs[0])
                column.shapes.append(step.outputs[1])
        column.steps = self._needed(column)
        on_host = any(step.lowered is None for step in readers)
        runs = all(step.run is not None and not step.effect for step in column.steps)
        return column if on_host and runs else None

    def _add_valid(self, column: _Column, values: Operand) -> None:
        for select in self.program.readers(values):
            limits = self._range(select, values) if select.op == "SelectV2" else None
            if limits is not None:
                column.valid.append((select.outputs[0], limits))

    def _range(self, select: Step, values: Operand) -> _Range | None:
        """The range of `SelectV2(values < first | values >= end, Fill(Shape(values), default), values)`."""
        either, fill = self._producer(select.inputs[0], "LogicalOr"), self._producer(select.inputs[1], "Fill")
        if either is None or fill is None or select.inputs[2] is not values:
            return None
        below, above = (
            self._producer(either.inputs[0], "Less"),
            self._producer(either.inputs[1], "GreaterEqual"),
        )
        shape = self._producer(fill.inputs[0], "Shape")
        if below is None or above is None or shape is None:
            return None
        if not (below.inputs[0] is above.inputs[0] is shape.inputs[0] is values):
            return None
        bounds = [o.array for o in (below.inputs[1], above.inputs[1], fill.inputs[1])]
        if any(bound is None or bound.ndim for bound in bounds):
            return None
        return _Range(*(int(bound) for bound in bounds if bound is not None))

    def _keeps_shape(self, reshape: Step, indices: Operand, dense: Operand) -> bool:
        """Whether a sparse matrix is reshaped to the number of its rows, and -1."""
        if reshape.inputs[0] is not indices or not self._is_shape(reshape.inputs[1], dense):
            return False
        pack = self._producer(self._uncast(reshape.inputs[2]), "Pack")
        if pack is None or len(pack.inputs) != 2 or pack.inputs[1].known != (-1,):
            return False
        rows = self._producer(pack.inputs[0], "StridedSlice")
        return (
            rows is not None
            and [int(rows.attrs.get(name, 0)) for name in _MASKS] == [0, 0, 0, 0, 1]
            and [operand.known for operand in rows.inputs[1:]] == [(0,), (1,), (1,)]
            and self._is_shape(self._uncast(rows.inputs[0]), dense)
        )

    def _is_shape(self, operand: Operand, dense: Operand) -> bool:
        shape = self._producer(operand, "Shape")
        return shape is not None and shape.inputs[0] is dense

    def _uncast(self, operand: Operand) -> Operand:
        """What integers were before they were cast to others; sizes of at most `_MOST` fit in all of them."""
        cast = self._producer(operand, "Cast")
        return operand if cast is None else cast.inputs[0]

    def _needed(self, column: _Column) -> list[Step]:
        """The steps from the dense matrix to the outputs, in order."""
        wanted, inside = list(column.outputs), {column.dense}
        chosen: set[Step] = set()
        while wanted:
            operand = wanted.pop()
            if operand in inside or operand.is_constant:
                continue
            inside.add(operand)
            step = self._producer(operand)
            assert step is not None
            chosen.add(step)
            wanted += step.inputs
        return [step for step in self.program.steps if step in chosen]


def _compares_with_padding(test: Step) -> bool:
    dense, padding = test.inputs
    return (
        dense.dtype.name in _TYPES
        and dense.rank == 2
        and padding.array is not None
        and not padding.array.ndim
    )
