"""Declare how the runtime runs an op: `@lower` lowers it to ONNX, `@host` computes it with NumPy.

    @lower("LeakyRelu")
    def leaky_relu(b, features, *, alpha, T): return b.LeakyRelu(features, alpha=alpha)

    @host("StringLower")
    def string_lower(input, *, encoding): …

The signature of the function is the declaration. Inputs are positional and attributes
keyword-only, both named as in the OpDef (with a trailing `_` if the name is a Python keyword). An
input that is a list of tensors is a Python list. An attribute that follows from the inputs (`T`,
`N`) may be omitted; a node with any other attribute that the function does not name is an error.
Defaults come from the OpDef. A host kernel with a parameter `context` gets a `Context`. It returns
an array, a tuple of arrays for several outputs, or None for none; a list in the tuple is a list
output.

The decorator restricts attribute values: `@host("Qr", T=(FLOAT32, DType.parse("float64")))`.
Several declarations of one op are tried in order. A lowering raises `CannotLower` for what it does
not support; the host kernel runs the node then. `@structure` ops are handled while planning: calls,
branches, loops, reads of variables. Output shapes of host kernels come
from the rules of `graph.op_facts`; `@shapes` declares those that depend on a resource of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from tfport.discovery import Catalog
from tfport.graph.attrs import Attr
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.graph.dtypes import DType
    from tfport.graph.graph import Node
    from tfport.runtime.operand import Dims, Operand
    from tfport.runtime.order import ControlUnits
    from tfport.runtime.state import State


F = TypeVar("F", bound=Callable[..., Any])


class CannotLower(Exception):
    """Why a node cannot be lowered to ONNX: the host kernel runs it. Internal, never shown to users."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a host kernel can access besides its inputs and attributes."""

    state: State
    name: str
    """The node's name."""
    op: str
    outputs: tuple[DType, ...]
    """The types of its outputs."""
    calls: str = ""
    """The calls around the node: a node of a function that is called twice has two generators."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """One lowering, host kernel or structure function of an op."""

    op: str
    function: Callable[..., Any]
    named: frozenset[str]
    """The attributes that the function takes."""
    constraints: Mapping[str, tuple[Attr, ...]]
    once: bool = False
    wants_context: bool = False
    strict: bool = False
    """Whether it is a custom op's: its errors are caught, and its outputs validated."""

    def takes(self, attrs: Mapping[str, Attr]) -> bool:
        """Whether the attributes have values that it was declared for."""
        for name, allowed in self.constraints.items():
            value = attrs.get(name)
            for element in value if isinstance(value, list) else (value,):
                if element not in allowed:
                    return False
        return True


FAMILIES = "tfport.runtime.ops"
LOWERINGS = Catalog[Implementation]("lowerings", FAMILIES)
KERNELS = Catalog[Implementation]("kernels", FAMILIES)
STRUCTURES = Catalog[Implementation]("structures", FAMILIES)
SHAPES: Catalog[Callable[..., list[Dims | None]]] = Catalog("shapes", FAMILIES)
CONTROL_UNITS: Catalog[Callable[[set[Node], Collection[Node]], ControlUnits]] = Catalog(
    "control_units", FAMILIES
)
CONTEXT = "context"


def lower(ops: str, **constraints: Iterable[Attr]) -> Callable[[F], F]:
    """Declare the lowering of ops (names separated by blanks) to ONNX."""

    def declare(function: F) -> F:
        for op in ops.split():
            LOWERINGS.add(op, _implementation(op, function, constraints))
        return function

    return declare


def same_name(ops: str) -> None:
    """Lower each op to the ONNX op of the same name, or of the name after a colon: `AddV2:Add`."""
    for op in ops.split():
        tensorflow_op, _, onnx_op = op.partition(":")
        lower(tensorflow_op)(_node(onnx_op or tensorflow_op))


def _node(op: str) -> Any:
    def lowered(b: Any, *inputs: Any) -> Any:
        return b.nodes(op, *inputs)[0]

    return lowered


def host(ops: str, *, once: bool = False, **constraints: Iterable[Attr]) -> Callable[[F], F]:
    """Declare the NumPy kernel of ops.

    `once`: stateful in TensorFlow, but its outputs are the same in every run of a session (the
    handle of a variable), so it may be computed while planning.
    """

    def declare(function: F) -> F:
        for op in ops.split():
            KERNELS.add(op, _implementation(op, function, constraints, once))
        return function

    return declare


def quick(kernel: Callable[..., Any]) -> Callable[[F], F]:
    """Declare a faster variant of a kernel for constant inputs: `f(groups, attrs)`, called once per node.

    It returns None, or a function of the inputs (of a list, its elements) that returns None where the
    kernel must be called.
    """

    def declare(function: F) -> F:
        kernel.quick = function  # type: ignore[attr-defined]
        return function

    return declare


def structure(ops: str) -> Callable[[F], F]:
    """Declare what handles ops while planning: `f(tracer, node, inputs, attrs)` returns the outputs."""

    def declare(function: F) -> F:
        for op in ops.split():
            STRUCTURES.add(op, Implementation(op, function, frozenset(), {}))
        return function

    return declare


def control_units(ops: str) -> Callable[[F], F]:
    """Declare what finds the nodes to trace together, in graphs with these ops: `f(nodes, fetched)`."""

    def declare(function: F) -> F:
        for op in ops.split():
            CONTROL_UNITS.add(op, function)
        return function

    return declare


def shapes(ops: str) -> Callable[[F], F]:
    """Declare the output shapes of host kernels: `f(inputs, attrs)`, from flat operands to a list of Dims.

    Only for what the rules of `graph.op_facts` cannot know: it depends on a resource, such as a table.
    """

    def declare(function: F) -> F:
        for op in ops.split():
            SHAPES.add(op, function)
        return function

    return declare


def _implementation(
    op: str, function: Callable[..., Any], constraints: Mapping[str, Iterable[Attr]], once: bool = False
) -> Implementation:
    code = function.__code__
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return Implementation(
        op,
        function,
        frozenset(named) - {CONTEXT},
        {name: tuple(values) for name, values in constraints.items()},
        once,
        CONTEXT in named,
    )


def constant_of(operand: Operand, what: str) -> Any:
    """The constant value of an operand; CannotLower if it is not constant."""
    if operand.array is None:
        raise CannotLower(f"{what} is not constant")
    return operand.array


def rank_of(operand: Operand, what: str = "its input") -> int:
    """The rank of an operand; CannotLower if it is unknown."""
    if operand.rank is None:
        raise CannotLower(f"the rank of {what} is unknown")
    return operand.rank
