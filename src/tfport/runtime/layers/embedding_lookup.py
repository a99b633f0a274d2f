"""Several sparse embedding lookups as one host step, with few calls of NumPy for all of them.

What is usual is computed here: ids that are in their tables, indices that are in order and within their
shape. For anything else the steps that were there before run one by one, and say what is wrong if
something is.
Sums are made as the kernels of SparseSegment ops make them, so both ways answer alike to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfport.runtime.operand import Operand
from tfport.runtime.program import Step


@dataclass(eq=False, slots=True)
class EmbeddingLookup:
    """Rows of a table put together by row of a sparse matrix of ids."""

    source: tuple[Operand, ...]
    """Indices and ids; and the shape, where rows without ids are wanted too."""
    table: NDArray[Any]
    combiner: str
    """sum, mean or sqrtn."""
    default: NDArray[Any] | None
    """What rows without ids have instead of zeros."""
    steps: list[Step]
    """What computes it otherwise."""


def looked_up(last: Sequence[Step], lookups: Sequence[EmbeddingLookup]) -> Step:
    """One step that answers what the last steps of some lookups answer."""
    inputs = tuple({operand: None for lookup in lookups for operand in lookup.source})
    outputs = tuple(step.outputs[0] for step in last)
    run = _Together(inputs, outputs, lookups).run
    return Step(last[0].name, "EmbeddingLookupSparse", inputs, outputs, run=run, why="it is sparse")


class _Together:
    """Sources are the different sparse matrices of ids: all their elements lie behind each other."""

    def __init__(
        self, inputs: Sequence[Operand], outputs: Sequence[Operand], lookups: Sequence[EmbeddingLookup]
    ) -> None:
        place = {operand: i for i, operand in enumerate(inputs)}
        sources = list(dict.fromkeys(lookup.source for lookup in lookups))
        number = {source: i for i, source in enumerate(sources)}
        self._sources = [[place[operand] for operand in source] for source in sources]
        self._limits = [
            min(len(lookup.table) for lookup in lookups if lookup.source == source) for source in sources
        ]
        self._numbers = np.arange(len(sources))
        self._count = len(lookups)
        self._layers = list(_layers(lookups, number))
        self._defaults = [
            (i, number[lookup.source], lookup.default)
            for i, lookup in enumerate(lookups)
            if lookup.default is not None
        ]
        self._one_by_one = [_one_by_one(*both, inputs) for both in zip(lookups, outputs, strict=True)]

    def run(self, inputs: Sequence[Any]) -> Sequence[Any]:
        try:
            answers = self._quickly([[inputs[i] for i in source] for source in self._sources])
        except (MemoryError, OverflowError, ValueError):  # so many rows that there cannot be an answer
            answers = None
        return [lookup(inputs) for lookup in self._one_by_one] if answers is None else answers

    def _quickly(self, sources: Sequence[Sequence[Any]]) -> list[Any] | None:
        """The answers; None where something is not as usual."""
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
        of = self._numbers.repeat([len(values) for values in ids])
        elements = np.empty((len(of), 3), np.int64)
        np.concatenate([source[0] for source in sources], out=elements[:, :2])
        np.concatenate(ids, out=elements[:, 2])
        # without signs, so that what is negative is too large
        if not (elements.view(np.uint64) < np.array(bounds, np.int64)[of].view(np.uint64)).all():
            return None
        first_rows = [0, *accumulate(rows)]
        row = elements[:, 0] + np.array(first_rows)[of]
        change = row[1:] - row[:-1]
        if (change < 0).any():
            return None
        starts = np.flatnonzero(np.concatenate((_HERE[: len(row)], change)))
        return self._answers(ids, first_rows, _Segments(row, starts))

    def _answers(self, ids: Sequence[Any], first_rows: Sequence[int], segments: _Segments) -> list[Any]:
        answers: list[Any] = [None] * self._count
        ends = [0, *accumulate(map(len, ids))]
        for combiner, layer in self._layers:
            table = layer[0][2]
            if len(layer) == len(ids):
                gathered = np.empty((ends[-1], table.shape[1]), table.dtype)
                for _, source, each in layer:
                    each.take(ids[source], 0, gathered[ends[source] : ends[source + 1]], "clip")
                made = segments.combined(gathered, combiner, 0, first_rows[-1])
                for answer, source, _ in layer:
                    answers[answer] = made[first_rows[source] : first_rows[source + 1]]
                continue
            for answer, source, each in layer:
                part = segments.part(ends[source], ends[source + 1])
                gathered = each.take(ids[source], 0)
                first, last = first_rows[source], first_rows[source + 1]
                answers[answer] = part.combined(gathered, combiner, first, last)
        for answer, source, default in self._defaults:
            answers[answer][segments.without(first_rows[source], first_rows[source + 1])] = default
        return answers


_ANY = np.iinfo(np.int64).max
_HERE = np.ones(1, np.int64)


class _Segments:
    """Elements in the order of their rows: the row of each, and where each row that has some begins."""

    def __init__(self, row: Any, starts: Any) -> None:
        self._row, self._starts = row, starts
        self._rows = row[starts]
        self._counts = np.concatenate((starts[1:], [len(row)])) - starts

    def part(self, first: int, last: int) -> _Segments:
        """Those of some elements; a row of theirs begins with the first."""
        begin, end = np.searchsorted(self._starts, (first, last))
        return _Segments(self._row[first:last], self._starts[begin:end] - first)

    def combined(self, gathered: Any, combiner: str, first: int, last: int) -> Any:
        """What the elements of each row from the first to the last come to."""
        if not len(gathered):
            return np.zeros((last - first, gathered.shape[1]), gathered.dtype)
        made = np.add.reduceat(gathered, self._starts, axis=0, dtype=gathered.dtype)
        if combiner != "sum":
            counts = self._counts.astype(gathered.dtype)[:, None]
            made /= np.sqrt(counts) if combiner == "sqrtn" else counts
        if len(made) == last - first:
            return made
        out = np.zeros((last - first, gathered.shape[1]), gathered.dtype)
        out[self._rows - first] = made
        return out

    def without(self, first: int, last: int) -> Any:
        """The rows from the first to the last that have no elements, counted from the first."""
        there = self._rows[np.searchsorted(self._rows, first) : np.searchsorted(self._rows, last)]
        missing = np.ones(last - first, bool)
        missing[there - first] = False
        return missing


def _layers(
    lookups: Sequence[EmbeddingLookup], number: dict[tuple[Operand, ...], int]
) -> Iterator[tuple[str, list[tuple[int, int, NDArray[Any]]]]]:
    """Lookups that are combined alike, each source once: the places of answer and source, and the table."""
    layers: dict[Any, list[tuple[int, int, NDArray[Any]]]] = {}
    times: dict[Any, int] = {}
    for i, lookup in enumerate(lookups):
        key = (lookup.combiner, lookup.table.shape[1], lookup.table.dtype, number[lookup.source])
        times[key] = times.get(key, 0) + 1
        layers.setdefault((*key[:3], times[key]), []).append((i, key[3], lookup.table))
    for (combiner, *_), layer in layers.items():
        yield combiner, layer


def _one_by_one(
    lookup: EmbeddingLookup, output: Operand, inputs: Sequence[Operand]
) -> Callable[[Sequence[Any]], Any]:
    """A lookup as its steps compute it."""
    steps = [(step.run, step.inputs, step.outputs) for step in lookup.steps]

    def run(arrays: Sequence[Any]) -> Any:
        known = dict(zip(inputs, arrays, strict=True))
        for step, reads, writes in steps:
            assert step is not None
            answers = step([operand.value if operand.is_constant else known[operand] for operand in reads])
            known.update(zip(writes, answers, strict=True))
        return known[output]

    return run
