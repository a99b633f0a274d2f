"""The rules to try for an op, in order: a user's own rules first, then those of `fix.rules`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from tfport.discovery import STALE, Catalog, modules_of
from tfport.errors import Error
from tfport.fix.rule import ANY, RULES, Rule, rules_in
from tfport.python_file import execute

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
