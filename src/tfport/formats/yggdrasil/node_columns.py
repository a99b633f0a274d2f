"""The nodes of a forest as arrays: conditions, children and leaves, checked against the columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.formats.encoding.message_columns import Ints, MalformedMessages, MessageColumns
from tfport.formats.encoding.wire import FIXED32, FIXED64, LENGTH, VARINT
from tfport.formats.yggdrasil.records import (
    CONTAINS,
    CONTAINS_BITMAP,
    DISCRETIZED_HIGHER,
    HIGHER,
    IS_MISSING,
    OBLIQUE,
    TRUE_VALUE,
    ForestModel,
    ForestNodes,
    ObliqueCondition,
)

CLASSIFIER, REGRESSOR, CONDITION, UPLIFT, ANOMALY = 1, 2, 3, 5, 6
VECTOR_SEQUENCE = 8
COLUMN_TYPES = {
    HIGHER: ("NUMERICAL",),
    TRUE_VALUE: ("BOOLEAN",),
    CONTAINS: ("CATEGORICAL", "CATEGORICAL_SET"),
    CONTAINS_BITMAP: ("CATEGORICAL", "CATEGORICAL_SET"),
    DISCRETIZED_HIGHER: ("DISCRETIZED_NUMERICAL",),
    IS_MISSING: ("NUMERICAL", "DISCRETIZED_NUMERICAL", "BOOLEAN", "CATEGORICAL", "CATEGORICAL_SET"),
    OBLIQUE: ("NUMERICAL",),
}
MOST_VALUES = 1 << 22
"""The largest value of a categorical column that a condition may list."""


class NodeReader:
    """Reads the nodes in these spans of a buffer."""

    def __init__(self, data: bytes, start: Ints, end: Ints, forest: ForestModel) -> None:
        self.messages = MessageColumns(data)
        self.start, self.end, self.forest = start, end, forest

    def read(self) -> ForestNodes:
        parts = self.messages.fields(
            self.start, self.end, dict.fromkeys((CLASSIFIER, REGRESSOR, CONDITION, UPLIFT, ANOMALY), LENGTH)
        )
        inner = parts[CONDITION].present
        roots, positive, depth = tree_structure(inner, self.forest.trees)
        count = len(depth)
        parts = {number: part._replace(present=part.present[:count]) for number, part in parts.items()}
        leaves = self._leaves(parts, count)
        return ForestNodes(
            **self._conditions(parts[CONDITION], count), **leaves, roots=roots, positive=positive, depth=depth
        )

    def _conditions(self, column: Any, count: int) -> dict[str, Any]:
        which, start, end = column.spans()
        outer = self.messages.fields(start, end, {1: VARINT, 2: VARINT, 3: LENGTH})
        missing, attribute = np.zeros(count, bool), np.zeros(count, np.int64)
        missing[which], attribute[which] = outer[1].value != 0, outer[2].value
        # a negative int32 has ten bytes
        if ((attribute < 0) | (attribute >= max(1, len(self.forest.columns)))).any():
            raise MalformedMessages(0, "a condition is about a column that does not exist")
        has, start, end = outer[3].spans()
        if len(has) < len(which):
            raise MalformedMessages(0, "a node has children but no condition")
        kinds = self.messages.fields(start, end, dict.fromkeys(range(1, VECTOR_SEQUENCE + 1), LENGTH))
        chosen = np.stack([kinds[number].present for number in range(1, VECTOR_SEQUENCE + 1)])
        if (chosen.sum(0) != 1).any() or kinds[VECTOR_SEQUENCE].present.any():
            raise MalformedMessages(0, "a condition is of a kind that tfport does not know")
        condition, threshold = np.zeros(count, np.int8), np.zeros(count, np.float32)
        condition[which] = chosen.argmax(0) + 1
        self._check_columns(condition, attribute)
        elements: dict[int, bytes] = {}
        oblique: dict[int, ObliqueCondition] = {}
        for number in (HIGHER, CONTAINS, CONTAINS_BITMAP, DISCRETIZED_HIGHER, OBLIQUE):
            rows, start, end = kinds[number].spans()
            nodes = which[rows]
            if not len(nodes):
                continue
            if number == HIGHER:
                threshold[nodes] = self._floats(start, end, 1)
            elif number == DISCRETIZED_HIGHER:
                bins = self.messages.fields(start, end, {1: VARINT})[1].value
                sizes = np.array([len(column.boundaries) for column in self.forest.columns])
                if ((bins < 1) | (bins > sizes[attribute[nodes]])).any():
                    raise MalformedMessages(0, "a discretized threshold is not one of the boundaries")
                threshold[nodes] = bins
            elif number == OBLIQUE:
                oblique |= self._oblique(nodes, start, end)
            else:
                elements |= self._elements(nodes, start, end, number)
        return {
            "condition": condition, "attribute": attribute, "missing_is_true": missing,
            "threshold": threshold, "elements": elements, "oblique": oblique,
        }  # fmt: skip

    def _check_columns(self, condition: Any, attribute: Any) -> None:
        types = np.array([column.type for column in self.forest.columns] or [""])
        features = np.zeros(max(1, len(types)), bool)
        features[list(self.forest.features)] = True
        for number, allowed in COLUMN_TYPES.items():
            used = np.unique(attribute[condition == number])
            if number == OBLIQUE:
                continue
            if not np.isin(types[used], allowed).all() or not features[used].all():
                raise MalformedMessages(0, "a condition does not fit the type of its column")

    def _floats(self, start: Ints, end: Ints, number: int) -> Any:
        column = self.messages.fields(start, end, {number: FIXED32})[number]
        return np.where(column.present, self.messages.numbers(column.value, np.float32), np.float32(0))

    def _elements(self, nodes: Ints, start: Ints, end: Ints, number: int) -> dict[int, bytes]:
        column = self.messages.fields(start, end, {1: LENGTH})[1]
        out = {}
        for node, at, size in zip(
            nodes.tolist(), column.value.tolist(), (column.size * column.present).tolist(), strict=True
        ):
            if number == CONTAINS_BITMAP:
                out[node] = self.messages.raw[at : at + size]
                continue
            values = self.messages.integers(at, at + size)
            if values and not 0 <= min(values) <= max(values) < MOST_VALUES:
                raise MalformedMessages(0, "a condition lists a value that is out of range")
            bits = np.zeros(max(values, default=-1) + 1, np.uint8)
            bits[values] = 1
            out[node] = np.packbits(bits, bitorder="little").tobytes()
        return out

    def _oblique(self, nodes: Ints, start: Ints, end: Ints) -> dict[int, ObliqueCondition]:
        parts = self.messages.fields(start, end, {1: LENGTH, 2: LENGTH, 3: FIXED32, 4: LENGTH})
        thresholds = np.where(
            parts[3].present, self.messages.numbers(parts[3].value, np.float32), np.float32(0)
        )
        numerical = {i for i in self.forest.features if self.forest.columns[i].type == "NUMERICAL"}
        out = {}
        for row, node in enumerate(nodes.tolist()):
            spans = [
                (int(part.value[row]), int(part.value[row] + part.size[row] * part.present[row]))
                for part in (parts[1], parts[2], parts[4])
            ]
            attributes = tuple(self.messages.integers(*spans[0]))
            weights, replacements = (
                tuple(np.frombuffer(self.messages.raw, "<f4", (b - a) // 4, a).tolist()) for a, b in spans[1:]
            )
            if len(attributes) != len(weights) or len(replacements) not in (0, len(weights)):
                raise MalformedMessages(0, "an oblique condition has not one weight for each column")
            if not numerical.issuperset(attributes):
                raise MalformedMessages(0, "a condition does not fit the type of its column")
            out[node] = ObliqueCondition(attributes, weights, float(thresholds[row]), replacements)
        return out

    def _leaves(self, parts: dict[int, Any], count: int) -> dict[str, Any]:
        top, value = np.zeros(count, np.int64), np.zeros(count, np.float32)
        total, distribution = np.zeros(count), np.zeros((count, 0))
        which, start, end = parts[CLASSIFIER].spans()
        if len(which):
            fields = self.messages.fields(start, end, {1: VARINT, 2: LENGTH})
            top[which] = fields[1].value
            rows, start, end = fields[2].spans()
            inner = self.messages.fields(start, end, {1: LENGTH, 2: FIXED64})
            distribution = self._rows(which[rows], inner[1], np.float64, count)
            total[which[rows]] = np.where(
                inner[2].present, self.messages.numbers(inner[2].value, np.float64), 0
            )
        which, start, end = parts[REGRESSOR].spans()
        if len(which):
            value[which] = self._floats(start, end, 1)
        which, start, end = parts[UPLIFT].spans()
        if len(which):
            effects = self.messages.fields(start, end, {4: LENGTH})[4]
            distribution = self._rows(which, effects, np.float32, count)
        which, start, end = parts[ANOMALY].spans()
        if len(which):
            top[which] = self.messages.fields(start, end, {1: VARINT})[1].value
        return {"top": top, "value": value, "distribution": distribution, "total": total}

    def _rows(self, nodes: Ints, column: Any, dtype: Any, count: int) -> Any:
        """The arrays of numbers of some nodes, as rows of one matrix."""
        width = np.dtype(dtype).itemsize
        sizes = column.size[column.present] // width
        if not len(sizes):
            return np.zeros((count, 0), dtype)
        most = int(sizes.max())
        if most * count > len(self.messages.raw) * 4:
            raise MalformedMessages(0, "the leaves have distributions of very different sizes")
        nodes, start = nodes[column.present], column.value[column.present]
        out = np.zeros((count, most), dtype)
        for index in range(most):
            some = sizes > index
            out[nodes[some], index] = self.messages.numbers(start[some] + index * width, dtype)
        return out


def tree_structure(inner: Any, trees: int) -> tuple[Ints, Ints, Ints]:
    """The roots, the positive child and the depth of nodes in preorder, from which of them have children."""
    change = np.where(inner, 1, -1)
    level = np.cumsum(change)
    lowest = np.minimum.accumulate(np.concatenate([[0], level]))
    ends = np.flatnonzero(lowest[1:] < lowest[:-1])
    if len(ends) < trees:
        raise MalformedMessages(0, f"the files end after {len(ends)} of {trees} trees")
    count = int(ends[trees - 1]) + 1 if trees else 0
    inner, level = inner[:count], level[:count]
    # the subtree of the negative child ends where the level is again what it was before the node
    keys = np.sort((level - level.min(initial=0)) * (count + 1) + np.arange(count))
    own = level - level.min(initial=0)
    first = _next(keys, own - 1, np.arange(count), count)
    positive = np.where(inner, first + 1, np.arange(count))
    last = np.where(inner, _next(keys, own - 2, first, count), np.arange(count))
    steps = np.zeros(count + 2, np.int64)
    np.add.at(steps, np.arange(count)[inner] + 1, 1)
    np.add.at(steps, last[inner] + 1, -1)
    depth = np.cumsum(steps)[:count]
    roots = np.concatenate([[0], ends[: trees - 1] + 1]).astype(np.int64)[:trees]
    return roots, positive.astype(np.int64), depth


def _next(keys: Any, level: Any, after: Any, count: int) -> Any:
    """The first node after another one that has a level."""
    index = np.searchsorted(keys, level * (count + 1) + after)
    return keys[np.minimum(index, max(count - 1, 0))] % (count + 1) if count else index
