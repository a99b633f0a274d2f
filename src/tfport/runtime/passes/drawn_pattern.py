"""Patterns of ONNX nodes, drawn as the expression that the nodes compute.

    GELU = draw(lambda op, x: 0.5 * x * op.Erfc(math.sqrt(0.5) * -x))
    for match in graph.match(GELU):
        match.replace("Gelu", match.x)

The parameters are what the pattern leaves open; the same one always stands for the same operand, and so does a
part that is drawn once and used twice. Sums match in both orders, and products in any order and grouping, with
their numbers multiplied and powers taken apart: `x³ · 0.5`, `(x · 0.5) · x²`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfport.dataclass import dataclass, field
from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

TOLERANCE = 1e-6
"""How much a number may differ, in relation to itself: constants are rounded to float32, or written so."""
MOST_FACTORS = 8
_COMMUTATIVE = frozenset(("Add", "Max", "Min", "Mul"))
Bound = dict[int | str, Operand]
"""The operands of parts of a drawing by their id, and of its parameters by name."""


@dataclass(eq=False, slots=True)
class Part:
    """A part of a drawing."""

    def __add__(self, other: Part | float) -> Drawn:
        return Drawn("Add", (self, _part(other)))

    def __radd__(self, other: float) -> Drawn:
        return self + other

    def __sub__(self, other: Part) -> Drawn:
        return Drawn("Sub", (self, other))

    def __mul__(self, other: Part | float) -> Drawn:
        return Drawn("Mul", (self, _part(other)))

    def __rmul__(self, other: float) -> Drawn:
        return self * other

    def __neg__(self) -> Drawn:
        return Drawn("Neg", (self,))


@dataclass(eq=False, slots=True)
class Drawn(Part):
    """A node."""

    op: str
    inputs: tuple[Part, ...]
    name: str = ""
    """Under which name a match has its output."""
    check: Callable[[OnnxNode], bool] | None = None

    def named(self, name: str) -> Drawn:
        self.name = name
        return self

    def where(self, check: Callable[[OnnxNode], bool]) -> Drawn:
        """Only a node for which a check is True."""
        self.check = check
        return self


@dataclass(eq=False, slots=True)
class Parameter(Part):
    """An operand that the drawing leaves open; `constant`: one that has a value."""

    name: str
    constant: bool


@dataclass(eq=False, slots=True)
class Number(Part):
    """A constant of one element."""

    value: float


@dataclass(eq=False, slots=True)
class Either(Part):
    """One of several parts, the first that matches."""

    parts: tuple[Part, ...]


class Ops:
    """`op.Erf(x)` in a drawing; `op.either(…)` for alternatives."""

    def __getattr__(self, op: str) -> Callable[..., Drawn]:
        return lambda *inputs: Drawn(op, tuple(map(_part, inputs)))

    def either(self, *parts: Part) -> Either:
        return Either(parts)


def _part(value: Part | float) -> Part:
    return value if isinstance(value, Part) else Number(float(value))


@dataclass(slots=True, eq=False)
class Match:
    """Nodes that compute what was drawn: the last of them, and the operands by the names in the drawing."""

    graph: OnnxGraph
    node: OnnxNode
    bound: Bound

    def __getattr__(self, name: str) -> Operand:
        try:
            return self.bound[name]
        except KeyError:
            raise AttributeError(name) from None

    def get(self, name: str) -> Operand | None:
        return self.bound.get(name)

    @property
    def output(self) -> Operand:
        return self.node.outputs[0]

    def replace(self, op: str, *inputs: Operand, **attrs: Any) -> None:
        """Compute the output of the last node by another one."""
        self.graph.replace(self.node, OnnxNode(op, inputs, self.node.outputs, attrs))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A drawing, and what else must be true of a match."""

    root: Drawn
    accepts: Callable[[Match], bool] = field(default=lambda match: True)

    def match(self, graph: OnnxGraph, node: OnnxNode) -> Match | None:
        """The first match of which this node is the last one."""
        if node.op != self.root.op or len(node.outputs) != 1 or node.domain:
            return None
        matches = (Match(graph, node, bound) for bound in _bind(graph, self.root, node.outputs[0], {}))
        return next(filter(self.accepts, matches), None)


def draw(
    drawing: Callable[..., Drawn], *, constants: str = "", accepts: Callable[[Match], bool] | None = None
) -> Pattern:
    """A pattern from a function of `op` and its parameters; `constants` are those that have a value."""
    code, known = drawing.__code__, constants.split()
    names = code.co_varnames[1 : code.co_argcount]
    root = drawing(Ops(), *(Parameter(name, name in known) for name in names))
    return Pattern(root, accepts) if accepts is not None else Pattern(root)


def _bind(graph: OnnxGraph, part: Part, operand: Operand | None, bound: Bound) -> Iterator[Bound]:
    """All ways in which an operand is a part of a drawing."""
    if operand is None:
        return
    match part:
        case Number(value=value):
            if _is_number(operand, value):
                yield bound
        case Parameter(name=name, constant=constant):
            before = bound.get(name)
            if before is operand or (before is None and (not constant or operand.array is not None)):
                yield bound if before is operand else {**bound, name: operand}
        case Either(parts=parts):
            for each in parts:
                yield from _bind(graph, each, operand, bound)
        case Drawn():
            before = bound.get(id(part))
            if before is None:
                yield from _bind_node(graph, part, operand, bound)
            elif before is operand:
                yield bound


def _bind_node(graph: OnnxGraph, part: Drawn, operand: Operand, bound: Bound) -> Iterator[Bound]:
    node = graph.producer(operand)
    if node is None or node.domain:
        return
    inputs: Sequence[Operand | None] = node.inputs
    if node.means is not None and node.means[0] == part.op:
        inputs = (node.means[1],)
    elif node.op != part.op or (part.check is not None and not part.check(node)):
        return
    bound = {**bound, id(part): operand}
    if part.name:
        bound[part.name] = operand
    if part.op == "Mul":
        yield from _bind_product(graph, part, operand, bound)
    elif len(inputs) == len(part.inputs):
        yield from _bind_inputs(graph, part, inputs, bound)


def _bind_inputs(
    graph: OnnxGraph, part: Drawn, inputs: Sequence[Operand | None], bound: Bound
) -> Iterator[Bound]:
    if part.op not in _COMMUTATIVE:
        yield from _bind_all(graph, list(zip(part.inputs, inputs, strict=True)), bound)
        return
    parts = sorted(part.inputs, key=_effort)
    x, y = inputs
    for pair in ((x, y), (y, x)) if x is not y else ((x, y),):
        if not isinstance(parts[0], Number) or _adds_no_axes(*pair):
            yield from _bind_all(graph, list(zip(parts, pair, strict=True)), bound)


def _bind_all(
    graph: OnnxGraph, pairs: Sequence[tuple[Part, Operand | None]], bound: Bound
) -> Iterator[Bound]:
    if not pairs:
        yield bound
        return
    (part, operand), *rest = pairs
    for more in _bind(graph, part, operand, bound):
        yield from _bind_all(graph, rest, more)


def _effort(part: Part) -> int:
    """What is decided soonest comes first."""
    match part:
        case Number():
            return 0
        case Parameter(constant=constant):
            return 1 if constant else 2
    return 3


def _adds_no_axes(constant: Operand | None, other: Operand | None) -> bool:
    return constant is not None and other is not None and (constant.rank or 0) <= (other.rank or 0)


def _is_number(operand: Operand, value: float) -> bool:
    array = operand.array
    return array is not None and array.size == 1 and float(array.reshape(())) == value


def _bind_product(graph: OnnxGraph, part: Drawn, operand: Operand, bound: Bound) -> Iterator[Bound]:
    """Factors that are nodes first, wherever they are: they say what parameters are."""
    number, factors = _drawn_factors(part)
    parts = sorted(factors, key=_effort, reverse=True)
    candidates = list(_factors(graph, operand))
    for taken, more in _bind_factors(graph, parts, candidates, bound):
        if _is_product(graph, operand, number, taken):
            yield more


def _drawn_factors(part: Part) -> tuple[float, list[Part]]:
    """The number in a product, and the other factors."""
    match part:
        case Number(value=value):
            return value, []
        case Drawn(op="Mul", name="", check=None, inputs=inputs):
            pairs = [_drawn_factors(each) for each in inputs]
            return math.prod(number for number, _ in pairs), [f for _, factors in pairs for f in factors]
    return 1.0, [part]


def _factors(graph: OnnxGraph, product: Operand) -> Iterator[Operand]:
    """The factors of a product, and the factors of those that are products."""
    waiting = [product]
    for _ in range(MOST_FACTORS):
        if not waiting:
            return
        parts = _parts(graph, waiting.pop())
        yield from parts
        waiting += parts


def _bind_factors(
    graph: OnnxGraph, parts: Sequence[Part], candidates: Sequence[Operand], bound: Bound
) -> Iterator[tuple[list[Operand], Bound]]:
    """Operands for the drawn factors."""
    if not parts:
        yield [], bound
        return
    first, *rest = parts
    for operand in dict.fromkeys(candidates):
        for more in _bind(graph, first, operand, bound):
            for taken, all_bound in _bind_factors(graph, rest, candidates, more):
                yield [operand, *taken], all_bound


def _is_product(graph: OnnxGraph, operand: Operand, number: float, factors: Sequence[Operand]) -> bool:
    """Whether an operand is the product of a number and certain operands, in any order."""
    missing, rest, waiting = list(factors), 1.0, [operand]
    rank = max((factor.rank or 0 for factor in factors), default=0)
    for _ in range(2 * MOST_FACTORS):
        if not waiting:
            return not missing and math.isclose(rest, number, rel_tol=TOLERANCE)
        factor = waiting.pop()
        if factor in missing:
            missing.remove(factor)
        elif factor.array is not None and factor.array.size == 1 and factor.array.ndim <= rank:
            rest *= float(factor.array.reshape(()))
        elif parts := _parts(graph, factor):
            waiting += parts
        else:
            return False
    return False


def _parts(graph: OnnxGraph, operand: Operand) -> Sequence[Operand]:
    """The factors of a product, a square or a cube; nothing of others."""
    node = graph.producer(operand)
    if node is None or node.op not in ("Mul", "Pow") or None in node.inputs:
        return ()
    x, other = (each for each in node.inputs if each is not None)
    if node.op == "Mul":
        return x, other
    power = other.array.reshape(()) if other.array is not None and other.array.size == 1 else 0
    return [x] * int(power) if power in (2, 3) else ()
