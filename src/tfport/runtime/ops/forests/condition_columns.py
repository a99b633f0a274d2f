"""The columns that the nodes of a forest compare with a threshold.

Every condition becomes `column >= threshold`. A number is its own column; where a missing value means
true it is infinite in a second one, else NaN, which is never larger. A condition on categories, on a
set or on a weighted sum is a column of its own, 1 where it is true; several trees share equal ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.yggdrasil.records import (
    CONTAINS,
    CONTAINS_BITMAP,
    DISCRETIZED_HIGHER,
    HIGHER,
    IS_MISSING,
    LEAF,
    OBLIQUE,
    TRUE_VALUE,
)
from tfport.runtime.ops.forests.forest_inputs import (
    BOOLEANS,
    CATEGORIES,
    NUMBERS,
    FeaturePositions,
    ForestInputs,
)

if TYPE_CHECKING:
    from tfport.formats.yggdrasil.records import ForestModel, ForestNodes

HALF = np.float32(0.5)
MOST_TABLE = 1 << 27
"""The most elements of a table that a forest needs besides its nodes."""
Key = tuple[Any, ...]


class ConditionColumns:
    """Which columns the nodes of a forest need, and how to compute them."""

    def __init__(
        self, forest: ForestModel, nodes: ForestNodes, positions: FeaturePositions, imputes: bool
    ) -> None:
        self.positions, self.imputes = positions, imputes
        self.means = np.array([forest.columns[i].mean for i in positions.of_bank(NUMBERS)], np.float32)
        keys: dict[Key, int] = {}
        self.column = np.zeros(len(nodes.condition), np.int64)
        self.threshold = np.full(len(nodes.condition), HALF)
        for node in np.flatnonzero(nodes.condition != LEAF).tolist():
            key = self._key(forest, nodes, node)
            self.column[node] = keys.setdefault(key, len(keys))
        self.threshold = self._thresholds(forest, nodes)
        self.count = max(1, len(keys))
        self._group(keys)

    def _thresholds(self, forest: ForestModel, nodes: ForestNodes) -> Any:
        higher, binned = nodes.condition == HIGHER, nodes.condition == DISCRETIZED_HIGHER
        out = np.where(higher, nodes.threshold, HALF)
        for node in np.flatnonzero(binned).tolist():
            out[node] = forest.columns[nodes.attribute[node]].boundaries[int(nodes.threshold[node]) - 1]
        return out

    def _key(self, forest: ForestModel, nodes: ForestNodes, node: int) -> Key:
        kind, attribute = int(nodes.condition[node]), int(nodes.attribute[node])
        if kind == OBLIQUE:
            return (OBLIQUE, nodes.oblique[node], bool(nodes.missing_is_true[node]))
        bank, position = self.positions.of(attribute)
        if kind == IS_MISSING:
            return (IS_MISSING, bank, position)
        if kind in (CONTAINS, CONTAINS_BITMAP):
            return (CONTAINS, bank, position, nodes.elements[node], bool(nodes.missing_is_true[node]))
        return (TRUE_VALUE if bank == BOOLEANS else HIGHER, position, bool(nodes.missing_is_true[node]))

    def _group(self, keys: dict[Key, int]) -> None:
        self.simple: list[tuple[int, int, int, bool]] = []
        self.missing: list[tuple[int, str, int]] = []
        self.oblique: list[tuple[int, Any, bool]] = []
        contains: dict[tuple[str, int], list[tuple[int, bytes, bool]]] = {}
        for key, column in keys.items():
            if key[0] in (HIGHER, TRUE_VALUE):
                self.simple.append((column, key[0], key[1], key[2]))
            elif key[0] == IS_MISSING:
                self.missing.append((column, key[1], key[2]))
            elif key[0] == OBLIQUE:
                self.oblique.append((column, key[1], key[2]))
            else:
                contains.setdefault((key[1], key[2]), []).append((column, key[3], key[4]))
        self.contains = [
            (bank, position, np.array([row[0] for row in rows]), _table(rows))
            for (bank, position), rows in contains.items()
        ]

    def of(self, inputs: ForestInputs) -> Any:
        """The columns of these inputs, one row for each example."""
        out = np.zeros((inputs.rows, self.count), np.float32)
        for column, kind, position, missing_is_true in self.simple:
            values = inputs.numbers[:, position] if kind == HIGHER else inputs.truths[:, position]
            if missing_is_true:
                values = np.where(np.isnan(values), np.float32(np.inf), values)
            out[:, column] = values
        for column, bank, position in self.missing:
            out[:, column] = inputs.is_missing(bank, position)
        for bank, position, columns, table in self.contains:
            if bank == CATEGORIES:
                rows = np.minimum(inputs.categories[:, position] + 1, len(table) - 1)
                out[:, columns] = table[rows]
            else:
                out[:, columns] = _any_item(inputs, position, table)
        if self.oblique:
            self._weighted_sums(inputs, out)
        return out

    def _weighted_sums(self, inputs: ForestInputs, out: Any) -> None:
        numbers = inputs.numbers
        absent = np.isnan(numbers)
        if self.imputes:
            numbers = np.where(absent, self.means, numbers)
        position = {index: at for at, index in enumerate(self.positions.of_bank(NUMBERS))}
        for column, oblique, missing_is_true in self.oblique:
            at = [position[attribute] for attribute in oblique.attributes]
            values = numbers[:, at]
            if not self.imputes and oblique.replacements:
                values = np.where(np.isnan(values), np.array(oblique.replacements, np.float32), values)
            total = np.zeros(inputs.rows, np.float32)
            with np.errstate(invalid="ignore", over="ignore"):
                for index, weight in enumerate(oblique.weights):
                    total += values[:, index] * np.float32(weight)
            result = total >= np.float32(oblique.threshold)
            if not self.imputes and not oblique.replacements and missing_is_true:
                result |= absent[:, at].any(1)
            out[:, column] = result


def _table(rows: list[tuple[int, bytes, bool]]) -> Any:
    """For each value the conditions that contain it: first for a missing value, last for one past the end."""
    size = max(len(elements) for _, elements, _ in rows) * 8
    if (size + 2) * len(rows) > MOST_TABLE:
        raise RunFailed(f"{len(rows)} conditions on {size} categories take too much memory")
    table = np.zeros((size + 2, len(rows)), np.float32)
    for at, (_, elements, missing_is_true) in enumerate(rows):
        bits = np.unpackbits(np.frombuffer(elements, np.uint8), bitorder="little")
        table[0, at] = missing_is_true
        table[1 : len(bits) + 1, at] = bits
    return table


def _any_item(inputs: ForestInputs, position: int, table: Any) -> Any:
    """Whether any item of a set is in the table."""
    items, row_of_item = inputs.sets[position]
    out = np.zeros((inputs.rows, table.shape[1]), np.float32)
    if len(items):
        starts = np.flatnonzero(np.concatenate([[True], row_of_item[1:] != row_of_item[:-1]]))
        hits = table[np.minimum(items + 1, len(table) - 1)]
        out[row_of_item[starts]] = np.maximum.reduceat(hits, starts, axis=0)
    return out
