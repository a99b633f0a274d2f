"""Rules applied until the target resolves every node, the cheapest chain for each; a journal is kept.

A chain is a rule, and rules for what it made where the target does not take that either. It costs
what its promises cost (`Keeps.price`), one for each rule and one for each node made. A chain that
does not end is taken back whole, so a node is rewritten fully or left as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from tfport.errors import MalformedGraph
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.replace import Values, outcome, put_in_place
from tfport.fix.rule import LOSSY, Refusal, Rule
from tfport.fix.rulebook import Rulebook
from tfport.graph.attrs import Attr
from tfport.graph.graph import Node, Value
from tfport.registry.unresolved import Unresolved

Refusals = list[tuple[Rule, str]]
OURS = "tfport.fix.rules."
DRAW_ONLY = ("Stateless", "Rng")
"""Ops that are called stateful, and matter only to those who read the numbers that they draw."""
LONGEST = 6
"""Rules one after another for one node."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A node that no chain of rules makes the target take."""

    node: Node
    problems: Sequence[Unresolved]
    refusals: Refusals
    """Each rule that was tried, and why it did not do."""


@dataclass
class RuleChain:
    """What one rule made of a node, all of which the target takes."""

    rule: Rule
    maker: NodeBuilder
    values: Values
    steps: list[tuple[Rule, str, str]] = field(default_factory=list)
    """Every rule used, with the name and op of the node it was used on."""

    @property
    def cost(self) -> tuple[bool, int]:
        """What to compare chains by; one that begins with a user's own rule comes before all others."""
        price = sum(rule.keeps.price + 1 for rule, _, _ in self.steps)
        return self.rule.origin.startswith(OURS), price + len(self.maker.made)


class RuleEngine:
    """Rewrites nodes for one target."""

    def __init__(
        self,
        checker: NodeChecker,
        book: Rulebook,
        facts: Facts,
        journal: Journal,
        *,
        allow_lossy: bool = False,
    ) -> None:
        self.checker, self.book, self.facts, self.journal = checker, book, facts, journal
        self.allow_lossy = allow_lossy
        checker.facts = facts  # what a kernel refuses may depend on shapes that no file tells

    def rewrite(self, nodes: Iterable[Node], named: Collection[str] = ()) -> list[Stuck]:
        """Rewrite what the target does not take; `named` nodes of the main graph keep name and outputs."""
        stuck, nodes = list[Stuck](), list(nodes)
        read = {node for node in nodes if node.users}
        for node in nodes:
            problems = self.checker.unresolved(node)
            if not problems:
                continue
            refusals: Refusals = []
            chain = self._cheapest(node, (), refusals)
            if chain is None:
                stuck.append(Stuck(node, problems, refusals))
                continue
            for rule, name, op in chain.steps:
                self.journal.applied(rule, name, op)
            put_in_place(node, chain.values, chain.maker.made, self.facts, named=_is_known(node, named))
        return _without_unread(stuck, nodes, read, named)

    def _cheapest(
        self, node: Node, path: tuple[tuple[str, str], ...], refusals: Refusals
    ) -> RuleChain | None:
        best: RuleChain | None = None
        said = complete(node)
        for rule in self.book.of(node.op):
            if (rule.name, node.op) in path:
                continue
            if rule.keeps is LOSSY and not self.allow_lossy:
                refusals.append((rule, f"loses something ({rule.says}) and that was not allowed"))
                continue
            try:
                chain = self._chain(node, rule, path, refusals)
            except Refusal as refusal:
                refusals.append((rule, refusal.why))
                continue
            if best is None or chain.cost < best.cost:
                best, chain = chain, best or chain
            if chain is not best:
                chain.maker.undo()
        if best is None:
            node.become(node.op, said)
        return best

    def _chain(
        self, node: Node, rule: Rule, path: tuple[tuple[str, str], ...], refusals: Refusals
    ) -> RuleChain:
        maker = NodeBuilder(node, self.facts, self.checker)
        try:
            chain = RuleChain(
                rule, maker, outcome(node, rule.make(maker, node)), [(rule, node.name, node.op)]
            )
            for made in list(maker.made):
                if problems := self.checker.unresolved(made):
                    self._go_on(chain, made, problems, (*path, (rule.name, node.op)), refusals)
            if lost := next((v for v in node.read_outputs if chain.values[v.index] is None), None):
                raise Refusal(f"it leaves out `{lost}`, which is read")
        except (Refusal, MalformedGraph) as error:
            maker.undo()
            raise error if isinstance(error, Refusal) else Refusal(f"it fails: {error}") from None
        return chain

    def _go_on(
        self,
        chain: RuleChain,
        made: Node,
        problems: Sequence[Unresolved],
        path: tuple[tuple[str, str], ...],
        refusals: Refusals,
    ) -> None:
        """Let rules replace something that was made; refused where none does."""
        further = self._cheapest(made, path, refusals) if len(path) < LONGEST else None
        if further is None:
            raise Refusal(
                f"it makes {made.op}, which the target does not take ({problems[0].question.value})"
            )
        chain.steps += further.steps
        own, new = chain.maker.made, further.maker.made
        placed = put_in_place(made, further.values, new, self.facts, named=False)
        chain.values = [_placed(v, placed) if v and v.node is made else v for v in chain.values]
        chain.maker.made = [one for one in (*own, *new) if one.graph.nodes.get(one.name) is one]


def complete(node: Node) -> dict[str, Attr]:
    """Say the attributes outright that are at their defaults; the answer is what was said before."""
    said = dict(node.attrs)
    if (signature := node.signature) is not None:
        node.attrs.update(signature.with_defaults(said))
    return said


def _placed(value: Value, placed: Values) -> Value | None:
    """What an output is now; nothing where an op of fewer outputs took the place of its node."""
    return placed[value.index] if value.index < len(placed) else None


def _without_unread(
    stuck: list[Stuck], nodes: list[Node], read: Collection[Node], named: Collection[str]
) -> list[Stuck]:
    """Those that are still needed: what was read only by nodes that are gone is taken out."""
    kept = {one.node: one for one in stuck}
    for node in reversed(nodes):  # readers before what they read
        is_there = node.graph.nodes.get(node.name) is node
        if not is_there or node not in read or node.users or node.name in named:
            continue
        acts = node.is_stateful and not node.op.startswith(DRAW_ONLY)
        if not acts and (node.inputs or node in kept):  # what may be fed stays
            node.graph.remove(node)
            kept.pop(node, None)
    return list(kept.values())


def _is_known(node: Node, named: Collection[str]) -> bool:
    """Whether somebody may ask for a node by its name: in the main graph an end, or one said to be."""
    graph = node.graph
    return not graph.ends and (node.name in named or not node.users)
