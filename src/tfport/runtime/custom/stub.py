"""Stubs: replace an op that has no kernel by a function or a subgraph, for one session.

    stub("Acme>Scale: (x: float) -> y: float", lambda x: 2 * x)      a Python function
    stub("Acme>Scale", "def scale(x: float32) -> (y: float32): …")   a standard subgraph, as text
    stub("Acme>Scale", model.graph.library.functions["scale"])       or a function of a model

A Python function needs the signature of the op, unless a registry or TensorFlow defines the op. A
subgraph has its own signature. Unlike a kernel, a stub need not take every attribute of the op: it
gets those that it names, and the node may have others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from tfport.atlas.known_ops import known_ops
from tfport.errors import BadRegistration
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Node
from tfport.graph.op_signature import OpSignature, OpTable
from tfport.graph.parse import parse_graph
from tfport.runtime.custom.custom_kernel import CustomKernel
from tfport.runtime.custom.parse_definition import parse_op_definition
from tfport.runtime.custom.registry import PROCESS_WIDE, Registry, definitions_with
from tfport.runtime.custom.source_location import call_site, location_of
from tfport.runtime.lower import CONTEXT, Implementation
from tfport.runtime.operand import Operand
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.runtime.trace import Tracer

Instead = Callable[..., Any] | str | Function


@dataclass(frozen=True, slots=True)
class Stub:
    """What runs instead of an op."""

    op: str
    definition: OpDef | None
    """None where the op must already be defined."""
    instead: Callable[..., Any] | Function
    location: str


Stubs = Mapping[str, Instead] | Iterable[Stub]


def stub(op: str, instead: Instead) -> Stub:
    """A stub for `Session(stubs=…)`; `op` is a name, or a signature as for `tfport.op`."""
    definition = parse_op_definition(op) if ":" in op else None
    name = definition.name if definition is not None else op
    if isinstance(instead, str):
        instead = _function(instead, name)
    if isinstance(instead, Function):
        if definition is not None:
            raise BadRegistration(
                f"{name}: a subgraph has its own signature; expected only the name of the op"
            )
        definition = OpDef()
        definition.CopyFrom(instead.definition)
        definition.name, definition.is_stateful = name, any(node.is_stateful for node in instead)
        return Stub(name, definition, instead, call_site())
    if not callable(instead):
        raise BadRegistration(f"{name}: a stub must be a function or a graph, got {type(instead).__name__}")
    return Stub(name, definition, instead, location_of(instead))


def with_stubs(registry: Registry, stubs: Stubs) -> Registry:
    """The registry of one session: `registry` with the stubs on top."""
    stubbed = _Stubbed(registry)
    for each in [stub(*pair) for pair in stubs.items()] if isinstance(stubs, Mapping) else stubs:
        stubbed.add_stub(each)
    return stubbed


class _Stubbed(Registry):
    """Stubs, layered on the registry of a session."""

    def add_stub(self, stub_: Stub) -> None:
        definition = stub_.definition or self.definition_of(stub_.op) or known_ops().get(stub_.op)
        if definition is None:
            raise BadRegistration(
                f"{stub_.location}: {stub_.op} is not defined, so its stub needs a signature, "
                f"such as `{stub_.op}: (x: float) -> y: float`"
            )
        self.define(definition, stub_.location, override=True)
        if isinstance(stub_.instead, Function):
            self.structures[stub_.op] = Implementation(stub_.op, _call_of(stub_.instead), frozenset(), {})
        else:
            self.structures[stub_.op] = Implementation(stub_.op, _plain, frozenset(), {})
            self.kernels[stub_.op] = [_kernel(stub_, stub_.instead, OpSignature(definition))]

    def mismatches(self, op: str, attrs: Mapping[str, Attr], inputs: Sequence[DType]) -> list[str]:
        if op in self.definitions:
            attrs = _declared_only(attrs, OpSignature(self.definitions[op]))
        return super().mismatches(op, attrs, inputs)


def _function(text: str, op: str) -> Function:
    """The first function in a text; it may call those after it."""
    graph = parse_graph(dedent(text).strip(), OpTable(definitions_with(PROCESS_WIDE)))
    function = next(iter(graph.library.functions.values()), None)
    if function is None:
        raise BadRegistration(
            f"{op}: the text has no function; expected `def f(x: float32) -> (y: float32):`"
        )
    return function


def _call_of(function: Function) -> Callable[..., Sequence[Operand]]:
    def call(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> Sequence[Operand]:
        return tracer.call(function, inputs, attrs)

    return call


def _plain(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> Sequence[Operand]:
    signature = tracer.signature_of(node)
    assert signature is not None
    return tracer.plain(node, inputs, _declared_only(attrs, signature))


def _declared_only(attrs: Mapping[str, Attr], signature: OpSignature) -> dict[str, Attr]:
    return {name: value for name, value in attrs.items() if name in signature.attr_types}


def _kernel(stub_: Stub, function: Callable[..., Any], signature: OpSignature) -> CustomKernel:
    """A kernel that passes only the attributes that the function names."""
    parameters = inspect.signature(function).parameters.values()
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    is_variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if not is_variadic and len(positional) != len(signature.inputs):
        takes = f"takes {len(positional)} inputs; expected {len(signature.inputs)}"
        raise BadRegistration(f"{stub_.location}: the stub of {stub_.op} {takes}")
    if unknown := next((name for name in named if name not in (*signature.attr_types, CONTEXT)), None):
        raise BadRegistration(
            f"{stub_.location}: the stub takes `{unknown}`, which is not an attribute of {stub_.op}"
        )

    def run(*inputs: Any, **attrs: Attr) -> Any:
        return function(*inputs, **{name: attrs[name] for name in named})

    return CustomKernel(
        stub_.op,
        run,
        frozenset(signature.attr_types),
        {},
        wants_context=CONTEXT in named,
        strict=True,
        provider=stub_.location,
    )
