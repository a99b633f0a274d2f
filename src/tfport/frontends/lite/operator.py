"""How an operator is declared: `@builtin("CONV_2D")` on a function that adds its nodes.

    @builtin("FULLY_CONNECTED")
    def fully_connected(b, x, weights, bias=None, *, fused_activation_function, keep_num_dims):
        ...

The positional parameters are the inputs (`LiteValue`, None for an optional one that is left out), the
keyword-only ones the options that the function uses, by their names in the schema. An option that it
does not name is refused unless it has its default. Options that several operators share are the fields of a
dataclass, the default of a parameter (`windows: Convolution2D = Convolution2D`). The function returns a
node, a value, or a list with one for each output.

`@builtin` is for real numbers, and for integers and strings that are meant as such. An operator whose
first input or output is quantized needs `@quantized`, or `@builtin(…, any_type=True)` for ops that only
move values, which is used where no other declaration fits. `@custom` is for custom ops: its keyword-only
parameters are keys of the custom options. A custom op that is not declared is the op of TensorFlow, or of
`@tfport.op`, with the same name, if there is one: so the converter writes ops that it does not know.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from tfport.discovery import Catalog
from tfport.formats.lite.records import CUSTOM, FLEX, LiteOperator, Subgraph
from tfport.frontends.lite.tensor import is_quantized
from tfport.graph.op_signature import OpTable
from tfport.startup.dataclass import dataclass, field

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class DeclaredOperator:
    """An operator that tfport builds."""

    function: Callable[..., Any]
    options: Mapping[str, Any]
    """The options that it uses, with their defaults where it has any."""
    quantized: bool = False
    any_type: bool = False
    groups: Mapping[str, type[Any]] = field(default_factory=dict)
    """Parameters that get several options as one object of a dataclass."""


BUILTINS = Catalog[DeclaredOperator]("lite builtins", "tfport.frontends.lite.ops")
CUSTOMS = Catalog[DeclaredOperator]("lite custom ops", "tfport.frontends.lite.ops")

SAME_NAME = "*"
"""The declaration for custom ops that are ops of a graph by their own names."""


def builtin(ops: str, *, any_type: bool = False, options: str = "") -> Callable[[F], F]:
    """Declare the function that builds these builtins; with `any_type`, quantized ones too.

    `options`: names of more options, for a function that takes those of several operators as `**options`.
    """
    return _declare(BUILTINS, ops, options, any_type=any_type)


def quantized(ops: str) -> Callable[[F], F]:
    """Declare the function that builds these builtins where their integers stand for real numbers."""
    return _declare(BUILTINS, ops, quantized=True)


def custom(ops: str) -> Callable[[F], F]:
    """Declare the function that builds these custom ops."""
    return _declare(CUSTOMS, ops, any_type=True)


def _declare(catalog: Catalog[DeclaredOperator], ops: str, more: str = "", **flags: bool) -> Callable[[F], F]:
    def declare(function: F) -> F:
        parameters = inspect.signature(function).parameters.values()
        stated = {p.name: p.default for p in parameters if p.kind == p.KEYWORD_ONLY}
        groups = {n: group for n, group in stated.items() if isinstance(group, type) and is_dataclass(group)}
        options = {name: default for name, default in stated.items() if name not in groups}
        options |= dict.fromkeys(more.split(), inspect.Parameter.empty)
        options |= {f.name: inspect.Parameter.empty for group in groups.values() for f in fields(group)}
        for op in ops.split():
            catalog.add(op, DeclaredOperator(function, options, groups=groups, **flags))
        return function

    return declare


def find_operator(operator: LiteOperator, graph: Subgraph, ops: OpTable) -> DeclaredOperator | None:
    """The declaration for an operator; None if tfport does not build it."""
    if operator.code.op == CUSTOM:
        name = FLEX if operator.code.flex_op else operator.code.custom
        same_name = CUSTOMS.of(SAME_NAME) if ops.get(name) is not None else ()
        return next(iter((*CUSTOMS.of(name), *same_name)), None)
    first = [indices[0] for indices in (operator.inputs, operator.outputs) if indices and indices[0] >= 0]
    on_quantized = any(is_quantized(graph.tensors[index]) for index in first)
    declared = sorted(BUILTINS.of(operator.code.op), key=lambda d: d.any_type)
    return next((d for d in declared if d.any_type or d.quantized == on_quantized), None)
