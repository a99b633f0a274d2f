"""The two models of a verification, and the signatures that both must have, each compared once.

Exporters write one function as `serve` and `serving_default`. Two signatures are equal if their inputs and
outputs have the same names and the graphs behind the outputs are the same, node for node and function body
for function body.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tfport.errors import Error
from tfport.fix.certify.inputs.arrays import ORDINARY
from tfport.fix.certify.runners import ModelSide, OwnSession
from tfport.fix.certify.trials import TrialBuilder, chosen
from tfport.formats.files import Folder
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.attrs import NAMES, Attr, FunctionRef
from tfport.graph.graph import ARG, Function, Node, Value
from tfport.graph.graph_outputs import WHOLE_GRAPH
from tfport.graph.model import Model, Signature
from tfport.runtime.custom.registry import Registry
from tfport.runtime.select_signature import DEFAULT, select_signature
from tfport.startup.dataclass import replace

MOST_ENDS = 64
"""The most outputs of a graph without signatures that are compared."""


def both_sides(
    before: Model,
    after: Model,
    names: Iterable[str] | None,
    fetches: Sequence[str],
    feeds: Sequence[str] = (),
) -> tuple[ModelSide, ModelSide]:
    """Both models with the same signatures."""
    if before.signatures and not fetches:
        asked = None if names is None else [names] if isinstance(names, str) else list(names)
        first = {entry.name: entry for entry in chosen(before.signatures, asked, before.where)}
        second = {name: select_signature(after, name) for name in first}
    else:
        whole = select_signature(before, None, fetches, feeds)
        tensors = [name for spec in whole.outputs.values() for name in spec.tensors]
        first, second = {WHOLE_GRAPH: whole}, {WHOLE_GRAPH: select_signature(after, None, tensors)}
    for name, signature in first.items():
        _same_names(name, signature, second[name])
    lies = isinstance(before.files, Folder) and before.files.has("saved_model.pb")
    path = before.files.where if lies and before.format is SAVED_MODEL else None
    return ModelSide(before, first, path), ModelSide(after, second)


def with_outputs(sides: tuple[ModelSide, ModelSide]) -> tuple[tuple[ModelSide, ModelSide], list[str]]:
    """Both sides with only those signatures that return something; also what was skipped."""
    signatures = sides[0].signatures
    kept = [name for name, signature in signatures.items() if signature.outputs]
    if not kept:
        return sides, []
    first, second = (
        replace(side, signatures={name: side.signatures[name] for name in kept}) for side in sides
    )
    return (first, second), [f"`{name}`, which has no outputs" for name in signatures if name not in kept]


def answerable(
    sides: tuple[ModelSide, ModelSide], registry: Registry | None
) -> tuple[tuple[ModelSide, ModelSide], list[str]]:
    """Both sides with only those outputs that the original computes, each tried separately.

    The outputs of a graph without signatures include savers and training steps, and one that fails
    would make all fail. Returns also what was skipped. If no output works, all are kept.
    """
    before = sides[0]
    whole = before.signatures[WHOLE_GRAPH]
    builder = TrialBuilder(before.model, whole)
    asked = {name: replace(whole, name=name, outputs={name: spec}) for name, spec in whole.outputs.items()}
    session = OwnSession(ModelSide(before.model, asked), registry)
    try:
        trials = [builder.trial(sizing, ORDINARY) for sizing in builder.sizings()[0]]
    except Error:
        return sides, []
    kept = [
        name
        for name in list(asked)[:MOST_ENDS]
        # not a reference: it is undefined whether a variable is read before or after an assignment
        if not before.model.graph.value(asked[name].outputs[name].tensors[0]).dtype.is_ref
        and any(session.ask(replace(trial, signature=name)).outputs is not None for trial in trials)
    ]
    if not kept:
        return sides, []
    left_out = [f"`{name}`, which the original does not compute" for name in asked if name not in kept]
    return (_only(sides[0], kept), _only(sides[1], kept)), left_out


def _only(side: ModelSide, outputs: Collection[str]) -> ModelSide:
    whole = side.signatures[WHOLE_GRAPH]
    kept = {name: spec for name, spec in whole.outputs.items() if name in outputs}
    return replace(side, signatures={WHOLE_GRAPH: replace(whole, outputs=kept)})


def _same_names(name: str, first: Signature, second: Signature) -> None:
    # in a graph without signatures, placeholders that nothing reads may have been removed
    same_inputs = set(first.inputs) == set(second.inputs) or name == WHOLE_GRAPH
    if set(first.outputs) != set(second.outputs) or not same_inputs:
        raise Error(f"the rewrite changed the inputs or outputs of signature {name}")


# Signatures that compute the same.

Pair = tuple[Node, Node]


def without_repeats(
    sides: tuple[ModelSide, ModelSide],
) -> tuple[tuple[ModelSide, ModelSide], dict[str, str]]:
    """Both sides with one of each group of equal signatures; also the others, with the one that is kept."""
    names = sorted(sides[0].signatures, key=lambda name: name != DEFAULT)
    same_as: dict[str, str] = {}
    for i, name in enumerate(names):
        kept = (first for first in names[:i] if first not in same_as)
        equal = next((first for first in kept if all(_are_equal(side, first, name) for side in sides)), None)
        if equal is not None:
            same_as[name] = equal
    before, after = (
        replace(side, signatures={n: s for n, s in side.signatures.items() if n not in same_as})
        for side in sides
    )
    return (before, after), same_as


def _are_equal(side: ModelSide, first: str, second: str) -> bool:
    a, b = side.signatures[first], side.signatures[second]
    if list(a.inputs) != list(b.inputs) or list(a.outputs) != list(b.outputs) or a.defaults or b.defaults:
        return False
    specs = [*zip(a.inputs.values(), b.inputs.values(), strict=True)]
    if any((x.dtype, x.shape, x.form) != (y.dtype, y.shape, y.form) for x, y in specs):
        return False
    return _GraphPair(side.model, a, b).are_equal()


class _GraphPair:
    """Compares the graphs behind two signatures, from the outputs to the inputs."""

    def __init__(self, model: Model, first: Signature, second: Signature) -> None:
        self.starts = model.starts_of(first), model.starts_of(second)
        self.ends = model.ends_of(first), model.ends_of(second)
        self.inputs = dict(zip(*self.starts, strict=False))
        self.pairs: list[Pair] = []
        """Pairs of nodes to compare; grows."""
        self.seen: set[Pair] = set()
        self.bodies: set[tuple[str, str]] = set()

    def are_equal(self) -> bool:
        if any(len(first) != len(second) for first, second in (self.starts, self.ends)):
            return False
        if not all(self._values(a, b) for a, b in zip(*self.ends, strict=True)):
            return False
        return all(self._nodes(a, b) for a, b in self.pairs)

    def _values(self, a: Value, b: Value) -> bool:
        """Whether two values may be equal: their nodes are compared later."""
        if a in self.inputs:
            return self.inputs[a] is b
        self._later(a.node, b.node)
        return a.index == b.index and a.port == b.port

    def _later(self, a: Node, b: Node) -> None:
        if a is not b and (a, b) not in self.seen:
            self.seen.add((a, b))
            self.pairs.append((a, b))

    def _nodes(self, a: Node, b: Node) -> bool:
        if a.op == b.op == ARG:  # of the bodies of two functions
            return _argument_index(a) == _argument_index(b)
        if a.op != b.op or a.device != b.device or _holds_state(a) or len(a.inputs) != len(b.inputs):
            return False
        if len(a.controls) != len(b.controls):
            return False
        for x, y in zip(a.controls, b.controls, strict=True):
            self._later(x, y)
        names = [name for name in a.attrs if name not in NAMES]
        return (
            {*names} == {name for name in b.attrs if name not in NAMES}
            and all(self._attributes(a, b, a.attrs[name], b.attrs[name]) for name in names)
            and all(self._values(x, y) for x, y in zip(a.inputs, b.inputs, strict=True))
        )

    def _attributes(self, a: Node, b: Node, x: Attr, y: Attr) -> bool:
        if isinstance(x, list) and isinstance(y, list):
            return len(x) == len(y) and all(self._attributes(a, b, p, q) for p, q in zip(x, y, strict=True))
        if isinstance(x, FunctionRef) and isinstance(y, FunctionRef) and x.name != y.name:
            return x.attrs == y.attrs and self._functions(a, x.name, y.name)
        return bool(x == y)

    def _functions(self, node: Node, first: str, second: str) -> bool:
        """Whether two functions may have the same body."""
        functions = node.graph.library.functions
        f, g = functions.get(first), functions.get(second)
        if f is None or g is None or (first, second) in self.bodies:
            return f is not None and g is not None
        self.bodies.add((first, second))
        pairs = (f.returns, g.returns), (f.control_returns, g.control_returns)
        for returned, other in pairs:
            if len(returned) != len(other):
                return False
            for x, y in zip(returned.values(), other.values(), strict=True):
                self._later(x, y)
        return len(f.arguments) == len(g.arguments)


def _holds_state(node: Node) -> bool:
    """Whether a node is a variable, a table or another resource: two of them are not the same."""
    return not node.inputs and any(v.dtype.is_ref or v.dtype.name == "resource" for v in node.outputs)


def _argument_index(node: Node) -> int:
    """Which argument of its function a node is."""
    function = node.graph
    assert isinstance(function, Function)
    return list(function.args).index(node.name)
