"""Ensembles of decision trees of boosted trees, stored as arrays to evaluate many examples at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.io.descriptors import messages

TREE_MESSAGES = """
    Node: leaf=1 Leaf, bucketized_split=2 Split, categorical_split=3 Split, metadata=777 Metadata
    Metadata: gain=1 float, original_leaf=2 Leaf
    Leaf: vector=1 Vector, scalar=3 float
    Vector: value=1 *float
    Split: feature_id=1 int32, threshold=2 int32, left_id=3 int32, right_id=4 int32, dimension_id=5 int32
    Tree: nodes=1 *Node
    TreeMetadata: num_layers_grown=2 int32, is_finalized=3 bool
    Growing: num_layers_attempted=2 int64, last_layer_node_start=3 int32, last_layer_node_end=4 int32
    TreeEnsemble: trees=1 *Tree, tree_weights=2 *float, tree_metadata=3 *TreeMetadata, growing=4 Growing
    DebugOutput: feature_ids=1 *int32, logits_path=2 *float
"""
LEAF, AT_MOST, EQUAL = range(3)


class Ensemble:
    """The nodes of all trees in one table; children are row numbers of that table."""

    def __init__(self, data: bytes) -> None:
        from google.protobuf.message import DecodeError

        self.data = data
        try:
            proto = messages("tfport.trees", TREE_MESSAGES)["TreeEnsemble"].FromString(data)
        except DecodeError:
            raise RunFailed(f"expected a serialized TreeEnsemble, found {len(data)} invalid bytes") from None
        sizes = [len(tree.nodes) for tree in proto.trees]
        if 0 in sizes or len(proto.tree_weights) < len(sizes):
            raise RunFailed("each tree of the ensemble must have nodes and a weight")
        self.roots = np.cumsum([0, *sizes])[:-1]
        self.max_nodes = max(sizes, default=0)
        self.weights = np.array(proto.tree_weights[: len(sizes)], np.float32)
        self.finalized = [bool(tree.is_finalized) for tree in proto.tree_metadata]
        growing = proto.growing
        self.layers_attempted = growing.num_layers_attempted
        self.last_layer = (growing.last_layer_node_start, growing.last_layer_node_end)
        rows = [
            _row(node, int(root), size)
            for tree, root, size in zip(proto.trees, self.roots, sizes, strict=True)
            for node in tree.nodes
        ]
        table = np.array([row[0] for row in rows], np.int64).reshape(-1, 6)
        self.kind, self.feature, self.dimension, self.threshold, self.left, self.right = table.T
        width = max((len(row[1]) for row in rows), default=1)
        self.values = np.zeros((len(rows), width), np.float32)
        self.value_counts = np.array([len(row[1]) for row in rows], np.int64)
        for i, (_, values) in enumerate(rows):
            self.values[i, : len(values)] = values

    def leaves(self, features: list[Any]) -> Any:
        """The leaf of each example in each tree."""
        columns, first = self._columns(features)
        node = np.broadcast_to(self.roots, (len(columns), len(self.roots)))
        for _ in range(self.max_nodes):
            if not (self.kind[node] != LEAF).any():
                return node
            node = self.step(node, columns, first)
        raise RunFailed("a tree of the ensemble has a cycle")

    def step(self, node: Any, columns: Any, first: Any) -> Any:
        """The next node of each example; a leaf is its own next node."""
        kind = self.kind[node]
        column = first[self.feature[node]] + self.dimension[node]
        value = np.take_along_axis(columns, np.where(kind == LEAF, 0, column), 1)
        goes_left = np.where(kind == EQUAL, value == self.threshold[node], value <= self.threshold[node])
        return np.where(kind == LEAF, node, np.where(goes_left, self.left[node], self.right[node]))

    def _columns(self, features: list[Any]) -> tuple[Any, Any]:
        """One matrix of all features, and the first column of each."""
        matrices = [feature if feature.ndim == 2 else feature.reshape(-1, 1) for feature in features]
        if len({len(matrix) for matrix in matrices}) > 1:
            raise RunFailed(
                "all features must have the same number of examples, "
                f"found {[len(matrix) for matrix in matrices]}"
            )
        widths = np.array([matrix.shape[1] for matrix in matrices])
        split = self.kind != LEAF
        wrong = split & ((self.feature < 0) | (self.feature >= len(widths)) | (self.dimension < 0))
        wrong |= split & (self.dimension >= widths[np.clip(self.feature, 0, len(widths) - 1)])
        if wrong.any():
            raise RunFailed(
                f"a tree uses feature {self.feature[wrong.argmax()]}, dimension "
                f"{self.dimension[wrong.argmax()]}, but the dimensions of the {len(widths)} features "
                f"are {widths.tolist()}"
            )
        return np.concatenate(matrices, 1), np.cumsum(widths) - widths

    def path(self, tree: int, columns: Any, first: Any, example: int) -> list[int]:
        """The nodes of a tree on the path of an example."""
        node = np.array([[self.roots[tree]]])
        nodes = [int(node[0, 0])]
        while self.kind[nodes[-1]] != LEAF:
            if len(nodes) > self.max_nodes:
                raise RunFailed("a tree of the ensemble has a cycle")
            node = self.step(node, columns[example : example + 1], first)
            nodes.append(int(node[0, 0]))
        return nodes

    def debug_outputs(self, features: list[Any]) -> list[bytes]:
        """A serialized DebugOutput for each example: the split features and the logit after each split."""
        columns, first = self._columns(features)
        return [self._debug_output(columns, first, i) for i in range(len(columns))]

    def _debug_output(self, columns: Any, first: Any, example: int) -> bytes:
        out = messages("tfport.trees", TREE_MESSAGES)["DebugOutput"]()
        logit = self.weights[0] * self.values[0, 0]
        out.logits_path.append(logit)
        before = np.float32(0)
        for tree in range(len(self.roots)):
            path = self.path(tree, columns, first, example)
            for node, child in pairwise(path):
                # TensorFlow reads the feature of a bucketized split for all splits, 0 for a categorical one
                out.feature_ids.append(self.feature[node] if self.kind[node] == AT_MOST else 0)
                logit = self.weights[tree] * self.values[child, 0]
                out.logits_path.append(logit + before)
            if tree == 0 or len(path) > 1:
                before += logit
        data: bytes = out.SerializeToString()
        return data


def _row(node: Any, root: int, size: int) -> tuple[tuple[int, ...], list[float]]:
    """The table row of a node and its values; a split keeps the values of its original leaf."""
    if node.HasField("leaf"):
        return (LEAF, 0, 0, 0, 0, 0), _values(node.leaf)
    kind = AT_MOST if node.HasField("bucketized_split") else EQUAL
    if kind == EQUAL and not node.HasField("categorical_split"):
        raise RunFailed("each node must be a leaf, a bucketized split or a categorical split")
    split = node.bucketized_split if kind == AT_MOST else node.categorical_split
    if not (0 < split.left_id < size and 0 < split.right_id < size):
        raise RunFailed(
            f"children of a node must be in [1, {size}), found {split.left_id} and {split.right_id}"
        )
    row = (
        kind,
        split.feature_id,
        split.dimension_id,
        split.threshold,
        root + split.left_id,
        root + split.right_id,
    )
    has_value = node.metadata.HasField("original_leaf")
    return row, _values(node.metadata.original_leaf) if has_value else []


def _values(leaf: Any) -> list[float]:
    return list(leaf.vector.value) if leaf.HasField("vector") else [leaf.scalar]
