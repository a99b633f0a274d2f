"""Rewrite rules: a function under `@rule` returns the replacement of a node, or why it refuses.

    @rule("FusedBatchNormV3", keeps=EXACT)
    def without_reserve_space(op, n):
        \"\"\"FusedBatchNormV2 has the first five outputs, and no reserve_space_3.\"\"\"
        if readers := n.outputs[5].uses:
            return refuse(f"`{readers[0]}` reads reserve_space_3")
        return op.FusedBatchNormV2(*n.inputs, **n.attrs)

`op` builds nodes (`fix.nodes.builder`). A rule returns a node, which replaces `n` output by
output; a value; or one value for each output (None for an output that nothing reads). Which
rules are used, and in which order, is decided by `fix.rule` and `fix.engine`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from types import ModuleType
from typing import TYPE_CHECKING

from tfport.discovery import STALE, Catalog, modules_of
from tfport.errors import Error
from tfport.graph.building.node_builder import Refusal
from tfport.graph.graph import Node, Value
from tfport.python_file import execute
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.fix.nodes.builder import RuleBuilder


ANY = "*"
"""As the op of a rule: every op."""


class Keeps(Enum):
    """What a rule promises about the outputs."""

    EXACT = "exact"
    """The same bits."""
    ROUNDING = "rounding"
    """The same mathematics, rounded in other places."""
    LOSSY = "lossy"
    """Something is lost; applied only where that is allowed."""

    @property
    def price(self) -> int:
        """The cost of applying a rule, in addition to one for each node that it adds."""
        return {Keeps.EXACT: 0, Keeps.ROUNDING: 1_000, Keeps.LOSSY: 1_000_000}[self]


EXACT, ROUNDING, LOSSY = Keeps.EXACT, Keeps.ROUNDING, Keeps.LOSSY


def refuse(why: str) -> Refusal:
    """Make the result of a rule that does not apply."""
    return Refusal(why)


class OtherProblem(Refusal):
    """The refusal of a rule that solves another problem than this node has: users need not know it."""


Replacement = Node | Value | Sequence[Node | Value | None] | Refusal
"""The result of a rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A replacement for nodes of some ops."""

    name: str
    ops: tuple[str, ...]
    keeps: Keeps
    says: str
    """What it does, in one sentence for users."""
    make: Callable[[RuleBuilder, Node], Replacement]
    origin: str
    """The module that declares it."""


RULES = Catalog[Rule]("rules", "tfport.fix.rules")
"""The rules of tfport by op, and under `ANY` those for every op."""


def rule(ops: str, *, keeps: Keeps) -> Callable[[Callable[[RuleBuilder, Node], Replacement]], Rule]:
    """Declare a rule for one or more ops, `"Add AddV2"`; the function's docstring is its sentence."""

    def declare(make: Callable[[RuleBuilder, Node], Replacement]) -> Rule:
        says = " ".join((make.__doc__ or make.__name__).partition("\n\n")[0].split())
        declared = Rule(make.__name__, tuple(ops.split()), keeps, says, make, make.__module__ or "")
        if is_own(declared):
            for op in declared.ops:
                RULES.add(op, declared)
        return declared

    return declare


def is_own(rule: Rule) -> bool:
    """Whether tfport declares a rule, not a user's file."""
    return rule.origin.startswith(f"{RULES.packages[0]}.")


def rules_in(module: ModuleType) -> list[Rule]:
    """The rules that a module declares, in order."""
    return [
        entry
        for entry in vars(module).values()
        if isinstance(entry, Rule) and entry.origin == module.__name__
    ]


# The rules to try for an op, in order.

HOW_TO_DECLARE = "`from tfport.fix.rule import EXACT, rule`, then functions under `@rule(OPS, keeps=EXACT)`"


class Rulebook:
    """Rules by op; rules for the op itself come before rules for any op."""

    def __init__(self, rules: Iterable[Rule] = (), catalog: Catalog[Rule] | None = None) -> None:
        self._catalog = catalog
        self._by_op: dict[str, list[Rule]] = {}
        for rule in rules:
            for op in rule.ops:
                self._by_op.setdefault(op, []).append(rule)

    def of(self, op: str) -> list[Rule]:
        """The rules for an op, in the order in which they are tried."""
        return [*self._declared_for(op), *self._declared_for(ANY)]

    def _declared_for(self, op: str) -> list[Rule]:
        own = self._by_op.get(op, [])
        if self._catalog is None:
            return own
        if self._catalog.lacks(op):
            raise Error(f"the index has no rule for {op}, but a module declares one; {STALE}")
        return [*own, *sorted(self._catalog.of(op), key=lambda rule: _last_name(rule.origin))]


def all_rules() -> list[Rule]:
    """Every rule of tfport, in the order in which they are tried."""
    modules = sorted(modules_of(RULES.packages[0]), key=_last_name)
    return [rule for module in modules for rule in rules_in(importlib.import_module(module))]


def _last_name(module: str) -> str:
    """The name of a module without its family: modules are tried in this order."""
    return module.rpartition(".")[2]


def rules_of_file(path: str) -> list[Rule]:
    """Execute a Python file, and return the rules that it declares."""
    rules = rules_in(execute(path, "rules"))
    if not rules:
        raise Error(f"{path}: declares no rule; expected {HOW_TO_DECLARE}")
    return rules
