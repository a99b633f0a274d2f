"""What the source of a constructor says about its arguments."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

CLOSED, PASSED, CHECKED, IGNORED = "closed", "passed", "checked", "ignored"
"""What a constructor does with `**kwargs`: it has none, passes them on, raises an error, or ignores them."""
ACCEPTED_SETS = ("allowed_kwargs", "validate_kwargs")
"""The names beside which constructors list what they take from `**kwargs`."""


@dataclass(frozen=True)
class Constructor:
    """The arguments of an `__init__`, and what it does with further ones."""

    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    rest: str = CLOSED
    fixed: frozenset[str] = frozenset()
    """The arguments of the base class that it states itself beside `**kwargs`: `rank=2`."""
    fixed_first: int = 0
    """How many of them it states by position."""
    decorators: tuple[str, ...] = ()


def constructor(function: ast.FunctionDef) -> Constructor:
    """What an `__init__` takes."""
    passing = next(_passing(function), None)
    return Constructor(
        tuple(dict.fromkeys([*_parameters(function), *_accepted(function)])),
        tuple(_required(function)),
        _rest(function),
        frozenset(keyword.arg for keyword in passing.keywords if keyword.arg) if passing else frozenset(),
        len(list(_stated(passing))) if passing else 0,
        tuple(last_name(decorator) for decorator in function.decorator_list),
    )


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c`; empty for what is no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def texts(node: ast.AST) -> Iterator[str]:
    """The texts inside an expression."""
    yield from (n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _parameters(function: ast.FunctionDef) -> Iterator[str]:
    yield from (argument.arg for argument in function.args.args[1:])
    yield from (argument.arg for argument in function.args.kwonlyargs)


def _passing(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls that get the `**kwargs` of a constructor."""
    kwargs = function.args.kwarg
    for node in ast.walk(function) if kwargs is not None else ():
        if isinstance(node, ast.Call) and any(
            keyword.arg is None and last_name(keyword.value) == kwargs.arg for keyword in node.keywords
        ):
            yield node


def _stated(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments by position, without `self` and `*args`."""
    yield from (a for a in call.args if last_name(a) != "self" and not isinstance(a, ast.Starred))


def _rest(function: ast.FunctionDef) -> str:
    """What a constructor does with the arguments that it does not name."""
    if function.args.kwarg is None:
        return CLOSED
    if any(_passing(function)):
        return PASSED
    kwargs = function.args.kwarg.arg
    tests = [node.test for node in ast.walk(function) if isinstance(node, ast.If)]
    loops = [_iterated(node.iter) for node in ast.walk(function) if isinstance(node, ast.For)]
    calls = [a for n in ast.walk(function) if isinstance(n, ast.Call) for a in n.args]
    names = [*tests, *loops, *(a for a in calls if isinstance(a, ast.Name))]
    return CHECKED if any(last_name(name) == kwargs for name in names) else IGNORED


def _iterated(node: ast.expr) -> ast.expr:
    """`kwargs` of `kwargs.keys()`."""
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args
    return node.func.value if is_method else node


def _required(function: ast.FunctionDef) -> Iterator[str]:
    positional = function.args.args[1:]
    yield from (argument.arg for argument in positional[: len(positional) - len(function.args.defaults)])
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    yield from (argument.arg for argument, default in pairs if default is None)


def _accepted(function: ast.FunctionDef) -> Iterator[str]:
    """The names that a constructor takes from its `**kwargs`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(
            last_name(target) in ACCEPTED_SETS for target in node.targets
        ):
            yield from texts(node.value)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            if last_name(node.comparators[0]) == "kwargs":
                yield from texts(node.left)
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            owner = last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if name in ACCEPTED_SETS or (owner == "kwargs" and name in ("pop", "get")):
                for argument in node.args[:2] if name in ACCEPTED_SETS else node.args[:1]:
                    yield from texts(argument)
