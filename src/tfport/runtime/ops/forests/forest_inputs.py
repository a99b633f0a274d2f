"""The inputs of SimpleMLInferenceOp: banks of numbers, booleans, categories and sets, one row per example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed

if TYPE_CHECKING:
    from tfport.formats.yggdrasil.records import ForestModel

NUMBERS, BOOLEANS, CATEGORIES, SETS = "numerical", "boolean", "categorical_int", "categorical_set_int"
BANKS = {
    "NUMERICAL": NUMBERS,
    "DISCRETIZED_NUMERICAL": NUMBERS,
    "BOOLEAN": BOOLEANS,
    "CATEGORICAL": CATEGORIES,
    "CATEGORICAL_SET": SETS,
}


class FeaturePositions:
    """Where each feature is in the banks: in the order of the model's input features."""

    def __init__(self, forest: ForestModel) -> None:
        self._banks: dict[str, list[int]] = {bank: [] for bank in (NUMBERS, BOOLEANS, CATEGORIES, SETS)}
        self._of: dict[int, tuple[str, int]] = {}
        for index in forest.features:
            column = forest.columns[index]
            bank = BANKS.get(column.type)
            if bank is None:
                raise RunFailed(f"feature `{column.name}` has the unsupported type {column.type}")
            self._of[index] = bank, len(self._banks[bank])
            self._banks[bank].append(index)
        self.values = {
            bank: np.array([forest.columns[i].values for i in indices], np.int64)
            for bank, indices in self._banks.items()
        }

    def of(self, index: int) -> tuple[str, int]:
        return self._of[index]

    def of_bank(self, bank: str) -> list[int]:
        return self._banks[bank]


class ForestInputs:
    """One batch, checked as the op checks it."""

    def __init__(self, positions: FeaturePositions, banks: list[Any]) -> None:
        numbers, booleans, categories, values, inner, outer = banks
        for array, bank in ((numbers, NUMBERS), (booleans, BOOLEANS), (categories, CATEGORIES)):
            wanted = len(positions.of_bank(bank))
            if array.ndim != 2 or array.shape[1] != wanted:
                raise RunFailed(
                    f"{bank}_features must have {wanted} columns, found shape {list(array.shape)}"
                )
        if not values.ndim == inner.ndim == outer.ndim == 1:
            raise RunFailed("categorical_set_int_features must be vectors")
        sizes = {n for n in (len(numbers), len(booleans), len(categories), len(outer) - 1) if n > 0}
        if len(sizes) > 1:
            raise RunFailed(f"all features must have the same number of examples, found {sorted(sizes)}")
        self.rows = max(sizes, default=0)
        used = (
            (numbers, NUMBERS), (booleans, BOOLEANS), (categories, CATEGORIES),
        )  # fmt: skip
        for array, bank in used:
            if positions.of_bank(bank) and len(array) != self.rows:
                raise RunFailed(f"{bank}_features must have {self.rows} examples, found {len(array)}")
        self.numbers = numbers
        # any number but 0 is true, as in the engines of Yggdrasil
        self.truths = np.where(np.isnan(booleans), booleans, (booleans != 0).astype(np.float32))
        known = (categories >= -1) & (categories < positions.values[CATEGORIES])
        self.categories = np.where(known, categories, 0)
        self.sets = self._sets(positions, values, inner, outer) if positions.of_bank(SETS) else []

    def _sets(self, positions: FeaturePositions, values: Any, inner: Any, outer: Any) -> list[Any]:
        """For each set feature the items, and the row of each; a missing set is one item -1."""
        count = len(positions.of_bank(SETS))
        if (
            len(outer) != self.rows + 1
            or (outer != np.arange(self.rows + 1) * count).any()
            or len(inner) != self.rows * count + 1
            or inner[0] < 0
            or inner[-1] > len(values)
            or (np.diff(inner) < 0).any()
        ):
            raise RunFailed(f"the row splits of categorical_set_int_features must be of {count} sets per row")
        sizes = np.diff(inner)
        out = []
        for position in range(count):
            size, start = sizes[position::count], inner[:-1][position::count]
            row = np.repeat(np.arange(self.rows), size)
            within = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
            items = values[np.repeat(start, size) + within].astype(np.int64)
            known = (items >= -1) & (items < positions.values[SETS][position])
            items = np.where(known, items, 0)
            missing = np.zeros(self.rows, bool)
            missing[row[(within == 0) & (items < 0)]] = True
            keep = ~missing[row] | (within == 0)
            out.append((items[keep], row[keep]))
        return out

    def is_missing(self, bank: str, position: int) -> Any:
        if bank == CATEGORIES:
            return self.categories[:, position] < 0
        if bank == SETS:
            items, row = self.sets[position]
            out = np.zeros(self.rows, bool)
            out[row[items < 0]] = True
            return out
        return np.isnan((self.numbers if bank == NUMBERS else self.truths)[:, position])

    def part(self, start: int, stop: int) -> ForestInputs:
        """Some of the rows."""
        out = object.__new__(ForestInputs)
        out.rows = stop - start
        out.numbers, out.truths = self.numbers[start:stop], self.truths[start:stop]
        out.categories = self.categories[start:stop]
        out.sets = [
            (items[(row >= start) & (row < stop)], row[(row >= start) & (row < stop)] - start)
            for items, row in self.sets
        ]
        return out
