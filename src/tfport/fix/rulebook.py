"""The rules to try for an op, in order: a user's own rules first, then those of `fix.rules`."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path

from tfport.discovery import STALE, Catalog, modules_of
from tfport.errors import Error
from tfport.fix.rule import ANY, RULES, Rule, rules_in

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
    modules = sorted(modules_of(RULES.package), key=_last_name)
    return [rule for module in modules for rule in rules_in(importlib.import_module(module))]


def _last_name(module: str) -> str:
    """The name of a module without its family: modules are tried in this order."""
    return module.rpartition(".")[2]


def rules_of_file(path: str) -> list[Rule]:
    """Execute a Python file, and return the rules that it declares."""
    name = f"tfport_rules_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise Error(f"{path}: expected a Python file with rules")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Error(f"{path}: {type(error).__name__}: {error}") from error
    rules = rules_in(module)
    if not rules:
        raise Error(f"{path}: declares no rule; expected {HOW_TO_DECLARE}")
    return rules
