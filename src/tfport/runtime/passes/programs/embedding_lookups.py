"""Find sparse embedding lookups in a program, and replace groups of them by one step.

`tf.nn.safe_embedding_lookup_sparse` is about twenty ops, and a model may have dozens of them; each
computes little, so the number of steps matters. Independent lookups become one step
(`combined_lookups`); unused steps are removed. Only lookups in one constant table, by a matrix of
ids without weights, are recognized.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.runtime.engines.engine import Engine
from tfport.runtime.operand import Operand
from tfport.runtime.passes.pass_list import program_pass
from tfport.runtime.passes.programs.combined_lookups import EmbeddingLookup, lookup_step
from tfport.runtime.program import Program, Step, needed
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMBINES = {"SparseSegmentSum": "sum", "SparseSegmentMean": "mean", "SparseSegmentSqrtN": "sqrtn"}
_GATHERS = frozenset(("ResourceGather", "GatherV2", "Gather"))
_SIZES = frozenset(("float32", "float64"))


@dataclass(eq=False, slots=True)
class _Match:
    """A lookup, and its last step."""

    last: Step
    lookup: EmbeddingLookup


@program_pass
def embedding_lookups(program: Program, engine: Engine) -> None:
    """Sparse embedding lookups that do not depend on each other are one step."""
    if not any(step.op in _COMBINES for step in program.steps):
        return
    matches = list(_Matcher(program).lookups())
    steps = list(program.steps)
    for group in _independent(steps, matches):
        steps = _replaced(steps, group)
    if matches:
        program.steps = needed(steps, program.results)


def _independent(steps: Sequence[Step], matches: Sequence[_Match]) -> list[list[_Match]]:
    """Groups of lookups that do not depend on each other."""
    by_last = {match.last: match for match in matches}
    depth: dict[Operand, int] = {}
    groups: dict[int, list[_Match]] = {}
    for step in steps:
        match = by_last.get(step)
        reads = step.inputs if match is None else match.lookup.source
        before = max((depth.get(operand, 0) for operand in reads), default=0)
        if match is not None:
            groups.setdefault(before, []).append(match)
            before += 1
        for operand in (*step.outputs, *(o for node in step.lowered or () for o in node.outputs)):
            depth[operand] = max(depth.get(operand, 0), before)
    return list(groups.values())


def _replaced(steps: Sequence[Step], group: Sequence[_Match]) -> list[Step]:
    """The steps with a group of lookups as one step, or one step each if the order does not allow that."""
    alone = {match.last: lookup_step([match.last], [match.lookup]) for match in group}
    first = next(i for i, step in enumerate(steps) if step in alone)
    last = max(i for i, step in enumerate(steps) if step in alone)
    before, after = list(steps[:first]), []
    late: set[Operand] = set()
    for step in steps[first : last + 1]:
        if step in alone:
            late.update(step.outputs)
        elif any(operand in late for operand in _reads(step)):
            if step.effect or any(o.dtype.name == "resource" or o.dtype.is_ref for o in step.inputs):
                return [alone.get(other, other) for other in steps]  # it must not be moved
            late.update(step.outputs, *(node.outputs for node in step.lowered or ()))
            after.append(step)
        else:
            before.append(step)
    together = lookup_step([match.last for match in group], [match.lookup for match in group])
    return [*before, together, *after, *steps[last + 1 :]]


def _reads(step: Step) -> Iterator[Operand]:
    yield from step.inputs
    for node in step.lowered or ():
        yield from (operand for operand in node.inputs if operand is not None)
        for program in node.programs:
            yield from program.captures()


class _Matcher:
    """Matches lookups backwards from their last step."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._producer = program.producer

    def lookups(self) -> Iterator[_Match]:
        for step in self.program.steps:
            if step.op in _COMBINES and (match := self._lookup(step)) is not None:
                yield match

    def _lookup(self, combine: Step) -> _Match | None:
        rows = self._producer(combine.inputs[2], "StridedSlice")
        looked_up = self._looked_up(combine)
        if rows is None or looked_up is None or not _first_column(rows):
            return None
        (table, ids), indices = looked_up, rows.inputs[0]
        if table.array is None or table.rank != 2 or table.dtype.name not in _SIZES:
            return None
        kind = _COMBINES[combine.op]
        filled = self._producer(indices, "SparseFillEmptyRows")
        if filled is None:
            # the number of rows is unknown; the last row is the last one with an id
            return self._match(combine, combine, (indices, ids), table, kind)
        if filled.outputs[0] is not indices or filled.outputs[1] is not ids:
            return None
        default = filled.inputs[3].array
        source = self._pruned(filled)
        end = self._zeroed(combine.outputs[0], filled.outputs[2], table.array.shape[1])
        if source is None or default is None or not 0 <= int(default) < len(table.array):
            return None
        last = self._shaped(end or combine, source[2], table.array.shape[1])
        return self._match(combine, last, source, table, kind, None if end else table.array[int(default)])

    def _looked_up(self, combine: Step) -> tuple[Operand, Operand] | None:
        """The table and the ids of the rows that are combined.

        Usually each distinct row is gathered once; converters join that with the op that combines them.
        """
        data, inverse, _ = combine.inputs
        if data.is_constant:
            return data, inverse
        gather, unique = self._producer(data, *_GATHERS), self._producer(inverse, "Unique")
        if gather is None or unique is None or unique.outputs[1] is not inverse:
            return None
        if gather.inputs[1] is not unique.outputs[0] or not _along_rows(gather):
            return None
        return gather.inputs[0], unique.inputs[0]

    def _match(
        self,
        combine: Step,
        last: Step,
        source: tuple[Operand, ...],
        table: Operand,
        kind: str,
        default: NDArray[Any] | None = None,
    ) -> _Match | None:
        steps = self._between(last, source)
        if steps is None or table.array is None or combine not in steps:
            return None
        return _Match(last, EmbeddingLookup(source, table.array, kind, default, steps))

    def _pruned(self, filled: Step) -> tuple[Operand, Operand, Operand] | None:
        """Indices, ids and shape before negative ids were removed and empty rows filled."""
        picked_indices, picked_ids, shape, _ = filled.inputs
        of_indices, of_ids = (
            self._producer(picked_indices, "GatherV2"),
            self._producer(picked_ids, "GatherV2"),
        )
        if of_indices is None or of_ids is None or of_indices.inputs[1] is not of_ids.inputs[1]:
            return None
        ids = of_ids.inputs[0]
        flat = self._producer(of_ids.inputs[1], "Reshape")
        where = flat and self._producer(flat.inputs[0], "Where")
        test = where and self._producer(where.inputs[0], "GreaterEqual")
        reshape = self._producer(of_indices.inputs[0], "SparseReshape")
        if (
            not (flat and test and reshape)
            or not (_along_rows(of_indices) and _along_rows(of_ids))
            or flat.inputs[1].known != (-1,)
            or test.inputs[0] is not ids
            or test.inputs[1].known != (0,)
            or test.inputs[1].rank != 0
            or reshape.outputs[0] is not of_indices.inputs[0]
            or reshape.outputs[1] is not shape
            or ids.dtype.name != "int64"
        ):
            return None
        indices, own_shape, wanted = reshape.inputs
        return (indices, ids, own_shape) if self._same_matrix(own_shape, wanted) else None

    def _same_matrix(self, shape: Operand, wanted: Operand) -> bool:
        """Whether `wanted` is `shape` as TensorFlow writes it: `[prod(shape[:1]), shape[1]]`."""
        pack = self._producer(wanted, "Pack")
        if pack is None or shape.shape != (2,) or len(pack.inputs) != 2:
            return False
        product, last = self._producer(pack.inputs[0], "Prod"), self._producer(pack.inputs[1], "GatherV2")
        front = product and self._producer(product.inputs[0], "Slice")
        return bool(
            front
            and last
            and self._first_size(front, shape)
            and last.inputs[0] is shape
            and last.inputs[1].known == (1,)
            and last.inputs[1].rank == 0
        )

    def _first_size(self, front: Step, shape: Operand) -> bool:
        return front.inputs[0] is shape and front.inputs[1].known == (0,) and front.inputs[2].known == (1,)

    def _zeroed(self, rows: Operand, empty: Operand, width: int) -> Step | None:
        """The step that sets rows that were empty to zero."""
        for select in self.program.readers(rows):
            if select.op not in ("Select", "SelectV2") or select.inputs[2] is not rows:
                continue
            zeros = self._producer(select.inputs[1], "ZerosLike")
            column = self._producer(select.inputs[0], "Reshape", "Tile")
            if column is not None and column.op == "Tile":
                if column.inputs[1].known != (1, width):
                    continue
                column = self._producer(column.inputs[0], "Reshape")
            elif width != 1:
                continue
            if zeros is None or column is None or zeros.inputs[0] is not rows:
                continue
            if column.inputs[0] is empty and column.inputs[1].known == (-1, 1):
                return select
        return None

    def _shaped(self, end: Step, shape: Operand, width: int) -> Step:
        """The final reshape of a lookup to the shape that it already has; `end` if there is none."""
        for reshape in self.program.readers(end.outputs[0]):
            joined = self._producer(reshape.inputs[1], "ConcatV2") if reshape.op == "Reshape" else None
            if joined is None or len(joined.inputs) != 3 or joined.inputs[1].known != (width,):
                continue
            front = self._producer(joined.inputs[0], "Slice")
            cast = front and self._producer(front.inputs[0], "Cast")
            if front and cast and cast.inputs[0] is shape and self._first_size(front, cast.outputs[0]):
                return reshape
        return end

    def _between(self, last: Step, source: Iterable[Operand]) -> list[Step] | None:
        """All steps from the source to the last; None if they read something else or have no host kernel."""
        sources = set(source)
        wanted, inside = [last], {last}
        while wanted:
            step = wanted.pop()
            if step.run is None or step.effect:
                return None
            for operand in step.inputs:
                if operand in sources or operand.is_constant:
                    continue
                producer = self._producer(operand)
                if producer is None:
                    return None
                if producer not in inside:
                    inside.add(producer)
                    wanted.append(producer)
        return [step for step in self.program.steps if step in inside]


def _along_rows(gather: Step) -> bool:
    """Whether a gather reads whole rows."""
    plain = len(gather.inputs) == 2 or (gather.inputs[2].known == (0,))
    return plain and not gather.attrs.get("batch_dims")


def _first_column(slice_: Step) -> bool:
    """Whether a strided slice is the first column of a matrix."""
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    begin_mask, end_mask, ellipsis, new_axis, shrink = (int(slice_.attrs.get(name, 0)) for name in masks)
    begin, end, step = (operand.known for operand in slice_.inputs[1:])
    return (
        (begin_mask & 1, end_mask & 1, ellipsis, new_axis, shrink) == (1, 1, 0, 0, 2)
        and not begin_mask & 2
        and begin is not None
        and end is not None
        and begin[1:] == (0,)
        and end[1:] == (1,)
        and step == (1, 1)
    )
