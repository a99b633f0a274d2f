"""A forest that answers: which leaf each example reaches in each tree, and what the leaves say together.

For few rows, all trees go down one level at a time: a few NumPy calls per level. A forest that has many to
answer gets a model of ONNX Runtime (`tree_sums`), which takes longer to make than to run. Sums are those of
Yggdrasil's engines, in float32 and in the order of the trees, so answers are equal to the last bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.yggdrasil.records import (
    BOOSTED_TREES,
    CONTAINS,
    CONTAINS_BITMAP,
    DISCRETIZED_HIGHER,
    HIGHER,
    ISOLATION_FOREST,
    LEAF,
    TRUE_VALUE,
    ForestModel,
    ForestNodes,
)
from tfport.runtime.ops.forests.condition_columns import MOST_TABLE, ConditionColumns
from tfport.runtime.ops.forests.forest_inputs import FeaturePositions, ForestInputs

if TYPE_CHECKING:
    from tfport.runtime.ops.forests.tree_sums import TreeSums

MULTINOMIAL = "MULTINOMIAL_LOG_LIKELIHOOD"
CLASSIFICATION, UPLIFTS = "CLASSIFICATION", ("CATEGORICAL_UPLIFT", "NUMERICAL_UPLIFT")
MOST_ELEMENTS = 1 << 16
"""Rows are computed in parts, so that arrays of about this many elements stay in the cache."""
MOST_COMPILED = 1 << 20
MANY_ROWS = 200
"""A forest that has answered so many rows gets a model of ONNX Runtime."""
POISSON_LIMIT = np.float32(19)
EULER = np.float32(0.5772156649)
ONE = np.float32(1)


class Forest:
    """A loaded model."""

    def __init__(self, forest: ForestModel, nodes: ForestNodes) -> None:
        self.forest, self.nodes = forest, nodes
        self.positions = FeaturePositions(forest)
        self.inner = nodes.condition != LEAF
        self.child = np.stack([np.arange(len(self.inner)) + 1, nodes.positive], 1)
        self.child[~self.inner] = np.flatnonzero(~self.inner)[:, None]
        self._columns: dict[bool, ConditionColumns] = {}
        self.imputes = _is_globally_imputed(forest, nodes)
        self.classes = forest.columns[forest.label].values - 1 if forest.task == CLASSIFICATION else 1
        if self.classes * len(self.inner) > MOST_TABLE:
            raise RunFailed(f"{self.classes} classes in {len(self.inner)} nodes take too much memory")
        self.values = self._leaf_values()
        is_boosted = forest.kind == BOOSTED_TREES
        self._start = np.array(forest.initial if is_boosted else [0] * self.values.shape[1], np.float32)
        self._tree_sums: TreeSums | None = None
        self._rows = 0

    def leaves(self, inputs: ForestInputs, imputes: bool) -> Any:
        """The leaf of each tree (rows) that each example (columns) reaches."""
        columns = self._conditions(imputes)
        step = max(1, MOST_ELEMENTS // max(columns.count, len(self.nodes.roots), 1))
        parts = [
            self._descend(columns, inputs.part(start, min(start + step, inputs.rows)))
            for start in range(0, inputs.rows, step)
        ]
        return np.concatenate(parts, 1) if parts else np.zeros((len(self.nodes.roots), 0), np.int64)

    def _conditions(self, imputes: bool) -> ConditionColumns:
        columns = self._columns.get(imputes)
        if columns is None:
            columns = ConditionColumns(self.forest, self.nodes, self.positions, imputes)
            self._columns[imputes] = columns
        return columns

    def _descend(self, columns: ConditionColumns, inputs: ForestInputs) -> Any:
        values = columns.of(inputs).reshape(-1)
        node = np.repeat(self.nodes.roots[:, None], inputs.rows, 1).reshape(-1)
        row = np.tile(np.arange(inputs.rows) * columns.count, len(self.nodes.roots))
        child = self.child.reshape(-1)
        moving = np.flatnonzero(self.inner.take(node))
        here, row = node.take(moving), row.take(moving)
        while len(moving):
            is_true = values.take(row + columns.column.take(here)) >= columns.threshold.take(here)
            here = child.take(2 * here + is_true)
            inner = self.inner.take(here)
            if not inner.all():
                node[moving] = here
                still = np.flatnonzero(inner)
                moving, here, row = moving.take(still), here.take(still), row.take(still)
        return node.reshape(len(self.nodes.roots), inputs.rows)

    def leaf_indices(self, banks: list[Any]) -> Any:
        """The number of the leaf in each tree, counted from the left: examples by trees."""
        number = np.cumsum(~self.inner) - 1
        leaves = self.leaves(ForestInputs(self.positions, banks), imputes=False)
        first = np.concatenate([[0], np.cumsum(~self.inner)])[self.nodes.roots]
        return (number[leaves] - first[:, None]).T.astype(np.int32)

    def predict(self, banks: list[Any]) -> Any:
        """The predictions: examples by outputs."""
        total = self._sums(ForestInputs(self.positions, banks))
        if self.forest.kind == BOOSTED_TREES:
            return self._boosted(total)
        if self.forest.kind == ISOLATION_FOREST:
            scale = _path_length(np.array([self.forest.examples_per_tree]))[0]
            return np.exp2(-total / scale) if scale else np.zeros_like(total)
        if self.forest.task != CLASSIFICATION:
            return total
        total = np.clip(total, 0, 1)
        return np.concatenate([ONE - total, total], 1) if self.classes == 2 else total

    def _boosted(self, total: Any) -> Any:
        if self.forest.loss == MULTINOMIAL:
            if self.forest.output_logits:
                return total
            power = np.exp(total)
            return np.clip(power * (ONE / power.cumsum(1, dtype=np.float32)[:, -1:]), 0, 1)
        if self.forest.loss == "POISSON":
            return np.exp(np.clip(total, -POISSON_LIMIT, POISSON_LIMIT))
        if self.forest.task != CLASSIFICATION or self.forest.output_logits:
            return total
        with np.errstate(over="ignore"):
            likely = np.clip(ONE / (ONE + np.exp(-total)), 0, 1)
        return np.concatenate([ONE - likely, likely], 1)

    # The sums of what the leaves add

    def _sums(self, inputs: ForestInputs) -> Any:
        self._rows += inputs.rows
        if self._rows < MANY_ROWS or not len(self.nodes.roots):
            return self._walked_sums(self.leaves(inputs, self.imputes))
        columns = self._conditions(self.imputes)
        if self._tree_sums is None:
            self._tree_sums = self._compiled_sums(columns)
        step = max(1, MOST_COMPILED // columns.count)
        parts = [
            self._tree_sums.of(columns.of(inputs.part(start, min(start + step, inputs.rows))))
            for start in range(0, inputs.rows, step)
        ]
        return np.concatenate([np.zeros((0, len(self._start)), np.float32), *parts])

    def _walked_sums(self, leaves: Any) -> Any:
        if self.forest.kind != BOOSTED_TREES:
            return np.stack([_total(self.values[:, i][leaves]) for i in range(self.values.shape[1])], 1)
        values, count = self.values[:, 0][leaves], len(self._start)
        if self.forest.loss == MULTINOMIAL:
            return np.stack([_total(values[i::count]) for i in range(count)], 1) + self._start
        first = np.full((1, leaves.shape[1]), self._start[0])
        return _total(np.concatenate([first, values]))[:, None]

    def _compiled_sums(self, columns: ConditionColumns) -> TreeSums:
        from tfport.runtime.ops.forests.tree_sums import TreeSums

        values, start, outputs = self.values, self._start, None
        if self.forest.kind == BOOSTED_TREES:
            outputs = np.arange(len(self.nodes.roots)) % len(start)
            if self.forest.loss != MULTINOMIAL:
                # Yggdrasil begins with the initial prediction, ONNX Runtime ends with it
                first = slice(self.nodes.roots[0], self.nodes.roots[1] if len(self.nodes.roots) > 1 else None)
                values = values.copy()
                values[first] += start[0]
                start = np.zeros(1, np.float32)
        return TreeSums(self.nodes.roots, self.child, self.inner, columns, values, outputs, start)

    def _leaf_values(self) -> Any:
        """What each leaf adds to each output, float32."""
        forest, nodes, trees = self.forest, self.nodes, max(1, self.forest.trees)
        if forest.kind == BOOSTED_TREES:
            wanted = self.classes if forest.loss == MULTINOMIAL else 1
            if len(forest.initial) != wanted or forest.loss == "DEFAULT":
                raise RunFailed(
                    f"the forest has {len(forest.initial)} initial predictions for loss {forest.loss} "
                    f"and {self.classes} classes"
                )
            return nodes.value[:, None]
        if forest.kind == ISOLATION_FOREST:
            return ((nodes.depth.astype(np.float32) + _path_length(nodes.top)) / np.float32(trees))[:, None]
        if forest.task == "REGRESSION":
            return (nodes.value / np.float32(trees))[:, None]
        if forest.task in UPLIFTS:
            return nodes.distribution.astype(np.float32) / np.float32(trees)
        if forest.task != CLASSIFICATION or self.classes < 1:
            raise RunFailed(f"a random forest for {forest.task} with {self.classes} classes is unsupported")
        shares = self._votes() if forest.winner_take_all else self._shares(trees)
        return shares[:, 1:] if self.classes == 2 else shares

    def _votes(self) -> Any:
        votes = self.nodes.top[~self.inner]
        if len(votes) and not 1 <= votes.min() <= votes.max() <= self.classes:
            raise RunFailed(f"a leaf votes for a class that is not in [1, {self.classes}]")
        out = np.zeros((len(self.inner), self.classes), np.float32)
        out[np.flatnonzero(~self.inner), votes - 1] = ONE / np.float32(self.forest.trees)
        return out

    def _shares(self, trees: int) -> Any:
        if self.nodes.distribution.shape[1] != self.classes + 1:
            raise RunFailed(f"the leaves must have a count for each of {self.classes} classes")
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = self.nodes.distribution[:, 1:] / (self.nodes.total * trees)[:, None]
        return shares.astype(np.float32)

    def column_names(self) -> list[bytes]:
        """What the outputs stand for: classes of a classification, else nothing."""
        if self.forest.task != CLASSIFICATION:
            return [b""]
        if self.classes == 2 and not self.forest.outputs_probabilities:
            return [b"logit"]
        label = self.forest.columns[self.forest.label]
        unknown = b"%d" if not label.vocabulary else b"NA(%d)"
        return [label.vocabulary.get(i, unknown % i) for i in range(1, self.classes + 1)]


def _total(values: Any) -> Any:
    """The sum over the first axis, one after another: NumPy's own sum of few columns is pairwise."""
    if not len(values):
        return np.zeros(values.shape[1], np.float32)
    return np.add.accumulate(values, axis=0, dtype=np.float32)[-1]


def _path_length(examples: Any) -> Any:
    """The average depth of a search tree with so many examples (Preiss)."""
    count = np.maximum(examples, 3).astype(np.float32)
    length = 2 * (np.log(count - 1) + EULER) - 2 * (count - 1) / count
    return np.where(examples > 2, length, (examples == 2).astype(np.float32)).astype(np.float32)


def _is_globally_imputed(forest: ForestModel, nodes: ForestNodes) -> bool:
    """Whether conditions say of a missing value what they say of the column's mean or most frequent value.

    The engines of Yggdrasil then replace missing values, also in weighted sums.
    """
    for index, column in enumerate(forest.columns):
        own = nodes.attribute == index
        missing = nodes.missing_is_true
        mean = np.float32(column.mean)
        for node in np.flatnonzero(own & (nodes.condition == DISCRETIZED_HIGHER)).tolist():
            if (column.mean >= column.boundaries[int(nodes.threshold[node]) - 1]) != missing[node]:
                return False
        higher = own & (nodes.condition == HIGHER)
        if ((mean >= nodes.threshold[higher]) != missing[higher]).any():
            return False
        if (missing[own & (nodes.condition == TRUE_VALUE)] != column.mostly_true).any():
            return False
        sets = column.type == "CATEGORICAL_SET"
        for node in np.flatnonzero(own & np.isin(nodes.condition, (CONTAINS, CONTAINS_BITMAP))).tolist():
            byte, bit = divmod(column.most_frequent, 8)
            bitmap = nodes.elements[node]
            contained = not sets and 0 <= byte < len(bitmap) and bool(bitmap[byte] >> bit & 1)
            if contained != bool(missing[node]):
                return False
    return True
