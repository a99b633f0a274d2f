"""Build the nodes of a StableHLO program: `op`, the first argument of every translation.

`op.AddV2(x, y)` adds a node, as in rewrite rules. Results are tensors (`HloTensor`) of known rank;
sizes that a program does not state are read at run time (`op.sizes`). A translation is declared by name:

    @translates("negate")
    def negate(op, hlo, x):
        return op.each("Neg", x)

`hlo` is the operation with its attributes, regions and result types; then come its operands. A
translation returns a tensor, or one for each result, and raises a refusal for what TensorFlow ops
cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from tfport.formats.stablehlo.vhlo import HloBody, TensorType
from tfport.frontends.stablehlo.tensor import HloTensor, constant_tensor, stated
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.building.node_builder import Dims, NodeBuilder
from tfport.graph.building.sizes import NodeOrValue, Size, Sizes
from tfport.graph.dtypes import INT32, DType
from tfport.graph.graph import Function, Graph, Value
from tfport.graph.op_signature import OpSignature

F = TypeVar("F", bound=Callable[..., Any])
Env = dict[int, Any]
"""Tensors by the number of their value in the program."""
Results = HloTensor | Sequence[HloTensor]
TRANSLATIONS: dict[str, Callable[..., Results]] = {}
CUSTOM_CALLS: dict[str, Callable[..., Results]] = {}
"""Translations of custom calls by their target."""
ONLY_XLA_OPS: set[str] = set()
"""The ops and custom calls that are translated only into ops of XLA."""
RandomBits = Callable[[int, Any, tuple[int, ...], Any], tuple[Any, Any]]
"""The next state and the bits of a generator: of an algorithm, a state, a shape and an element type."""
AllAttrs = Callable[[str, OpSignature, dict[str, Attr]], dict[str, Attr]]
"""Completes the attributes of a node that are stated, by the defaults that its reader needs."""
MOST_CALLS = 200


def translates(names: str, *, in_xla_ops: bool = False) -> Callable[[F], F]:
    """Declare the translation of ops; `in_xla_ops`: only into ops of XLA."""
    if in_xla_ops:
        ONLY_XLA_OPS.update(names.split())
    return _declares(names, TRANSLATIONS)


def translates_call(names: str, *, in_xla_ops: bool = False) -> Callable[[F], F]:
    """Declare the translation of custom calls; `in_xla_ops`: only into ops of XLA."""
    if in_xla_ops:
        ONLY_XLA_OPS.update(names.split())
    return _declares(names, CUSTOM_CALLS)


def _declares(names: str, table: dict[str, Callable[..., Results]]) -> Callable[[F], F]:
    def declare(function: F) -> F:
        table.update(dict.fromkeys(names.split(), function))
        return function

    return declare


class HloProgram(Protocol):
    """The program that nodes are built for: how a translation reaches its functions and regions."""

    functions: dict[str, HloBody]
    called: Sequence[FunctionRef]
    """The TensorFlow functions that the program may call."""
    all_attrs: AllAttrs
    draw: RandomBits | None
    """Draws random bits in advance."""
    own_runtime: bool
    """Whether tfport computes the graph: it runs ops of XLA as they are, and its Maximum keeps NaN."""

    def call(self, op: HloNodes, name: str, args: Sequence[Any]) -> list[Any]:
        """The results of a function of the module, with its body inline."""

    def body(self, op: HloNodes, body: HloBody, args: Sequence[Any], env: Env) -> list[Any]:
        """The results of a body; `env` has the values that it reads from outside."""

    def function(self, name: str, args: Sequence[TensorType], body: Any) -> Function:
        """Make a function; `body(op, tensors)` returns its results."""


class HloNodes(NodeBuilder[HloTensor]):
    """Adds the nodes of one function."""

    author = "a program"
    wrappers = (HloTensor,)

    def __init__(self, program: HloProgram, graph: Graph, scope: str = "xla") -> None:
        super().__init__(graph, scope)
        self.program = program
        self.sizes = Sizes(self)

    def tensor(
        self, result: NodeOrValue, dims: Sequence[int | None] | None, dtype: DType | None = None
    ) -> HloTensor:
        """A new value with its dimensions."""
        value = self.value(result)
        assert dims is not None
        return HloTensor(self, tuple(dims), dtype or value.dtype.base, value)

    def known(self, array: Any) -> HloTensor:
        """A constant."""
        return constant_tensor(self, array)

    def filled(self, element: Any, dims: Dims) -> HloTensor:
        """A constant with equal elements."""
        return constant_tensor(self, np.broadcast_to(np.asarray(element), stated(dims)))

    def spread(self, node: NodeOrValue, like: HloTensor) -> HloTensor:
        """A new value that broadcasts to the shape of another."""
        value = self.value(node)
        return HloTensor(self, like.dims, value.dtype.base, compact=value, shape=like.shape)

    def each(self, name: str, *operands: HloTensor, dtype: DType | None = None) -> HloTensor:
        """Apply an op that broadcasts its operands."""
        whole = next((x for x in operands if x.rank and not x.is_compact), None)
        node = self.node(name, *(x.compact for x in operands))
        like = whole or next((x for x in operands if x.rank), operands[0])
        if whole is None and like.rank:
            return self.spread(node, like)
        return self.tensor(node, like.dims, dtype)

    def dims_of(self, x: HloTensor) -> list[Size]:
        """The size of each axis: a number, or a value for one that the program does not state."""
        return self.sizes.of(x.value)

    def whole_number(self, x: HloTensor) -> Value:
        """An integer tensor as int32, as shapes and indices are passed on."""
        return self.const(x.array, INT32) if x.array is not None else self.cast(x, INT32).value

    def _attrs(self, op: str, signature: OpSignature, explicit: dict[str, Attr]) -> dict[str, Attr]:
        return self.program.all_attrs(op, signature, explicit)
