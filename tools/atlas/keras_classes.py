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

INIT = "__init__"
CLOSED, PASSED, CHECKED, IGNORED = "closed", "passed", "checked", "ignored"
"""What a constructor does with `**kwargs`: it has none, passes them on, raises an error, or ignores them."""
ACCEPTED_SETS = ("allowed_kwargs", "validate_kwargs")
"""The names beside which constructors list what they take from `**kwargs`."""
CONVERSIONS = "conversions"
"""The argument with which Keras 2 lists the names that arguments had in Keras 1."""
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
    arguments: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    exports: list[str] = field(default_factory=list)
    has_init: bool = False
    rest: str = CLOSED
    """What the constructor does with further arguments."""
    is_function: bool = False
    is_alias: bool = False
    """Whether it is only another name of its base."""
    converted_by: list[str] = field(default_factory=list)
    """The decorators of its constructor; those of Keras 2 accept the arguments of Keras 1."""


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

    def constructors(self, known: KerasClass) -> Iterator[KerasClass]:
        """The classes whose constructors `**kwargs` reaches, in order; the last rejects what is left."""
        for owner in self.chain(known):
            if owner.has_init:
                yield owner
                if owner.rest != PASSED:
                    return

    def earlier_arguments(self, known: KerasClass) -> dict[str, str]:
        """The arguments of Keras 1 that a constructor of Keras 2 accepts, each with its present name."""
        earlier: dict[str, str] = {}
        for owner in self.constructors(known):
            for decorator in owner.converted_by:
                earlier |= self.conversions.get(decorator, {})
        return earlier

    def arguments(self, name: str) -> set[str]:
        """The keyword arguments that the constructor of a class accepts."""
        return {
            argument
            for known in self.classes.get(name, ())[:1]
            for owner in self.constructors(known)
            for argument in owner.arguments
        }

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
    conversions: dict[str, dict[str, str]] = {}
    for node in _statements(source):
        if isinstance(node, ast.ClassDef):
            classes.append(_class(path, node))
        elif isinstance(node, ast.FunctionDef):
            classes.append(_function(path, node))
        else:
            conversions |= _conversions(node)
            names = [(name, base) for name, base in _other_names(node) if name != base]
            classes += [KerasClass(name, path, bases=[base], is_alias=True) for name, base in names]
    return classes, conversions


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
        base = _last_name(node.value)
        for target in node.targets if base else ():
            yield from ((name, base) for name in [_last_name(target)] if name)
            if isinstance(target, ast.Subscript):
                yield from ((name, base) for name in _texts(target.slice))
    for part in ast.walk(node) if isinstance(node, ast.Assign | ast.Expr) else ():
        if isinstance(part, ast.Dict):
            for key, value in zip(part.keys, part.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and _last_name(value):
                    yield key.value, _last_name(value)


def _class(path: str, node: ast.ClassDef) -> KerasClass:
    known = KerasClass(
        node.name, path, bases=[_last_name(base) for base in node.bases], exports=list(_exports(node))
    )
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            known.attributes |= {part.name, *_assigned(part)}
            if part.name == INIT:
                known.has_init = True
                known.rest = _rest(part)
                known.arguments = list(dict.fromkeys([*_parameters(part), *_accepted(part)]))
                known.required = list(_required(part))
                known.converted_by = [_last_name(decorator) for decorator in part.decorator_list]
        elif isinstance(part, ast.Assign):
            known.attributes |= {target.id for target in part.targets if isinstance(target, ast.Name)}
    return known


def _function(path: str, node: ast.FunctionDef) -> KerasClass:
    return KerasClass(node.name, path, exports=list(_exports(node)), is_function=True)


def _exports(node: ast.ClassDef | ast.FunctionDef) -> Iterator[str]:
    """The public names that a decorator declares."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and _last_name(decorator.func) in EXPORTS:
            for argument in decorator.args:
                yield from _texts(argument)


def _conversions(node: ast.stmt) -> dict[str, dict[str, str]]:
    """The renamed arguments by the name of the decorator that renames them."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return {}
    pairs = [
        tuple(_texts(pair))
        for keyword in node.value.keywords
        if keyword.arg == CONVERSIONS and isinstance(keyword.value, ast.List)
        for pair in keyword.value.elts
    ]
    names = dict(pair for pair in pairs if len(pair) == 2)
    return {_last_name(target): names for target in node.targets} if names else {}


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _parameters(function: ast.FunctionDef) -> Iterator[str]:
    yield from (argument.arg for argument in function.args.args[1:])
    yield from (argument.arg for argument in function.args.kwonlyargs)


def _rest(function: ast.FunctionDef) -> str:
    """What a constructor does with the arguments that it does not name."""
    if function.args.kwarg is None:
        return CLOSED
    kwargs = function.args.kwarg.arg
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and any(
            keyword.arg is None and _last_name(keyword.value) == kwargs for keyword in node.keywords
        ):
            return PASSED
    tests = [node.test for node in ast.walk(function) if isinstance(node, ast.If)]
    loops = [node.iter for node in ast.walk(function) if isinstance(node, ast.For)]
    calls = [a for n in ast.walk(function) if isinstance(n, ast.Call) for a in n.args]
    names = [*tests, *loops, *(a for a in calls if isinstance(a, ast.Name))]
    return CHECKED if any(_last_name(name) == kwargs for name in names) else IGNORED


def _required(function: ast.FunctionDef) -> Iterator[str]:
    positional = function.args.args[1:]
    yield from (argument.arg for argument in positional[: len(positional) - len(function.args.defaults)])
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    yield from (argument.arg for argument, default in pairs if default is None)


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
