"""Read the constructors and attributes of Keras classes from source, without importing it.

`ClassTable` holds the classes of one release. `arguments(name)` are the keyword arguments that
the constructor of a class accepts, with those that `**kwargs` passes on to its base classes;
`attributes(name)` are its methods and the attributes that its methods assign.
"""

import ast
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field

INIT = "__init__"
ACCEPTED_SETS = ("allowed_kwargs", "validate_kwargs")
"""The names beside which constructors list what they take from `**kwargs`."""


@dataclass
class KerasClass:
    """What the sources of a release say about a class of a name."""

    bases: set[str] = field(default_factory=set)
    arguments: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    has_init: bool = False
    passes_on: bool = False
    """Whether the constructor has `**kwargs`."""


class ClassTable:
    """The classes in the files of a release."""

    def __init__(self, archive: zipfile.ZipFile, members: list[str]) -> None:
        self.classes: dict[str, KerasClass] = {}
        for member in members:
            for node in ast.parse(archive.read(member)).body:
                if isinstance(node, ast.ClassDef):
                    self._add(node)
                elif isinstance(node, ast.Assign):
                    self._add_other_names(node)

    def _add(self, node: ast.ClassDef) -> None:
        known = self.classes.setdefault(node.name, KerasClass())
        known.bases |= {_last_name(base) for base in node.bases} - {node.name}
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                known.attributes |= {part.name, *_assigned(part)}
                if part.name == INIT:
                    known.has_init = True
                    known.passes_on |= part.args.kwarg is not None
                    known.arguments |= {*_parameters(part), *_accepted(part)}
            elif isinstance(part, ast.Assign):
                known.attributes |= {target.id for target in part.targets if isinstance(target, ast.Name)}

    def _add_other_names(self, node: ast.Assign) -> None:
        """`BatchNormalization = BatchNormalizationV1` is a class without a constructor of its own."""
        if base := _last_name(node.value):
            for target in filter(None, map(_last_name, node.targets)):
                self.classes.setdefault(target, KerasClass()).bases.add(base)

    def arguments(self, name: str, seen: frozenset[str] = frozenset()) -> set[str]:
        known = self.classes.get(name)
        if known is None or name in seen:
            return set()
        accepted = set(known.arguments)
        if known.passes_on or not known.has_init:
            for base in known.bases:
                accepted |= self.arguments(base, seen | {name})
        return accepted

    def attributes(self, name: str, seen: frozenset[str] = frozenset()) -> set[str]:
        known = self.classes.get(name)
        if known is None or name in seen:
            return set()
        return set(known.attributes).union(*(self.attributes(base, seen | {name}) for base in known.bases))


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _parameters(function: ast.FunctionDef) -> Iterator[str]:
    yield from (argument.arg for argument in function.args.args[1:])
    yield from (argument.arg for argument in function.args.kwonlyargs)


def _accepted(function: ast.FunctionDef) -> Iterator[str]:
    """The names that a constructor takes from its `**kwargs`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(
            _last_name(target) in ACCEPTED_SETS for target in node.targets
        ):
            yield from _texts(node.value)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            if _last_name(node.comparators[0]) == "kwargs":
                yield from _texts(node.left)
        elif isinstance(node, ast.Call):
            name = _last_name(node.func)
            owner = _last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if name in ACCEPTED_SETS or (owner == "kwargs" and name in ("pop", "get")):
                for argument in node.args[:2] if name in ACCEPTED_SETS else node.args[:1]:
                    yield from _texts(argument)


def _texts(node: ast.expr) -> Iterator[str]:
    yield from (n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _assigned(function: ast.FunctionDef) -> Iterator[str]:
    """The attributes of `self` that a method assigns."""
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and _last_name(target.value) == "self":
                yield target.attr
