"""Beam search for the most probable label sequences of one matrix of CTC logits.

A prefix has two log probabilities: of ending in its last label, and of ending in a blank.
If a prefix and its extension are both in the beam, the paths that lead from one to the other
are added to the extension.
"""

from __future__ import annotations

from typing import Any

import numpy as np

IMPOSSIBLE = -np.inf


class _Prefix:
    """A parent prefix and one more label; `before` holds total and blank of the previous step."""

    __slots__ = ("before", "children", "ends_blank", "ends_label", "label", "parent", "total")

    def __init__(self, parent: _Prefix | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Prefix] = {}
        self.total = self.ends_blank = self.ends_label = np.float32(IMPOSSIBLE)
        self.before = (self.total, self.ends_blank)

    def remove(self) -> None:
        """Leave the beam; children may still use `before` in this step."""
        self.total = self.ends_blank = self.ends_label = np.float32(IMPOSSIBLE)

    @property
    def is_alive(self) -> bool:
        return bool(self.total != IMPOSSIBLE)

    def labels(self, merge_repeated: bool) -> list[int]:
        labels: list[int] = []
        prefix, last = self, -1
        while prefix.parent is not None:
            if not merge_repeated or prefix.label != last:
                labels.append(prefix.label)
            last = prefix.label
            prefix = prefix.parent
        return labels[::-1]


def best_paths(logits: Any, width: int, count: int, merge_repeated: bool) -> list[tuple[list[int], Any]]:
    """Return label sequences with their log probabilities, best first; the last class is the blank."""
    root = _Prefix(None, -1)
    root.total = root.ends_blank = logits.dtype.type(0)
    beam = [root]
    for row in logits:
        beam = _step(beam, row - np.logaddexp.reduce(row), width)
    paths = [(prefix.labels(merge_repeated), prefix.total) for prefix in beam[:count]]
    return paths + [([], logits.dtype.type(0))] * (count - len(paths))


def _step(beam: list[_Prefix], row: Any, width: int) -> list[_Prefix]:
    """Extend the beam by one time step with log probabilities `row`."""
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
        if not _enters_beam(prefix.before[0], leaves, width):
            continue
        for label in range(blank):
            child = prefix.children.get(label)
            if child is None:
                child = prefix.children[label] = _Prefix(prefix, label)
            if child.is_alive:
                continue
            start = prefix.before[1] if label == prefix.label else prefix.before[0]
            total = row[label] + start
            if not _enters_beam(total, leaves, width):
                child.remove()
                child.before = (child.total, child.ends_blank)
                continue
            child.ends_blank = np.float32(IMPOSSIBLE)
            child.ends_label = child.total = total
            if len(leaves) == width:
                leaves.pop().remove()
            _insert(leaves, child)
    return leaves


def _enters_beam(total: Any, leaves: list[_Prefix], width: int) -> bool:
    return bool(total > IMPOSSIBLE and (len(leaves) < width or total > leaves[-1].total))


def _insert(leaves: list[_Prefix], child: _Prefix) -> None:
    """Insert `child` into a list sorted by descending total, after elements with the same total."""
    at = len(leaves)
    while at and leaves[at - 1].total < child.total:
        at -= 1
    leaves.insert(at, child)
