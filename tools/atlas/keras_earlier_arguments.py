"""Which arguments of Keras 1 the constructors of Keras 2 accept, from the decorators that convert them.

A decorator lists renamed arguments (`conversions=[("output_dim", "units")]`), and may have a function of its
own (`preprocessor=`) that takes an argument away, or makes a new one of several.
"""

import ast
from collections.abc import Iterator, Mapping

from keras_constructors import last_name, texts

CONVERSIONS, PREPROCESSOR = "conversions", "preprocessor"
KWARGS = "kwargs"
REMOVED = ""
"""The present name of an argument that is taken away."""


def earlier_arguments(statements: list[ast.stmt]) -> dict[str, dict[str, str]]:
    """The present name of each earlier argument, by the decorator that converts it."""
    functions = {node.name: node for node in statements if isinstance(node, ast.FunctionDef)}
    by_decorator = {}
    for node in statements:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names: dict[str, str] = {}
            for old, new in _names(node.value, functions):
                names[old] = new or names.get(old, REMOVED)
            by_decorator |= {last_name(target): names for target in node.targets if names}
    return by_decorator


def _names(call: ast.Call, functions: Mapping[str, ast.FunctionDef]) -> Iterator[tuple[str, str]]:
    for keyword in call.keywords:
        if keyword.arg == CONVERSIONS and isinstance(keyword.value, ast.List):
            pairs = [tuple(texts(pair)) for pair in keyword.value.elts]
            yield from ((pair[0], pair[1]) for pair in pairs if len(pair) == 2)
        elif keyword.arg == PREPROCESSOR:
            yield from _processed(last_name(keyword.value), functions)


def _processed(name: str, functions: Mapping[str, ast.FunctionDef]) -> Iterator[tuple[str, str]]:
    """The arguments that a function takes from `kwargs`, each with the one that it sets in their place."""
    for block in ast.walk(functions[name]) if name in functions else ():
        if isinstance(block, ast.If):
            new = next((text for node in block.body for text in _set(node)), REMOVED)
            yield from ((old, new) for node in block.body for old in _taken(node))
        elif isinstance(block, ast.Call) and last_name(block.func) in functions:
            yield from _processed(last_name(block.func), functions)


def _set(node: ast.stmt) -> Iterator[str]:
    """The key of `kwargs["key"] = …`, also under a condition."""
    for part in ast.walk(node):
        for target in part.targets if isinstance(part, ast.Assign) else ():
            if isinstance(target, ast.Subscript) and last_name(target.value) == KWARGS:
                yield from texts(target.slice)


def _taken(node: ast.stmt) -> Iterator[str]:
    """The keys of `kwargs.pop("key")`."""
    for part in ast.walk(node):
        method = part.func if isinstance(part, ast.Call) else None
        is_taken = isinstance(method, ast.Attribute) and method.attr == "pop"
        if is_taken and last_name(method.value) == KWARGS:
            yield from texts(part.args[0])
