"""The best label sequences for one matrix of logits, by a search that keeps a beam of prefixes.

A prefix has two probabilities: that it ends in its last label, and that it ends in a blank.
Where a prefix and what it grows to are both in the beam, they share what they sum to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

IMPOSSIBLE = -np.inf


class _Prefix:
    """A label behind another prefix; `before` are its probabilities of the step before."""

    __slots__ = ("before", "children", "ends_blank", "ends_label", "label", "parent", "total")

    def __init__(self, parent: _Prefix | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Prefix] = {}
        self.total = self.ends_blank = self.ends_label = np.float32(IMPOSSIBLE)
        self.before = (self.total, self.ends_blank)

    def leave(self) -> None:
        """Out of the beam; what it was before may still grow in this step."""
        self.total = self.ends_blank = self.ends_label = np.float32(IMPOSSIBLE)

    @property
    def is_alive(self) -> bool:
        return bool(self.total != IMPOSSIBLE)

    def labels(self, merge_repeated: bool) -> list[int]:
        found: list[int] = []
        at, last = self, -1
        while at.parent is not None:
            if not merge_repeated or at.label != last:
                found.append(at.label)
            last = at.label
            at = at.parent
        return found[::-1]


def best_paths(logits: Any, width: int, count: int, merge_repeated: bool) -> list[tuple[list[int], Any]]:
    """Label sequences with their log probabilities, best first; the blank is the last class."""
    root = _Prefix(None, -1)
    root.total = root.ends_blank = logits.dtype.type(0)
    beam = [root]
    for row in logits:
        beam = _step(beam, row - np.logaddexp.reduce(row), width)
    best = beam[:count]
    found = [(prefix.labels(merge_repeated), prefix.total) for prefix in best]
    return found + [([], logits.dtype.type(0))] * (count - len(found))


def _step(beam: list[_Prefix], row: Any, width: int) -> list[_Prefix]:
    blank = len(row) - 1
    for prefix in beam:
        prefix.before = (prefix.total, prefix.ends_blank)
    for prefix in beam:
        parent = prefix.parent
        if parent is not None:
            if parent.is_alive:
                shared = parent.before[1] if prefix.label == parent.label else parent.before[0]
                prefix.ends_label = np.logaddexp(prefix.ends_label, shared)
            prefix.ends_label = prefix.ends_label + row[prefix.label]
        prefix.ends_blank = prefix.before[0] + row[blank]
        prefix.total = np.logaddexp(prefix.ends_blank, prefix.ends_label)
    leaves = sorted(beam, key=lambda p: -p.total)
    for prefix in beam:
        if not _gets_in(prefix.before[0], leaves, width):
            continue
        for label in range(blank):
            child = prefix.children.get(label)
            if child is None:
                child = prefix.children[label] = _Prefix(prefix, label)
            if child.is_alive:
                continue
            given = prefix.before[1] if label == prefix.label else prefix.before[0]
            total = row[label] + given
            if not _gets_in(total, leaves, width):
                child.leave()
                child.before = (child.total, child.ends_blank)
                continue
            child.ends_blank = np.float32(IMPOSSIBLE)
            child.ends_label = child.total = total
            if len(leaves) == width:
                leaves.pop().leave()
            _insert(leaves, child)
    return leaves


def _gets_in(total: Any, leaves: list[_Prefix], width: int) -> bool:
    return bool(total > IMPOSSIBLE and (len(leaves) < width or total > leaves[-1].total))


def _insert(leaves: list[_Prefix], child: _Prefix) -> None:
    """Keep the beam in order, best first; of equals the one that was there first."""
    at = len(leaves)
    while at and leaves[at - 1].total < child.total:
        at -= 1
    leaves.insert(at, child)
