"""Run several sparse embedding lookups as one host step, with few NumPy calls for all of them.

This handles the usual case: ids that are in their tables, indices in order and within their shape.
For anything else the original steps run, and report what is wrong. Sums are computed as the kernels
of the SparseSegment ops compute them, so both ways give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.host_loop import original_steps
from tfport.runtime.operand import Operand
from tfport.runtime.program import NeverLowered, Step
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(eq=False, slots=True)
class EmbeddingLookup:
    """Rows of a table, combined for each row of a sparse matrix of ids."""

    source: tuple[Operand, ...]
    """Indices and ids, and the shape if rows without ids are included."""
    table: NDArray[Any]
    combiner: str
    """sum, mean or sqrtn."""
    default: NDArray[Any] | None
    """The value of rows without ids; None for zeros."""
    steps: list[Step]
    """The original steps."""


def lookup_step(last: Sequence[Step], lookups: Sequence[EmbeddingLookup]) -> Step:
    """One step with the outputs of the last steps of some lookups."""
    inputs = tuple({operand: None for lookup in lookups for operand in lookup.source})
    outputs = tuple(step.outputs[0] for step in last)
    run = _CombinedLookups(inputs, outputs, lookups).run
    return Step(last[0].name, "EmbeddingLookupSparse", inputs, outputs, run=run, why=NeverLowered.SPARSE)


class _CombinedLookups:
    """Runs lookups together; the elements of all sources (sparse matrices of ids) are concatenated."""

    def __init__(
        self, inputs: Sequence[Operand], outputs: Sequence[Operand], lookups: Sequence[EmbeddingLookup]
    ) -> None:
        position = {operand: i for i, operand in enumerate(inputs)}
        sources = list(dict.fromkeys(lookup.source for lookup in lookups))
        number = {source: i for i, source in enumerate(sources)}
        self._sources = [[position[operand] for operand in source] for source in sources]
        self._limits = [
            min(len(lookup.table) for lookup in lookups if lookup.source == source) for source in sources
        ]
        self._numbers = np.arange(len(sources))
        self._count = len(lookups)
        self._layers = list(_layers(lookups, number))
        self._alone = [(lookup.table, number[lookup.source], lookup.default) for lookup in lookups]
        self._defaults = [
            (i, number[lookup.source], lookup.default)
            for i, lookup in enumerate(lookups)
            if lookup.default is not None
        ]
        self._one_by_one = [
            original_steps(lookup.steps, inputs, [output])
            for lookup, output in zip(lookups, outputs, strict=True)
        ]

    def run(self, inputs: Sequence[Any]) -> Sequence[Any]:
        sources = [[inputs[i] for i in source] for source in self._sources]
        try:
            outputs = self._run_few(sources) or self._run_fast(sources)
        except (MemoryError, OverflowError, ValueError):  # too many rows
            outputs = None
        return [*chain(*(run(inputs) for run in self._one_by_one))] if outputs is None else outputs

    def _run_few(self, sources: Sequence[Sequence[Any]]) -> list[Any] | None:
        """The outputs if each row has at most one id, of a few; None otherwise.

        One id has the same sum, mean and scaled sum: its row of the table.
        """
        if sum(len(source[1]) for source in sources) > FEW:
            return None
        rows = []
        for (indices, ids, *shape), limit in zip(sources, self._limits, strict=True):
            single = _single_rows(indices, ids, shape, limit)
            if single is None:
                return None
            rows.append(single)
        return [
            _with_rows(table, sources[source][1], *rows[source], default)
            for table, source, default in self._alone
        ]

    def _run_fast(self, sources: Sequence[Sequence[Any]]) -> list[Any] | None:
        """The outputs; None if the inputs are not the usual case."""
        bounds = []
        for (indices, ids, *shape), limit in zip(sources, self._limits, strict=True):
            if ids.ndim != 1 or indices.shape != (len(ids), 2) or (shape and shape[0].shape != (2,)):
                return None
            if shape:
                bounds.append((*shape[0].tolist(), limit))
            elif len(ids):
                bounds.append((int(indices[-1, 0]) + 1, _ANY, limit))
            else:
                return None
        rows = [bound[0] for bound in bounds]
        if min(rows) < 1 or min(bound[1] for bound in bounds) < 0:
            return None
        ids = [source[1] for source in sources]
        source_of = self._numbers.repeat([len(values) for values in ids])
        elements = np.empty((len(source_of), 3), np.int64)
        np.concatenate([source[0] for source in sources], out=elements[:, :2])
        np.concatenate(ids, out=elements[:, 2])
        # unsigned, so that negative numbers are too large
        if not (elements.view(np.uint64) < np.array(bounds, np.int64)[source_of].view(np.uint64)).all():
            return None
        first_rows = [0, *accumulate(rows)]
        row = elements[:, 0] + np.array(first_rows)[source_of]
        change = row[1:] - row[:-1]
        if (change < 0).any():
            return None
        starts = np.flatnonzero(np.concatenate((_ONE[: len(row)], change)))
        return self._combine(ids, first_rows, _Segments(row, starts))

    def _combine(self, ids: Sequence[Any], first_rows: Sequence[int], segments: _Segments) -> list[Any]:
        outputs: list[Any] = [None] * self._count
        ends = [0, *accumulate(map(len, ids))]
        for combiner, layer in self._layers:
            table = layer[0][2]
            if len(layer) == len(ids):
                gathered = np.empty((ends[-1], table.shape[1]), table.dtype)
                for _, source, own_table in layer:
                    own_table.take(ids[source], 0, gathered[ends[source] : ends[source + 1]], "clip")
                combined = segments.combined(gathered, combiner, 0, first_rows[-1])
                for output, source, _ in layer:
                    outputs[output] = combined[first_rows[source] : first_rows[source + 1]]
                continue
            for output, source, own_table in layer:
                part = segments.part(ends[source], ends[source + 1])
                gathered = own_table.take(ids[source], 0)
                first, last = first_rows[source], first_rows[source + 1]
                outputs[output] = part.combined(gathered, combiner, first, last)
        for output, source, default in self._defaults:
            outputs[output][segments.without(first_rows[source], first_rows[source + 1])] = default
        return outputs


def _single_rows(indices: Any, ids: Any, shape: Sequence[Any], limit: int) -> tuple[int, list[int]] | None:
    """The number of rows and the row of each id; None if rows have several ids, or something is wrong."""
    if ids.ndim != 1 or indices.shape != (len(ids), 2) or (shape and shape[0].shape != (2,)):
        return None
    if not shape and not len(ids):
        return None
    cells, numbers = indices.tolist(), ids.tolist()
    height, width = shape[0].tolist() if shape else (cells[-1][0] + 1, _ANY)
    last = -1
    for (row, column), number in zip(cells, numbers, strict=True):
        if not (last < row < height and 0 <= column < width and 0 <= number < limit):
            return None
        last = row
    return (height, [row for row, _ in cells]) if height > 0 and width >= 0 else None


def _with_rows(table: Any, ids: Any, height: int, rows: list[int], default: Any) -> Any:
    """Rows of a table in a matrix of so many rows; others have the default."""
    if len(rows) == height:
        return table.take(ids, 0)
    out = np.zeros((height, table.shape[1]), table.dtype)
    if default is not None:
        out[...] = default
    out[rows] = table.take(ids, 0)
    return out


FEW = 64
"""Up to this many ids are looked up one by one: checking them all at once takes longer."""
_ANY = np.iinfo(np.int64).max
_ONE = np.ones(1, np.int64)


class _Segments:
    """Elements ordered by row: the row of each, and the start of each row that has elements."""

    def __init__(self, row: Any, starts: Any) -> None:
        self._row, self._starts = row, starts
        self._rows = row[starts]
        self._counts = np.concatenate((starts[1:], [len(row)])) - starts

    def part(self, first: int, last: int) -> _Segments:
        """The segments of a range of elements that begins with a row."""
        begin, end = np.searchsorted(self._starts, (first, last))
        return _Segments(self._row[first:last], self._starts[begin:end] - first)

    def combined(self, gathered: Any, combiner: str, first: int, last: int) -> Any:
        """The combined elements of each row from `first` to `last`."""
        if not len(gathered):
            return np.zeros((last - first, gathered.shape[1]), gathered.dtype)
        sums = np.add.reduceat(gathered, self._starts, axis=0, dtype=gathered.dtype)
        if combiner != "sum":
            counts = self._counts.astype(gathered.dtype)[:, None]
            sums /= np.sqrt(counts) if combiner == "sqrtn" else counts
        if len(sums) == last - first:
            return sums
        out = np.zeros((last - first, gathered.shape[1]), gathered.dtype)
        out[self._rows - first] = sums
        return out

    def without(self, first: int, last: int) -> Any:
        """Which rows from `first` to `last` have no elements."""
        present = self._rows[np.searchsorted(self._rows, first) : np.searchsorted(self._rows, last)]
        missing = np.ones(last - first, bool)
        missing[present - first] = False
        return missing


def _layers(
    lookups: Sequence[EmbeddingLookup], number: dict[tuple[Operand, ...], int]
) -> Iterator[tuple[str, list[tuple[int, int, NDArray[Any]]]]]:
    """Groups of lookups with the same combiner, each source once: index of output and source, and table."""
    layers: dict[Any, list[tuple[int, int, NDArray[Any]]]] = {}
    times: dict[Any, int] = {}
    for i, lookup in enumerate(lookups):
        key = (lookup.combiner, lookup.table.shape[1], lookup.table.dtype, number[lookup.source])
        times[key] = times.get(key, 0) + 1
        layers.setdefault((*key[:3], times[key]), []).append((i, key[3], lookup.table))
    for (combiner, *_), layer in layers.items():
        yield combiner, layer
