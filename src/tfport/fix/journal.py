"""The changes to a model: each rule and change with its promise and the nodes that it changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tfport.fix.rule import EXACT, Keeps, Rule
from tfport.startup.dataclass import dataclass, field

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


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node that was changed: its name and op before, the rules, and what took its place."""

    node: str
    op: str
    rules: tuple[str, ...]
    after: tuple[tuple[str, str], ...] | None = None
    """The names and ops of the new nodes; None if the whole structure of the model was changed."""
    function: str = ""
    """The function that contains it; empty for the main graph."""


class Journal:
    """Entries in the order of their first use, and every changed node."""

    def __init__(self) -> None:
        self._entries: dict[str, JournalEntry] = {}
        self.changes: list[NodeChange] = []

    @property
    def entries(self) -> list[JournalEntry]:
        return list(self._entries.values())

    @property
    def keeps(self) -> Keeps:
        """The weakest promise of all entries."""
        return max((entry.keeps for entry in self.entries), key=lambda k: k.price, default=EXACT)

    def replaced(
        self, steps: Sequence[tuple[Rule, str, str]], after: Iterable[tuple[str, str]], function: str = ""
    ) -> None:
        """Record the rules that replaced a node: the first was applied to it, the others to new nodes."""
        for rule, name, op in steps:
            self._note(JournalEntry(rule.name, rule.keeps, rule.says), [(name, op)])
        _, name, op = steps[0]
        rules = tuple(rule.name for rule, _, _ in steps)
        self.changes.append(NodeChange(name, op, rules, tuple(after), function))

    def changed(
        self,
        name: str,
        says: str,
        nodes: Iterable[tuple[str, str]],
        keeps: Keeps = EXACT,
        after: Iterable[tuple[str, str]] | None = None,
    ) -> None:
        """Record a change of nodes, each a name and an op; records nothing without nodes."""
        nodes, new = list(nodes), None if after is None else tuple(after)
        self._note(JournalEntry(name, keeps, says), nodes)
        self.changes += [NodeChange(node, op, (name,), new) for node, op in nodes]

    def _note(self, new: JournalEntry, nodes: Iterable[tuple[str, str]]) -> None:
        for name, op in nodes:
            entry = self._entries.setdefault(new.name, new)
            entry.count += 1
            entry.ops[op] += 1
            if len(entry.examples) < MOST_EXAMPLES:
                entry.examples.append(name)
