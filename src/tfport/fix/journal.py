"""The changes to a model: each rule and change with its promise and the nodes that it changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tfport.fix.rule import EXACT, Keeps, Rule

MOST_EXAMPLES = 5


@dataclass
class JournalEntry:
    """One rule or change, and how often it was applied."""

    name: str
    keeps: Keeps
    says: str
    count: int = 0
    examples: list[str] = field(default_factory=list)
    ops: Counter[str] = field(default_factory=Counter)
    """The ops of the changed nodes."""


class Journal:
    """Entries in the order of their first use."""

    def __init__(self) -> None:
        self._entries: dict[str, JournalEntry] = {}

    @property
    def entries(self) -> list[JournalEntry]:
        return list(self._entries.values())

    @property
    def keeps(self) -> Keeps:
        """The weakest promise of all entries."""
        return max((entry.keeps for entry in self.entries), key=lambda k: k.price, default=EXACT)

    def applied(self, rule: Rule, name: str, op: str) -> None:
        """Record that a rule was applied to a node."""
        self._note(JournalEntry(rule.name, rule.keeps, rule.says), [(name, op)])

    def changed(self, name: str, says: str, nodes: Iterable[tuple[str, str]], keeps: Keeps = EXACT) -> None:
        """Record a change of nodes, each a name and an op; records nothing without nodes."""
        self._note(JournalEntry(name, keeps, says), nodes)

    def _note(self, new: JournalEntry, nodes: Iterable[tuple[str, str]]) -> None:
        for name, op in nodes:
            entry = self._entries.setdefault(new.name, new)
            entry.count += 1
            entry.ops[op] += 1
            if len(entry.examples) < MOST_EXAMPLES:
                entry.examples.append(name)
