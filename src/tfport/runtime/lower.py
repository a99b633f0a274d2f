"""How an op is declared to the runtime: `@lower` says it in ONNX, `@host` computes it in NumPy.

    @lower("LeakyRelu")
    def leaky_relu(b, features, *, alpha, T): return b.LeakyRelu(features, alpha=alpha)

    @host("StringLower")
    def string_lower(input, *, encoding): …

The signature is the declaration. Inputs are positional and attributes keyword-only, both
named as in the OpDef (with `_` behind a name that Python keeps for itself). An input that
is a list of tensors comes as a list. An attribute that the inputs decide (`T`, `N`) may be
left out; any other that is not named is refused, not ignored. Defaults come from the OpDef.
A host kernel that names `context` is given a `Context`. It returns an array, or a tuple of
arrays for several outputs, or None for none; a list among them stands for a list of outputs.

Which values an attribute may have is said in the decorator: `@host("Qr", T=(FLOAT32, FLOAT64))`.
Several declarations of one op are asked in the order in which they were made.
A lowering that meets what it cannot say raises `CannotLower`, and the host kernel is taken.
`@structure` ops are answered while the plan is made: calls, branches, loops, reads of variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tfport.discovery import Catalog
from tfport.graph.attrs import Attr

if TYPE_CHECKING:
    from tfport.graph.dtypes import DType
    from tfport.runtime.operand import Dims, Operand
    from tfport.runtime.state import State

F = TypeVar("F", bound=Callable[..., Any])


class CannotLower(Exception):
    """Why a node cannot be said in ONNX: it will be computed on the host. Never seen by a user."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a host kernel may know beside its inputs and attributes."""

    state: State
    name: str
    """The node's name."""
    op: str
    outputs: tuple[DType, ...]
    """The types of its outputs."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """One lowering, host kernel or structure of an op."""

    op: str
    function: Callable[..., Any]
    named: frozenset[str]
    """The attributes that the function takes."""
    constraints: Mapping[str, tuple[Attr, ...]]
    once: bool = False
    wants_context: bool = False
    strict: bool = False
    """Whether it is somebody else's: nothing that it does is taken on trust."""

    def takes(self, attrs: Mapping[str, Attr]) -> bool:
        """Whether the attributes have values that it was declared for."""
        for name, allowed in self.constraints.items():
            value = attrs.get(name)
            for one in value if isinstance(value, list) else (value,):
                if one not in allowed:
                    return False
        return True


FAMILIES = "tfport.runtime.ops"
LOWERINGS = Catalog[Implementation]("lowerings", FAMILIES)
KERNELS = Catalog[Implementation]("kernels", FAMILIES)
STRUCTURES = Catalog[Implementation]("structures", FAMILIES)
SHAPES: Catalog[Callable[..., list[Dims | None]]] = Catalog("shapes", FAMILIES)
CONTEXT = "context"


def lower(ops: str, **constraints: Iterable[Attr]) -> Callable[[F], F]:
    """Declare how ops (names with blanks between) are said in ONNX."""

    def declare(function: F) -> F:
        for op in ops.split():
            LOWERINGS.add(op, _declared(op, function, constraints))
        return function

    return declare


def host(ops: str, *, once: bool = False, **constraints: Iterable[Attr]) -> Callable[[F], F]:
    """Declare the NumPy kernel of ops.

    `once`: stateful to TensorFlow, yet its answer is the same in each run of a session
    (the handle of a variable), so that it may be asked for while planning.
    """

    def declare(function: F) -> F:
        for op in ops.split():
            KERNELS.add(op, _declared(op, function, constraints, once))
        return function

    return declare


def quick(kernel: Callable[..., Any]) -> Callable[[F], F]:
    """Declare a faster way for a kernel where much is constant: `f(groups, attrs)`, asked once for a node.

    It gives a function of flat arrays, which answers None where the kernel is to be asked; or None.
    """

    def declare(function: F) -> F:
        kernel.quick = function  # type: ignore[attr-defined]
        return function

    return declare


def structure(ops: str) -> Callable[[F], F]:
    """Declare what answers ops while a plan is made: `f(tracer, node, inputs, attrs)`."""

    def declare(function: F) -> F:
        for op in ops.split():
            STRUCTURES.add(op, Implementation(op, function, frozenset(), {}))
        return function

    return declare


def shapes(ops: str) -> Callable[[F], F]:
    """Declare the shapes of what host kernels return: `f(inputs, attrs)`, flat operands to a list of Dims.

    Only worth it where what follows is lowered and wants to know a rank.
    """

    def declare(function: F) -> F:
        for op in ops.split():
            SHAPES.add(op, function)
        return function

    return declare


def _declared(
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
    """The array that a lowering must know, or CannotLower."""
    if operand.array is None:
        raise CannotLower(f"{what} is not constant")
    return operand.array


def rank_of(operand: Operand, what: str = "its input") -> int:
    """The rank that a lowering must know, or CannotLower."""
    if operand.rank is None:
        raise CannotLower(f"the rank of {what} is not known")
    return operand.rank
