"""Apply rules until the target resolves every node: the cheapest chain of rules for each.

A chain is a rule, followed by rules for those of its new nodes that the target does not run either.
Its cost is the price of its promises (`Keeps.price`), plus one for each rule and each new node. A
chain that does not succeed is undone, so a node is either rewritten completely or unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tfport.errors import MalformedGraph
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.replace import Values, put_in_place, replacement_values
from tfport.fix.rule import LOSSY, OtherProblem, Rule, Rulebook, is_own
from tfport.graph.attrs import Attr
from tfport.graph.building.node_builder import Refusal
from tfport.graph.graph import Function, Node, Value
from tfport.registry.unresolved import Unresolved
from tfport.startup.dataclass import dataclass, field

Refusals = list[tuple[Rule, str]]
DRAW_ONLY = ("Stateless", "Rng")
"""Prefixes of ops that are marked stateful, but have no effect except for their outputs."""
ALLOW_LOSSY = "allow it with --allow-lossy"
BUILDS = "it builds"
LONGEST = 6
"""The most rules in a chain."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A node for which no chain of rules succeeds."""

    node: Node
    problems: Sequence[Unresolved]
    refusals: Refusals
    """Each rule for its problems that was tried, and why it was not used."""


@dataclass
class RuleChain:
    """The result of a rule and the rules after it; the target runs all of its nodes."""

    rule: Rule
    builder: RuleBuilder
    values: Values
    steps: list[tuple[Rule, str, str]] = field(default_factory=list)
    """Every applied rule, with the name and op of the node."""

    @property
    def cost(self) -> tuple[bool, int]:
        """The sort key of chains; a chain that begins with a user's rule comes before all others."""
        price = sum(rule.keeps.price + 1 for rule, _, _ in self.steps)
        return is_own(self.rule), price + len(self.builder.added)


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
        checker.facts = facts  # whether a kernel refuses may depend on shapes that the file does not state

    def rewrite(self, nodes: Iterable[Node], named: Collection[str] = ()) -> list[Stuck]:
        """Rewrite nodes that the target does not run; `named` nodes of the main graph keep their outputs."""
        stuck, nodes = list[Stuck](), list(nodes)
        read = {node for node in nodes if node.users}
        resolved = self.checker.resolved(nodes)
        for node in nodes:
            problems = () if node in resolved else self.checker.unresolved(node)
            if not problems:
                continue
            refusals: Refusals = []
            chain = self._cheapest(node, (), refusals)
            if chain is None:
                stuck.append(Stuck(node, problems, refusals))
                continue
            put_in_place(node, chain.values, chain.builder.added, self.facts, named=_is_known(node, named))
            self.journal.replaced(chain.steps, _in_graph([node, *chain.builder.added]), _function(node))
        return _without_unread(stuck, nodes, read, named)

    def _cheapest(
        self, node: Node, path: tuple[tuple[str, str], ...], refusals: Refusals
    ) -> RuleChain | None:
        best: RuleChain | None = None
        before = complete(node)
        for rule in self.book.of(node.op):
            if (rule.name, node.op) in path or (best is not None and best.cost <= _least_cost(rule)):
                continue
            try:
                chain = self._chain(node, rule, path, refusals)
            except Refusal as refusal:
                if not isinstance(refusal, OtherProblem):
                    refusals.append((rule, refusal.why))
                continue
            if rule.keeps is LOSSY and not self.allow_lossy:
                chain.builder.undo()
                refusals.append((rule, f"is lossy ({rule.says}); {ALLOW_LOSSY}"))
                continue
            if best is None or chain.cost < best.cost:
                best, chain = chain, best or chain
            if chain is not best:
                chain.builder.undo()
        if best is None:
            node.become(node.op, before)
        return best

    def _chain(
        self, node: Node, rule: Rule, path: tuple[tuple[str, str], ...], refusals: Refusals
    ) -> RuleChain:
        if missing := _unstated(node):
            raise Refusal(f"`{node.name}` does not state {', '.join(missing)}")
        builder = RuleBuilder(node, self.facts, self.checker)
        try:
            chain = RuleChain(
                rule,
                builder,
                replacement_values(node, rule.make(builder, node)),
                [(rule, node.name, node.op)],
            )
            for new_node in list(builder.added):
                if problems := self.checker.unresolved(new_node):
                    self._replace_new_node(chain, new_node, problems, (*path, (rule.name, node.op)), refusals)
            if lost := next((v for v in node.read_outputs if chain.values[v.index] is None), None):
                raise Refusal(f"it does not replace `{lost}`, which is read")
        except (Refusal, MalformedGraph) as error:
            builder.undo()
            raise error if isinstance(error, Refusal) else Refusal(f"it fails: {error}") from None
        return chain

    def _replace_new_node(
        self,
        chain: RuleChain,
        node: Node,
        problems: Sequence[Unresolved],
        path: tuple[tuple[str, str], ...],
        refusals: Refusals,
    ) -> None:
        """Let rules replace a new node; refuses if none does."""
        further = self._cheapest(node, path, refusals) if len(path) < LONGEST else None
        if further is None:
            raise Refusal(f"{BUILDS} {node.op}, which the target does not run ({problems[0].question.value})")
        chain.steps += further.steps
        own, new = chain.builder.added, further.builder.added
        placed = put_in_place(node, further.values, new, self.facts, named=False)
        chain.values = [_placed(v, placed) if v and v.node is node else v for v in chain.values]
        chain.builder.added = [
            new_node for new_node in (*own, *new) if new_node.graph.nodes.get(new_node.name) is new_node
        ]


def _in_graph(nodes: Iterable[Node]) -> list[tuple[str, str]]:
    """The names and ops of those nodes that are in their graph."""
    return [(node.name, node.op) for node in nodes if node.graph.nodes.get(node.name) is node]


def _function(node: Node) -> str:
    return node.graph.name if isinstance(node.graph, Function) else ""


def _least_cost(rule: Rule) -> tuple[bool, int]:
    """What a chain that begins with a rule costs at least."""
    return is_own(rule), rule.keeps.price + 1


def complete(node: Node) -> dict[str, Attr]:
    """Make default attributes of a node explicit; returns the attributes as they were before."""
    before = dict(node.attrs)
    if (signature := node.signature) is not None:
        node.attrs.update(signature.with_defaults(before))
    return before


def _placed(value: Value, placed: Values) -> Value | None:
    """The value of an output after a replacement; None if the new op has fewer outputs."""
    return placed[value.index] if value.index < len(placed) else None


def _without_unread(
    stuck: list[Stuck], nodes: list[Node], read: Collection[Node], named: Collection[str]
) -> list[Stuck]:
    """The nodes that are still needed; removes nodes that only replaced nodes read."""
    kept = {entry.node: entry for entry in stuck}
    for node in reversed(nodes):  # readers before what they read
        is_in_graph = node.graph.nodes.get(node.name) is node
        if not is_in_graph or node not in read or node.users or node.name in named:
            continue
        acts = node.is_stateful and not node.op.startswith(DRAW_ONLY)
        if not acts and (node.inputs or node in kept):  # a node that may be fed stays
            node.graph.remove(node)
            kept.pop(node, None)
    return list(kept.values())


def _is_known(node: Node, named: Collection[str]) -> bool:
    """Whether a node must keep its name: in the main graph, a named node or one without readers."""
    graph = node.graph
    return not graph.ends and (node.name in named or not node.users)


def _unstated(node: Node) -> list[str]:
    """The types of inputs and outputs that a node must state and does not: hand-written graphs lack them."""
    signature = node.signature
    if signature is None:
        return []
    types = dict.fromkeys(arg.type_attr for arg in (*signature.inputs, *signature.outputs) if arg.type_attr)
    return [name for name in types if name not in node.attrs and name not in signature.defaults]
