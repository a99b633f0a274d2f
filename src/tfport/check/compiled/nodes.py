"""Which functions XLA must compile, and which of their nodes it does not compile.

Recorded from 2.21 with small models:

- The attribute `_XlaMustCompile` of a call decides, by an op or by name; the same attribute of a function
  does not. What the function calls is compiled with it, whatever those calls say.
- All branches and loops of the function are compiled, taken or not; of a Case whose index is a constant, only
  the branch that it chooses. The devices of nodes are ignored.
- A session first removes what nothing needs, and replaces branches that ask to be lowered by Switch nodes,
  for which XLA has no kernel. Python does neither, but functions that are called plainly are inlined, without
  what nothing needs.
- What depends on constants and known shapes alone and has no side effects is computed before, but not always:
  `Spence` of a constant is, `StatelessRandomBinomial` is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from tfport.atlas.target import Target
from tfport.check.compiled.jit_kernels import JitKernels
from tfport.check.node_contexts import LOWER, NodeContexts, live_nodes
from tfport.graph.attrs import Attr, decode
from tfport.graph.graph import ARG, Argument, Function, Graph, Node, Value
from tfport.graph.op_facts.kinds import BRANCHING, CALLS, CASES, IFS, SHAPE_OPS
from tfport.graph.reach import Callers, called_by
from tfport.registry.kernels import Kernel
from tfport.registry.resolve import supports_types
from tfport.startup.dataclass import dataclass

RESULT = "_Retval"
SWITCHES = {**dict.fromkeys(IFS, "Switch"), **dict.fromkeys(CASES, "_SwitchN")}
"""What a branch becomes if it is lowered."""
KNOWN_EARLY = (
    *SHAPE_OPS,
    "StatelessRandomGetAlg", "StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg",
)  # fmt: skip
"""Ops whose values may be known before anything is compiled, whatever they read."""
COMPUTED = (
    "TensorFlow may compute it before it compiles the function, because its inputs are shapes or constants"
)
CHOSEN = "TensorFlow compiles only the branch that a constant chooses"


@dataclass(frozen=True, slots=True)
class Uncompiled:
    """A node that XLA does not compile."""

    node: Node
    """For an argument or a result of the function: the call."""
    op: str
    """What TensorFlow names: the op, or that of the nodes by which it replaces the node."""
    types: str = ""
    """The types for which there is no kernel; empty if there is none for any."""
    doubt: str = ""


class _Body(NamedTuple):
    """A function that is compiled."""

    function: Function
    doubt: str
    """Why it might not be."""
    whole: bool
    """With nodes that nothing needs."""


class CompiledCall:
    """What is compiled for a call of a function."""

    def __init__(self, call: Node, function: Function, callers: Callers, *, in_session: bool) -> None:
        self.call, self.function, self._callers, self._in_session = call, function, callers, in_session
        self._known: dict[Value, bool] = {}
        self._calls: dict[str, list[Node]] = {}
        """The plain calls of each function."""
        self._bodies: dict[Function, tuple[list[Node], str]] = {}
        """The functions that are compiled, with their nodes, and why they might not be."""
        pending = [_Body(function, "", whole=not in_session)]
        while pending:
            body = pending.pop()
            if body.function not in self._bodies:
                pending += reversed(list(self._added(body)))

    def _added(self, body: _Body) -> Iterator[_Body]:
        """Add a function; returns those that it calls."""
        function, doubt = body.function, body.doubt
        live = live_nodes(function)
        nodes = [node for node in function if body.whole or node in live]
        self._bodies[function] = (nodes, doubt)
        for node, names in self._callers.of(function):
            is_plain = node.op in CALLS or node.op in names
            if node not in (live if is_plain else nodes):
                continue
            chosen = doubt or (CHOSEN if node.op in CASES and self._may_be_known(node.inputs[0]) else "")
            for called in filter(None, map(function.library.functions.get, names)):
                if is_plain:
                    self._calls.setdefault(called.name, []).append(node)
                yield _Body(called, chosen, whole=not self._in_session and not is_plain)

    def uncompiled(self, kernels: JitKernels, target: Target) -> Iterator[Uncompiled]:
        """The nodes that XLA with these kernels does not compile."""
        for op, values in ((ARG, self.function.arguments), (RESULT, self.function.results)):
            for dtype in dict.fromkeys(value.dtype for value in values):
                if not _supports(kernels.get(op, ()), {"T": dtype}):
                    yield Uncompiled(self.call, op, f"T={dtype}")
        for function, (nodes, doubt) in self._bodies.items():
            live = live_nodes(function)
            for node in nodes:
                for refused in self._uncompiled(node, kernels, target, is_read=node in live):
                    yield refused if not doubt else Uncompiled(refused.node, refused.op, refused.types, doubt)

    def _uncompiled(
        self, node: Node, kernels: JitKernels, target: Target, *, is_read: bool
    ) -> Iterator[Uncompiled]:
        if self._in_session and node.op in BRANCHING and node.attrs.get(LOWER) is True:
            yield Uncompiled(node, SWITCHES[node.op])
            return
        definition = target.registry.get(node.op)
        if definition is None:  # a function, or an op that another finding is about
            return
        defaults = {a.name: decode(a.default_value) for a in definition.attr if a.HasField("default_value")}
        attrs, registered = {**defaults, **node.attrs}, kernels.get(node.op, ())
        if not _supports(registered, attrs):
            doubt = COMPUTED if is_read and self._may_be_computed(node) else ""
            yield Uncompiled(node, node.op, _types(registered, attrs), doubt)

    def _may_be_computed(self, node: Node) -> bool:
        """Whether TensorFlow may compute a node before it compiles the function."""
        return node.op in KNOWN_EARLY or (not node.is_stateful and all(map(self._may_be_known, node.inputs)))

    def _may_be_known(self, value: Value) -> bool:
        """Whether a value may depend on constants alone, however many nodes lie between."""
        pending = [value] if value not in self._known else []
        while pending:
            current = pending[-1]
            sources = self._sources(current)
            self._known.setdefault(current, False)  # a loop is no constant
            before = [source for source in sources or () if source not in self._known]
            if before:
                pending += before
            else:
                self._known[current] = sources is not None and all(self._known[s] for s in sources)
                pending.pop()
        return self._known[value]

    def _sources(self, value: Value) -> Sequence[Value] | None:
        """The values that one is computed from; None if it is never known before."""
        node, function = value.node, value.node.graph
        if not isinstance(node, Argument) or not isinstance(function, Function):
            if node.op in KNOWN_EARLY:
                return ()
            return None if node.is_stateful else node.inputs
        if function is self.function or function.name not in self._calls:
            return None
        index, calls = function.arguments.index(value), self._calls[function.name]
        if any(index >= len(call.inputs) for call in calls):
            return None
        return [call.inputs[index] for call in calls]


def _types(kernels: Sequence[Kernel], attrs: Mapping[str, Attr]) -> str:
    """The attributes that no kernel supports; if none alone is the cause, all that choose a kernel."""
    names = [name for name in dict.fromkeys(n for k in kernels for n in k.constraints) if name in attrs]
    alone = [
        name
        for name in names
        if not any(supports_types(Kernel(k.op, k.device, {name: k.constraints[name]}), attrs)
                   for k in kernels if name in k.constraints)
    ]  # fmt: skip
    return ", ".join(f"{name}={_text(attrs[name])}" for name in sorted(alone or names))


def _text(value: Attr) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _supports(kernels: Sequence[Kernel], attrs: Mapping[str, Attr]) -> bool:
    return any(supports_types(kernel, attrs) for kernel in kernels)


# The functions that XLA must compile.

MUST_COMPILE = "_XlaMustCompile"


class CompiledFunctions:
    """The functions of a model that XLA compiles."""

    def __init__(self, graph: Graph, contexts: NodeContexts) -> None:
        self._graph, self._contexts = graph, contexts

    @cached_property
    def calls(self) -> list[Node]:
        """The calls that ask for it, without those that are compiled with their function."""
        return [call for call in self._asking if not self.is_compiled(call)]

    def function_of(self, call: Node) -> Function | None:
        """The function that a call asks to compile; None if it is not in the model."""
        return next(iter(called_by([call], self._contexts.callers).values()), None)

    def is_compiled(self, node: Node) -> bool:
        """Whether a node runs only in functions that are compiled."""
        return isinstance(node.graph, Function) and node.graph.name in self._only_compiled

    @cached_property
    def _asking(self) -> list[Node]:
        return [node for node, _ in self._all_calls() if _must_compile(node)]

    def _all_calls(self) -> Iterator[tuple[Node, list[str]]]:
        for graph in (self._graph, *self._graph.library.functions.values()):
            yield from self._contexts.callers.of(graph)

    @cached_property
    def _only_compiled(self) -> frozenset[str]:
        if not self._asking:
            return frozenset()
        compiled = called_by(self._asking, self._contexts.callers)
        return frozenset(compiled) - self._contexts.reached(lambda node: not _must_compile(node))


def _must_compile(node: Node) -> bool:
    is_call = node.op in CALLS or node.op in node.graph.library.functions
    return is_call and node.attrs.get(MUST_COMPILE) is True
