"""Patterns of ONNX nodes, drawn as the expression that the nodes compute.

    GELU = draw(lambda op, x: 0.5 * x * op.Erfc(math.sqrt(0.5) * -x))
    for match in graph.match(GELU):
        match.replace("Gelu", match.x)

The parameters are what the pattern leaves open; the same one always stands for the same operand, and so does
a part that is drawn once and used twice. Sums match in both orders, and products in any order and grouping,
with their numbers multiplied and powers taken apart: `x³ · 0.5`, `(x · 0.5) · x²`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

TOLERANCE = 1e-6
"""How much a factor may differ, in relation to itself: constants are rounded to float32, or written so."""
MOST_FACTORS = 8
_COMMUTATIVE = frozenset(("Add", "Max", "Min"))
_EITHER = "either"
Bound = dict[int | str, Operand]
"""The operands of drawn nodes by their id, and of what has a name by that."""


@dataclass(eq=False, slots=True)
class Drawn:
    """A part of a drawing: a node; without an op, a number or a parameter."""

    op: str
    inputs: tuple[Drawn, ...] = ()
    name: str = ""
    """Under which name a match has its operand."""
    number: float | None = None
    constant: bool = False
    """Whether a parameter has a value."""
    check: Callable[[OnnxNode], bool] | None = None

    def named(self, name: str) -> Drawn:
        self.name = name
        return self

    def where(self, check: Callable[[OnnxNode], bool]) -> Drawn:
        """Only a node for which a check is True."""
        self.check = check
        return self

    def __add__(self, other: Drawn | float) -> Drawn:
        return Drawn("Add", (self, _drawn(other)))

    def __sub__(self, other: Drawn) -> Drawn:
        return Drawn("Sub", (self, other))

    def __mul__(self, other: Drawn | float) -> Drawn:
        return Drawn("Mul", (self, _drawn(other)))

    def __neg__(self) -> Drawn:
        return Drawn("Neg", (self,))

    __radd__, __rmul__ = __add__, __mul__


class Ops:
    """`op.Erf(x)` in a drawing; `op.either(x, y)` is the first of its inputs that matches."""

    def __getattr__(self, op: str) -> Callable[..., Drawn]:
        return lambda *inputs: Drawn(op, tuple(map(_drawn, inputs)))


def _drawn(value: Drawn | float) -> Drawn:
    return value if isinstance(value, Drawn) else Drawn("", number=float(value))


@dataclass(slots=True, eq=False)
class Match:
    """Nodes that compute what was drawn: the last of them, and the operands by the names in the drawing."""

    graph: OnnxGraph
    node: OnnxNode
    bound: Bound

    def __getattr__(self, name: str) -> Operand:
        if name not in self.bound:
            raise AttributeError(name)
        return self.bound[name]

    def has(self, name: str) -> bool:
        return name in self.bound

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
    accepts: Callable[[Match], bool]
    needs: frozenset[str]
    """The ops that a graph has if it has a match."""

    def match(self, graph: OnnxGraph, node: OnnxNode) -> Match | None:
        """The first match of which this node is the last one."""
        matches = (Match(graph, node, bound) for bound in _node(graph, self.root, node.outputs[0], {}))
        return next(filter(self.accepts, matches), None)


def draw(
    drawing: Callable[..., Drawn],
    *,
    constants: str = "",
    accepts: Callable[[Match], bool] = lambda match: True,
) -> Pattern:
    """A pattern from a function of `op` and its parameters; `constants` are those that have a value."""
    code, known = drawing.__code__, constants.split()
    names = code.co_varnames[1 : code.co_argcount]
    root = drawing(Ops(), *(Drawn("", name=name, constant=name in known) for name in names))
    return Pattern(root, accepts, _needs(root))


def _needs(part: Drawn) -> frozenset[str]:
    inner = [_needs(each) for each in part.inputs]
    if part.op == _EITHER:
        return frozenset.intersection(*inner)
    return frozenset().union(*inner, [part.op] if part.op else [])


def _bind(graph: OnnxGraph, part: Drawn, operand: Operand | None, bound: Bound) -> Iterator[Bound]:
    """All ways in which an operand is a part of a drawing."""
    array = operand.array if operand is not None else None
    if operand is None:
        return
    if part.op == _EITHER:
        for each in part.inputs:
            yield from _bind(graph, each, operand, bound)
    elif part.number is not None:
        if array is not None and array.size == 1 and float(array.reshape(())) == part.number:
            yield bound
    elif (before := bound.get(id(part) if part.op else part.name)) is not None:
        if before is operand:
            yield bound
    elif part.op:
        yield from _node(graph, part, operand, bound)
    elif array is not None or not part.constant:
        yield {**bound, part.name: operand}


def _node(graph: OnnxGraph, part: Drawn, operand: Operand, bound: Bound) -> Iterator[Bound]:
    node = graph.producer(operand)
    if node is None or node.domain:
        return
    inputs: Sequence[Operand | None] = node.inputs
    if node.means is not None and node.means[0] == part.op:
        inputs = (node.means[1],)
    elif node.op != part.op or (part.check is not None and not part.check(node)):
        return
    bound = {**bound, id(part): operand, **({part.name: operand} if part.name else {})}
    if part.op == "Mul":
        yield from _product(graph, part, operand, bound)
    elif len(inputs) == len(part.inputs):
        for order in (inputs, inputs[::-1]) if part.op in _COMMUTATIVE else (inputs,):
            pairs = list(zip(part.inputs, order, strict=True))
            if all(_may_be(graph, each, of) for each, of in pairs) and _keeps_rank(pairs):
                yield from _all(graph, sorted(pairs, key=_effort), bound)


def _may_be(graph: OnnxGraph, part: Drawn, operand: Operand | None) -> bool:
    """Whether an operand may be a part of a drawing, as far as its own node tells: most are not."""
    if operand is None or part.op == _EITHER:
        return operand is not None and any(_may_be(graph, each, operand) for each in part.inputs)
    if not part.op:
        return operand.array is not None or (part.number is None and not part.constant)
    node = graph.producer(operand)
    return node is not None and (node.op == part.op or (node.means is not None and node.means[0] == part.op))


def _keeps_rank(pairs: Sequence[tuple[Drawn, Operand | None]]) -> bool:
    """Whether numbers do not add axes to what is computed."""
    numbers = [of for part, of in pairs if part.number is not None and of is not None]
    others = [of for part, of in pairs if part.number is None and of is not None]
    return not numbers or max(o.rank or 0 for o in numbers) <= max((o.rank or 0 for o in others), default=0)


def _effort(pair: tuple[Drawn, Operand | None]) -> int:
    """What is decided soonest is looked at first: numbers, constants, other parameters, nodes."""
    part = pair[0]
    return 3 if part.op else 0 if part.number is not None else 1 if part.constant else 2


def _all(graph: OnnxGraph, pairs: Sequence[tuple[Drawn, Operand | None]], bound: Bound) -> Iterator[Bound]:
    if not pairs:
        yield bound
        return
    (part, operand), *rest = pairs
    for more in _bind(graph, part, operand, bound):
        yield from _all(graph, rest, more)


def _product(graph: OnnxGraph, part: Drawn, operand: Operand, bound: Bound) -> Iterator[Bound]:
    """Factors that are nodes first, wherever they are: they say what parameters are."""
    number, factors = _drawn_factors(part)
    candidates = list(dict.fromkeys(_factors(graph, operand)))
    for taken, more in _taken(graph, factors, candidates, bound):
        if _is_product(graph, operand, number, taken):
            yield more


@functools.cache
def _drawn_factors(part: Drawn) -> tuple[float, list[Drawn]]:
    """The number in a product, and the other factors, nodes first."""
    if part.op != "Mul":
        return (1.0, [part]) if part.number is None else (part.number, [])
    pairs = [(1.0, [each]) if each.name else _drawn_factors(each) for each in part.inputs]
    factors = [(each, None) for _, inner in pairs for each in inner]
    return math.prod(number for number, _ in pairs), [
        f for f, _ in sorted(factors, key=_effort, reverse=True)
    ]


def _factors(graph: OnnxGraph, product: Operand) -> Iterator[Operand]:
    """The factors of a product, and the factors of those that are products."""
    waiting = [product]
    for _ in range(MOST_FACTORS):
        parts = _parts(graph, waiting.pop()) if waiting else ()
        yield from parts
        waiting += parts


def _taken(
    graph: OnnxGraph, parts: Sequence[Drawn], candidates: Sequence[Operand], bound: Bound
) -> Iterator[tuple[list[Operand], Bound]]:
    """Operands for drawn factors."""
    if not parts:
        yield [], bound
    for operand in candidates if parts else ():
        for more in _bind(graph, parts[0], operand, bound) if _may_be(graph, parts[0], operand) else ():
            for rest, whole in _taken(graph, parts[1:], candidates, more):
                yield [operand, *rest], whole


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
