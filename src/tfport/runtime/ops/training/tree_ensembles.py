"""Ensembles of decision trees, as boosted trees write them, laid out to be walked by many at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.io.message_schema import messages

_LINES = """
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
    """All nodes of all trees in one table; children are rows of it."""

    def __init__(self, data: bytes) -> None:
        from google.protobuf.message import DecodeError

        self.data = data
        try:
            proto = messages("tfport.trees", _LINES)["TreeEnsemble"].FromString(data)
        except DecodeError:
            raise RunFailed(f"these {len(data)} bytes are no tree ensemble") from None
        sizes = [len(tree.nodes) for tree in proto.trees]
        if 0 in sizes or len(proto.tree_weights) < len(sizes):
            raise RunFailed("a tree of the ensemble has no nodes, or no weight")
        self.roots = np.cumsum([0, *sizes])[:-1]
        self.deepest = max(sizes, default=0)
        self.weights = np.array(proto.tree_weights[: len(sizes)], np.float32)
        self.finalized = [bool(one.is_finalized) for one in proto.tree_metadata]
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
        self.given = np.array([len(row[1]) for row in rows], np.int64)
        for i, (_, values) in enumerate(rows):
            self.values[i, : len(values)] = values

    def leaves(self, features: list[Any]) -> Any:
        """The leaf that each example reaches in each tree."""
        columns, first = self._columns(features)
        node = np.broadcast_to(self.roots, (len(columns), len(self.roots)))
        for _ in range(self.deepest):
            if not (self.kind[node] != LEAF).any():
                return node
            node = self.step(node, columns, first)
        raise RunFailed("a tree of the ensemble goes in circles")

    def step(self, node: Any, columns: Any, first: Any) -> Any:
        """The child of each node that an example takes; a leaf stays."""
        kind = self.kind[node]
        column = first[self.feature[node]] + self.dimension[node]
        value = np.take_along_axis(columns, np.where(kind == LEAF, 0, column), 1)
        goes_left = np.where(kind == EQUAL, value == self.threshold[node], value <= self.threshold[node])
        return np.where(kind == LEAF, node, np.where(goes_left, self.left[node], self.right[node]))

    def _columns(self, features: list[Any]) -> tuple[Any, Any]:
        """Features side by side, and the column with which each begins."""
        matrices = [feature if feature.ndim == 2 else feature.reshape(-1, 1) for feature in features]
        if len({len(matrix) for matrix in matrices}) > 1:
            raise RunFailed("features are of different numbers of examples")
        widths = np.array([matrix.shape[1] for matrix in matrices])
        split = self.kind != LEAF
        wrong = split & ((self.feature < 0) | (self.feature >= len(widths)) | (self.dimension < 0))
        wrong |= split & (self.dimension >= widths[np.clip(self.feature, 0, len(widths) - 1)])
        if wrong.any():
            raise RunFailed(
                f"a tree asks for feature {self.feature[wrong.argmax()]}; {len(widths)} are given"
            )
        return np.concatenate(matrices, 1), np.cumsum(widths) - widths

    def path(self, tree: int, columns: Any, first: Any, example: int) -> list[int]:
        """The nodes of a tree that one example passes."""
        node = np.array([[self.roots[tree]]])
        found = [int(node[0, 0])]
        while self.kind[found[-1]] != LEAF:
            if len(found) > self.deepest:
                raise RunFailed("a tree of the ensemble goes in circles")
            node = self.step(node, columns[example : example + 1], first)
            found.append(int(node[0, 0]))
        return found

    def explained(self, features: list[Any]) -> list[bytes]:
        """For each example the features by which it was split, and the logit after each."""
        columns, first = self._columns(features)
        return [self._explained(columns, first, i) for i in range(len(columns))]

    def _explained(self, columns: Any, first: Any, example: int) -> bytes:
        out = messages("tfport.trees", _LINES)["DebugOutput"]()
        logit = self.weights[0] * self.values[0, 0]
        out.logits_path.append(logit)
        before = np.float32(0)
        for tree in range(len(self.roots)):
            path = self.path(tree, columns, first, example)
            for node, child in pairwise(path):
                # TensorFlow asks each split for the feature of the other kind of split, which is 0
                out.feature_ids.append(self.feature[node] if self.kind[node] == AT_MOST else 0)
                logit = self.weights[tree] * self.values[child, 0]
                out.logits_path.append(logit + before)
            if tree == 0 or len(path) > 1:
                before += logit
        data: bytes = out.SerializeToString()
        return data


def _row(node: Any, root: int, size: int) -> tuple[tuple[int, ...], list[float]]:
    """What a node does, and its value; one that splits may have been a leaf before."""
    if node.HasField("leaf"):
        return (LEAF, 0, 0, 0, 0, 0), _values(node.leaf)
    kind = AT_MOST if node.HasField("bucketized_split") else EQUAL
    if kind == EQUAL and not node.HasField("categorical_split"):
        raise RunFailed("a tree of the ensemble has a node that is neither leaf nor known split")
    split = node.bucketized_split if kind == AT_MOST else node.categorical_split
    if not (0 < split.left_id < size and 0 < split.right_id < size):
        raise RunFailed(f"a node has children {split.left_id} and {split.right_id} in a tree of {size} nodes")
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
