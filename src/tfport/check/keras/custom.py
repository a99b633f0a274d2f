"""The classes and functions that a program will register with Keras before it loads a file.

`check --custom Scale` says that there is one of this name; `--custom Scale=layers.py` also where its source
is. The source is parsed, never executed: it says which arguments the constructor takes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from tfport.atlas.keras_releases import CHECKED, IGNORED, KerasObject, KerasRelease
from tfport.errors import Error
from tfport.formats.files import reason

OF_ANY_LAYER = (
    "name",
    "trainable",
    "dtype",
    "dynamic",
    "batch_input_shape",
    "input_shape",
    "activity_regularizer",
)
"""The arguments that the base class of layers takes, where the constructor passes the rest on."""
Definition = ast.ClassDef | ast.FunctionDef


class KerasWithCustom(KerasRelease):
    """A release of Keras with the classes and functions of a program."""

    custom: Mapping[str, KerasObject]

    @classmethod
    def of(cls, release: KerasRelease, custom: Mapping[str, KerasObject]) -> KerasWithCustom:
        combined = cls(release.package, release.version, release.number)
        object.__setattr__(combined, "custom", custom)
        return combined

    @cache  # noqa: B019  as that of every release
    def find(self, kind: str, name: str) -> KerasObject | None:
        """What the program registered is found first, also as `Package>Name`."""
        return self.custom.get(name.rpartition(">")[2]) or super().find(kind, name)


def custom_objects(declared: Iterable[str]) -> dict[str, KerasObject]:
    """The objects that `NAME` or `NAME=FILE.py` declare."""
    objects = {}
    for text in declared:
        name, has_file, path = text.partition("=")
        if not name.isidentifier():
            raise Error(f"--custom {text}: expected the name of a class or function, or NAME=FILE.py")
        objects[name] = _defined(name, path) if has_file else _object(name, frozenset(), (), IGNORED)
    return objects


def is_custom(release: KerasRelease, *names: object) -> KerasObject | None:
    """The object of the program that one of these names means."""
    custom = release.custom if isinstance(release, KerasWithCustom) else {}
    return next((custom[n] for name in names if (n := str(name).rpartition(">")[2]) in custom), None)


def _object(name: str, arguments: frozenset[str], required: tuple[str, ...], rest: str) -> KerasObject:
    return KerasObject(name, "layer", "", False, name, rest, arguments, required, (), {})


def _defined(name: str, path: str) -> KerasObject:
    """The object of a source file, with the arguments of its constructor."""
    try:
        tree = ast.parse(Path(path).read_bytes(), path)
    except OSError as error:
        raise Error(f"{path}: {reason(error)}") from None
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Error(f"{path}: not a Python file: {error}") from None
    definition = next((node for node in _definitions(tree) if node.name == name), None)
    if definition is None:
        known = ", ".join(node.name for node in _definitions(tree)) or "none"
        raise Error(f"{path}: no class or function `{name}`; it defines {known}")
    return _from(definition)


def _definitions(tree: ast.Module) -> Iterator[Definition]:
    yield from (node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef))


def _from(definition: Definition) -> KerasObject:
    name = definition.name
    if isinstance(definition, ast.FunctionDef):
        return _object(name, frozenset(), (), IGNORED)
    members = [node for node in definition.body if isinstance(node, ast.FunctionDef)]
    constructor = next((node for node in members if node.name == "__init__"), None)
    if constructor is None or any(node.name == "from_config" for node in members):
        return _object(name, frozenset(), (), IGNORED)
    parameters = constructor.args
    plain = [argument.arg for argument in (*parameters.posonlyargs, *parameters.args)][1:]
    required = plain[: len(plain) - len(parameters.defaults)]
    keyword = [argument.arg for argument in parameters.kwonlyargs]
    required += [a for a, default in zip(keyword, parameters.kw_defaults, strict=True) if default is None]
    passed_on = OF_ANY_LAYER if parameters.kwarg is not None else ()
    return _object(name, frozenset((*plain, *keyword, *passed_on)), tuple(required), CHECKED)
