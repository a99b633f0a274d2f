"""MaxSpanningTree: the best tree, or forest, of a directed graph (the algorithm of Tarjan)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_NODES = 32_767
_NONE = -1


@host("MaxSpanningTree")
def max_spanning_tree(num_nodes, scores, *, forest):
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2] or num_nodes.shape != scores.shape[:1]:
        raise RunFailed(
            f"expected scores of shape [batch, nodes, nodes] and num_nodes of shape [batch], "
            f"found {list(scores.shape)} and {list(num_nodes.shape)}"
        )
    best = np.zeros(len(scores), scores.dtype)
    sources = np.full(scores.shape[:2], -1, np.int32)
    for problem, count in enumerate(num_nodes.tolist()):
        if not 0 < count <= min(scores.shape[1], _MOST_NODES):
            raise RunFailed(f"num_nodes must be in [1, {min(scores.shape[1], _MOST_NODES)}], found {count}")
        table = scores[problem, :count, :count]
        with np.errstate(over="ignore", invalid="ignore"):
            chosen = _Contraction(table, forest).sources()
            for target, source in enumerate(chosen):  # one by one, as TensorFlow Text adds them
                best[problem] += table[target, source]
        sources[problem, :count] = chosen
    return best, sources


class _Contraction:
    """A graph whose cycles are contracted into new nodes, until the best arcs into all nodes are a tree.

    Node 0 is the root of everything, nodes of the graph begin at 1, contracted ones follow. `scores[n]` are
    the scores of the arcs into node n, by their source; `ends[n]` are the nodes of the graph into which they
    lead.
    """

    def __init__(self, table: NDArray[Any], forest: bool) -> None:
        count = len(table)
        self.count, self.forest = count, forest
        exists = np.zeros((2 * count + 1, count + 1), bool)
        scores = np.zeros(exists.shape, table.dtype)
        exists[1 : count + 1, 1:] = np.isfinite(table) & ~np.eye(count, dtype=bool)
        exists[1 : count + 1, 0] = np.isfinite(np.diagonal(table))
        scores[1 : count + 1, 1:] = table
        scores[1 : count + 1, 0] = np.diagonal(table)
        if not forest and exists.any():
            known = scores[exists]
            # so large that a tree has one root, if that is possible
            penalty = table.dtype.type(1) + table.dtype.type(count + 1) * (known.max() - known.min())
            scores[1 : count + 1, 0] -= np.where(exists[1 : count + 1, 0], penalty, table.dtype.type(0))
        self.exists, self.scores = exists, scores
        self.ends = np.repeat(np.arange(2 * count + 1)[:, None], count + 1, 1)
        self.ends[count + 1 :] = 0
        self.into = [_NONE] * (2 * count + 1)
        """The contracted node that a node is part of."""
        self.weak = list(range(count + 1))
        self.component = np.arange(count + 1)
        """Strongly connected nodes of the graph have the same number."""
        self.nodes = list(range(2 * count + 1))
        self.best: dict[int, tuple[int, int]] = {}
        """The arc into each node: its source and its end."""

    def sources(self) -> list[int]:
        """The source of the arc into each node of the graph; a root is its own."""
        last = self._contract()
        for node in range(last, self.count, -1):
            if self.into[node] == _DELETED:
                continue
            _, end = self.best[node]
            self.best[end] = self.best[node]
            inner = self.into[end]
            while inner not in (_NONE, _DELETED, node):
                self.into[inner], inner = _DELETED, self.into[inner]
        sources = [self.best[node][0] - 1 for node in range(1, self.count + 1)]
        roots = sources.count(-1)
        if not self.forest and roots != 1:
            raise RunFailed("the graph has no spanning tree")
        return [node if source < 0 else source for node, source in enumerate(sources)]

    def _contract(self) -> int:
        """Choose the best arc into each node, and contract cycles; the last node."""
        node, last = 1, self.count
        while node <= last:
            possible = np.flatnonzero(self.exists[node])
            if not len(possible):
                raise RunFailed("the graph has no spanning tree")
            scores = self.scores[node, possible]
            source = int(possible[len(possible) - 1 - int(np.argmax(scores[::-1]))])
            self.best[node] = source, int(self.ends[node, source])
            if source:
                here, there = _root(self.weak, source), _root(self.weak, self.best[node][1])
                if here == there:
                    last += 1
                    self._contract_cycle(node, last)
                else:
                    self.weak[there] = here
            node += 1
        return last

    def _contract_cycle(self, start: int, contracted: int) -> None:
        cycle = []
        node = start
        while node != contracted:
            source, end = self.best[node]
            cycle.append((node, self.scores[node, source]))
            self.component[self.component == self.component[end]] = self.component[source]
            following = _root(self.nodes, source)
            self.nodes[node] = contracted
            self.into[node] = contracted
            node = following
        for node, score in cycle:
            outside = self.component != self.component[self.ends[node]]
            merged = self.scores[node] - score
            better = ~self.exists[contracted] | (self.scores[contracted] < merged)
            taken = self.exists[node] & outside & better
            self.scores[contracted][taken] = merged[taken]
            self.ends[contracted][taken] = self.ends[node][taken]
            self.exists[contracted] |= taken


_DELETED = -2


def _root(parents: list[int], node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node
