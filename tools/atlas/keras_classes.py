"""Read the constructors and attributes of Keras classes from source, without importing it.

`ClassTable` holds the classes of one release. `arguments(name)` are the keyword arguments that
the constructor of a class accepts, with those that `**kwargs` passes on to its base classes;
`attributes(name)` are its methods and the attributes that its methods assign. Where several files
define a class of one name, as for the two behaviors of TensorFlow, the one in use comes first.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from keras_constructors import PASSED, Constructor, constructor, last_name, texts
from keras_earlier_arguments import earlier_arguments

INIT = "__init__"
EXPORTS = ("keras_export", "keras_core_export", "tf_export")
FORMER_CELLS = re.compile(r"legacy_rnn|legacy_cells")
"""The cells of TensorFlow 1, some of which have the names of layers."""
FIRST_BEHAVIOR = re.compile(r"_v1\.py$|v1/|legacy/|optimizer_v1|contrib/|ops/init_ops\.py$")
SECOND_BEHAVIOR = re.compile(r"_v2\.py$|v2/|optimizer_v2")


@dataclass
class KerasClass:
    """What the sources of a release say about a class, or a function that a configuration can name."""

    name: str
    path: str
    bases: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    exports: list[str] = field(default_factory=list)
    constructor: Constructor | None = None
    is_function: bool = False
    is_alias: bool = False
    """Whether it is only another name of its base."""


class ClassTable:
    """The classes in the files of a release, by name; `sources` are file contents by path."""

    def __init__(self, sources: Mapping[str, bytes], *, second: bool = True) -> None:
        self.classes: dict[str, list[KerasClass]] = {}
        self.conversions: dict[str, dict[str, str]] = {}
        for path in sorted(sources, key=lambda path: _precedence(path, second)):
            classes, conversions = _definitions(path, sources[path])
            self.conversions |= conversions
            for known in classes:
                self.classes.setdefault(known.name, []).append(known)
        for definitions in self.classes.values():
            definitions.sort(key=lambda known: known.is_alias)

    def chain(self, known: KerasClass) -> list[KerasClass]:
        """A class and its base classes, depth first, each once."""
        chain: list[KerasClass] = []
        self._extend(chain, known)
        return chain

    def _extend(self, chain: list[KerasClass], known: KerasClass) -> None:
        chain.append(known)
        for name in known.bases:
            base = next((base for base in self.classes.get(name, ()) if base not in chain), None)
            if base is not None:
                self._extend(chain, base)

    def constructors(self, known: KerasClass) -> list[tuple[KerasClass, Constructor]]:
        """The constructors that `**kwargs` reaches, in order; the last rejects what is left."""
        reached = []
        for owner in self.chain(known):
            if owner.constructor is not None:
                reached.append((owner, owner.constructor))
                if owner.constructor.rest != PASSED:
                    break
        return reached

    def earlier_arguments(self, known: KerasClass) -> dict[str, str]:
        """The arguments of Keras 1 that a constructor of Keras 2 accepts, each with its present name."""
        earlier: dict[str, str] = {}
        for _, reached in self.constructors(known):
            for decorator in reached.decorators:
                earlier |= self.conversions.get(decorator, {})
        return earlier

    def accepted(self, known: KerasClass) -> set[str]:
        """The keyword arguments that reach a constructor; a class may fix some of its base class."""
        accepted: set[str] = set()
        fixed: set[str] = set()
        first = 0
        for _, reached in self.constructors(known):
            fixed |= set(reached.arguments[:first])
            accepted |= set(reached.arguments) - fixed
            fixed |= reached.fixed
            first = reached.fixed_first
        return accepted

    def arguments(self, name: str) -> set[str]:
        """The keyword arguments that the constructor of a class accepts."""
        return {argument for known in self.classes.get(name, ())[:1] for argument in self.accepted(known)}

    def attributes(self, name: str) -> set[str]:
        chains = [self.chain(known) for known in self.classes.get(name, ())[:1]]
        return set().union(*(known.attributes for chain in chains for known in chain))


def _precedence(path: str, second: bool) -> tuple[bool, bool, bool, str]:
    behind = FIRST_BEHAVIOR if second else SECOND_BEHAVIOR
    ahead = SECOND_BEHAVIOR if second else FIRST_BEHAVIOR
    return bool(behind.search(path)), not ahead.search(path), bool(FORMER_CELLS.search(path)), path


@cache  # most files are the same in the next release
def _definitions(path: str, source: bytes) -> tuple[list[KerasClass], dict[str, dict[str, str]]]:
    """The classes, functions and further names of a file, and its renamed arguments."""
    classes: list[KerasClass] = []
    statements = list(_statements(source))
    for node in statements:
        if isinstance(node, ast.ClassDef):
            classes.append(_class(path, node))
        elif isinstance(node, ast.FunctionDef):
            classes.append(_function(path, node))
        else:
            names = [(name, base) for name, base in _other_names(node) if name != base]
            classes += [KerasClass(name, path, bases=[base], is_alias=True) for name, base in names]
    return classes, earlier_arguments(statements)


def _statements(source: bytes) -> Iterator[ast.stmt]:
    """The statements of a file, also those under conditions; empty for files in Python 2."""
    try:
        waiting = list(ast.parse(source).body)
    except SyntaxError:
        return
    while waiting:
        node = waiting.pop(0)
        yield node
        if isinstance(node, ast.If | ast.Try):
            waiting[:0] = [*node.body, *node.orelse]
        elif isinstance(node, ast.FunctionDef) and "deserializ" in node.name:
            waiting[:0] = node.body


def _other_names(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Further names of classes, and the class of each.

    `BatchNormalization = BatchNormalizationV1`, `OBJECTS["zero"] = Zeros`, `OBJECTS.update({"one": Ones})`.
    """
    if isinstance(node, ast.Assign):
        base = last_name(node.value)
        for target in node.targets if base else ():
            yield from ((name, base) for name in [last_name(target)] if name)
            if isinstance(target, ast.Subscript):
                yield from ((name, base) for name in texts(target.slice))
    for part in ast.walk(node) if isinstance(node, ast.Assign | ast.Expr) else ():
        if isinstance(part, ast.Dict):
            for key, value in zip(part.keys, part.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and last_name(value):
                    yield key.value, last_name(value)


def _class(path: str, node: ast.ClassDef) -> KerasClass:
    known = KerasClass(
        node.name, path, bases=[last_name(base) for base in node.bases], exports=list(_exports(node))
    )
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            known.attributes |= {part.name, *_assigned(part)}
            if part.name == INIT:
                known.constructor = constructor(part)
        elif isinstance(part, ast.Assign):
            known.attributes |= {target.id for target in part.targets if isinstance(target, ast.Name)}
    return known


def _function(path: str, node: ast.FunctionDef) -> KerasClass:
    return KerasClass(node.name, path, exports=list(_exports(node)), is_function=True)


def _exports(node: ast.ClassDef | ast.FunctionDef) -> Iterator[str]:
    """The public names that a decorator declares."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and last_name(decorator.func) in EXPORTS:
            for argument in decorator.args:
                yield from texts(argument)


def _assigned(function: ast.FunctionDef) -> Iterator[str]:
    """The attributes of `self` that a method assigns."""
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and last_name(target.value) == "self":
                yield target.attr
