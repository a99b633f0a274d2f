"""The rules there are, by op: those of `fix.rules`, and those of a file of one's own."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable
from pathlib import Path

from tfport.errors import Error
from tfport.fix import rules
from tfport.fix.rule import ANY, Rule, rules_in


class Rulebook:
    """Rules by op; those for the op itself come before those for any."""

    def __init__(self, among: Iterable[Rule]) -> None:
        self.rules = list(among)
        self._by_op: dict[str, list[Rule]] = {}
        for one in self.rules:
            for op in one.ops:
                self._by_op.setdefault(op, []).append(one)

    def of(self, op: str) -> list[Rule]:
        return [*self._by_op.get(op, ()), *self._by_op.get(ANY, ())]


@functools.cache
def own_rules() -> tuple[Rule, ...]:
    """The rules that tfport has."""
    names = sorted(info.name for info in pkgutil.iter_modules(rules.__path__))
    return tuple(
        one for name in names for one in rules_in(importlib.import_module(f"{rules.__name__}.{name}"))
    )


def rules_of_file(path: str) -> list[Rule]:
    """The rules of a Python file, which is run; what is wrong with it is told in one sentence."""
    name = f"tfport_rules_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise Error(f"{path}: no Python file with rules")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Error(f"{path}: {type(error).__name__}: {error}") from error
    found = rules_in(module)
    if not found:
        raise Error(f"{path}: declares no rule; expected functions under @tfport.fix.rule.rule(…)")
    return found
