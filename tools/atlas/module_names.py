"""Read which names the Python modules of a package have, from their source, without importing them.

`SourceTree(files)` knows definitions, assignments, imports (also `import *`, with `__all__`), and
`remove_undocumented`, with which TensorFlow 1 hid the names that a docstring does not list.
"""

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

GENERATED = re.compile(r"(^|\.)(gen_\w+_ops|gen_\w+|\w+_pb2|\w+_pb2_grpc)$")
"""Modules that a program wrote: their functions are read line by line, which is much faster."""
DOCUMENTED = re.compile(r"@@(\w+)")
DEFINITION = re.compile(r"^(?:(?:def|class) )?(\w+)(?:\(|:| = )", re.MULTILINE)
ALLOWED = ("_allowed_symbols", "allowed_symbols")
DEEPEST = 6


@dataclass(frozen=True)
class Origin:
    """Where a module got a name from: attribute `name` of `module`, or the module itself."""

    module: str
    name: str | None = None


@dataclass
class Names:
    """The names of a module; `exported` are those that `import *` takes, if it says so."""

    origins: dict[str, Origin | None] = field(default_factory=dict)
    exported: set[str] | None = None
    allowed: set[str] = field(default_factory=set)
    hide: ast.Call | None = None

    def public(self) -> Iterator[str]:
        for name in self.origins:
            if name in self.exported if self.exported else not name.startswith("_"):
                yield name


class SourceTree:
    """The modules of a package by their dotted names."""

    def __init__(self, files: Mapping[str, Callable[[], bytes]], compiled: Iterable[str] = ()) -> None:
        self.packages = {name.removesuffix(".__init__") for name in files if name.endswith(".__init__")}
        self._read = {name.removesuffix(".__init__"): read for name, read in files.items()}
        self.modules = self._read.keys() | set(compiled)
        self._names: dict[str, Names] = {}

    def names(self, module: str) -> Names:
        if module not in self._names:
            names = self._names[module] = Names()
            if module in self._read:
                self._scan(module, names)
        return self._names[module]

    def module_of(self, origin: Origin | None, depth: int = 0) -> str | None:
        """The module that a name stands for; None if it is no module of the package."""
        if origin is None or depth > DEEPEST:
            return None
        inner = origin.module if origin.name is None else f"{origin.module}.{origin.name}"
        if inner in self.modules:
            return inner
        if origin.name is None or origin.module not in self._read:
            return None
        return self.module_of(self.names(origin.module).origins.get(origin.name), depth + 1)

    def _scan(self, module: str, names: Names) -> None:
        source = self._read[module]()
        tree = None if GENERATED.search(module) else _parsed(source)
        if tree is None:
            names.origins |= dict.fromkeys(DEFINITION.findall(source.decode(errors="replace")))
            return
        for statement in _statements(tree.body):
            self._add(module, statement, names)
        if names.hide is not None:
            self._hide(names, ast.get_docstring(tree) or "")

    def _add(self, module: str, statement: ast.stmt, names: Names) -> None:
        match statement:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                names.origins[statement.name] = None
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                _add_assignment(statement, names)
            case ast.Import():
                for alias in statement.names:
                    top = alias.name.partition(".")[0]
                    names.origins[alias.asname or top] = Origin(_own(alias.name) if alias.asname else top)
            case ast.ImportFrom() if statement.module != "__future__":
                self._add_import(self._source(module, statement), statement.names, names)
            case ast.Expr(value=ast.Call() as call):
                _add_call(call, names)

    def _add_import(self, source: str, aliases: list[ast.alias], names: Names) -> None:
        for alias in aliases:
            if alias.name != "*":
                names.origins[alias.asname or alias.name] = Origin(source, alias.name)
            elif source in self._read:
                names.origins |= {name: Origin(source, name) for name in self.names(source).public()}

    def _source(self, module: str, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return _own(statement.module or "")
        parts = module.split(".")
        upward = statement.level - (module in self.packages)
        return ".".join([*parts[: len(parts) - upward], *([statement.module] if statement.module else [])])

    def _hide(self, names: Names, docstring: str) -> None:
        """Drop the names that neither a docstring nor the list of exceptions has."""
        assert names.hide is not None
        arguments = [*names.hide.args[1:], *(keyword.value for keyword in names.hide.keywords)]
        kept = names.allowed | set(DOCUMENTED.findall(docstring))
        for argument in arguments:
            kept |= _strings(argument)
            for node in ast.walk(argument):
                module = self.module_of(names.origins.get(node.id)) if isinstance(node, ast.Name) else None
                if module in self._read:
                    kept |= set(DOCUMENTED.findall(self._read[module]().decode(errors="replace")))
        names.origins = {name: origin for name, origin in names.origins.items() if name in kept}


def _parsed(source: bytes) -> ast.Module | None:
    """The syntax tree; None for source of Python 2, or of Python before `async` was a keyword."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return ast.parse(source)
        except SyntaxError:
            return None


def _own(module: str) -> str:
    """TensorFlow 1.15 to 2.1 have their modules in `tensorflow_core`, and as `tensorflow` too."""
    return re.sub(r"^tensorflow_core\b", "tensorflow", module)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, those of conditions too."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            parts = [statement.body, getattr(statement, "orelse", []), getattr(statement, "finalbody", [])]
            parts += [handler.body for handler in getattr(statement, "handlers", [])]
            for part in parts:
                yield from _statements(part)


def _add_assignment(statement: ast.Assign | ast.AnnAssign | ast.AugAssign, names: Names) -> None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        for node in ast.walk(target):
            if not isinstance(node, ast.Name) or not isinstance(target, ast.Name | ast.Tuple | ast.List):
                continue
            names.origins[node.id] = None
            if node.id == "__all__" and isinstance(statement.value, ast.List | ast.Tuple):
                names.exported = (names.exported or set()) | _strings(statement.value)
            elif node.id in ALLOWED and statement.value is not None:
                names.allowed |= _strings(statement.value)


def _add_call(call: ast.Call, names: Names) -> None:
    match call.func:
        case ast.Name(id="remove_undocumented") | ast.Attribute(attr="remove_undocumented"):
            names.hide = call
        case ast.Name(id="setattr") if isinstance(name := call.args[1], ast.Constant):
            names.origins.setdefault(name.value, None)
        case ast.Attribute(attr="package_hook"):
            added = [keyword.value for keyword in call.keywords if keyword.arg == "child_package_str"]
            names.origins |= {text.rpartition(".")[2]: None for value in added for text in _strings(value)}
        case ast.Attribute(attr="extend" | "append", value=ast.Name(id=name)) if name in ALLOWED:
            names.allowed |= set().union(*map(_strings, call.args))


def _strings(node: ast.AST) -> set[str]:
    constants = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant))
    return {value for value in constants if isinstance(value, str)}
