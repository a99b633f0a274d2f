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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass, field

TOLERANCE = 1e-6
"""How much a factor may differ, in relation to itself: constants are rounded to float32, or written so."""
MOST_FACTORS = 8
_COMMUTATIVE = frozenset(("Add", "Max", "Min", "Mul"))
_EITHER = "either"


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
    numbers: list[int] = field(init=False)
    """The indices of inputs that are numbers."""
    latest_first: list[int] = field(init=False)
    """The indices of inputs, the one that is looked at first last."""

    def __post_init__(self) -> None:
        efforts = {index: part.effort for index, part in enumerate(self.inputs)}
        self.numbers = [index for index in efforts if efforts[index] == 0]
        self.latest_first = sorted(efforts, key=efforts.__getitem__)[::-1]

    @property
    def effort(self) -> int:
        """What is decided soonest is looked at first: numbers, constants, parameters, nodes, products."""
        if self.op:
            return 4 if self.op == "Mul" else 3
        return 0 if self.number is not None else 1 if self.constant else 2

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
    bound: Mapping[str, Operand]

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

    def matches(self, graph: OnnxGraph) -> list[Match]:
        """The first match that ends at each node, for those with one."""
        if not self.needs <= graph.ops:
            return []
        search, op = _Search(self, graph), self.root.op
        ends = [node.outputs[0] for node in graph.nodes if node.op == op]
        return [match for end in ends if (match := search.first((self.root, end, None), {})) is not None]


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


class _Product(NamedTuple):
    """A product of which some factors are taken: the drawn ones that are left, and where they may be."""

    number: float
    left: Sequence[Drawn]
    candidates: Sequence[Operand] | None = None
    taken: tuple[Operand, ...] = ()


Goals = tuple["Drawn | _Product", Operand, "Goals"] | None
"""That an operand is a part of a drawing, and then the other goals."""


class _Search:
    """Looks for what was drawn, backwards from where it may end."""

    def __init__(self, pattern: Pattern, graph: OnnxGraph) -> None:
        self._pattern, self._graph, self._producers = pattern, graph, graph.producers

    def first(self, goals: Goals, bound: dict[Drawn, Operand]) -> Match | None:
        """The first match that reaches all goals; `bound`: the operands of parts, which it changes."""
        while goals is not None:
            part, operand, goals = goals
            if isinstance(part, _Product):
                choices = self._next_factors(part, operand, goals)
            elif part.op == _EITHER:
                choices = [(each, operand, goals) for each in part.inputs if self._may_be(each, operand)]
            elif (before := bound.get(part)) is not None:
                choices = [goals] if before is operand else []
            else:
                choices = self._inputs(part, operand, goals) if part.op else [goals]
                bound[part] = operand
            if len(choices) > 1:
                return next(filter(None, (self.first(each, dict(bound)) for each in choices)), None)
            if not choices:
                return None
            (goals,) = choices
        end = self._producers[bound[self._pattern.root]]
        match = Match(self._graph, end, {part.name: o for part, o in bound.items() if part.name})
        return match if self._pattern.accepts(match) else None

    def _inputs(self, part: Drawn, operand: Operand, goals: Goals) -> list[Goals]:
        """The ways in which the inputs of a node may be those of a part: for a sum, both orders."""
        node = self._producers.get(operand)
        if node is None or node.domain:
            return []
        inputs = node.inputs
        if node.means is not None and node.means[0] == part.op:
            inputs = (node.means[1],)
        elif node.op != part.op or (part.check is not None and not part.check(node)):
            return []
        if len(inputs) != len(part.inputs):
            return []
        orders = (inputs, inputs[::-1]) if part.op in _COMMUTATIVE else (inputs,)
        ways = [_before(goals, part, order) for order in orders if self._may_have(part, order)]
        if part.op == "Mul":  # if its factors are not grouped as in the drawing
            ways.append((_Product(*_drawn_factors(part)), operand, goals))
        return ways

    def _may_have(self, part: Drawn, inputs: Sequence[Operand | None]) -> bool:
        """Whether operands may be the inputs of a part, as far as their own nodes tell: most are not."""
        for each, operand in zip(part.inputs, inputs, strict=True):
            if operand is None or not self._may_be(each, operand):
                return False
        return not part.numbers or _keeps_rank(part, inputs)

    def _may_be(self, part: Drawn, operand: Operand) -> bool:
        if not part.op:
            return (part.number is None and not part.constant) or _is_value(operand, part.number)
        if part.op == _EITHER:
            return any(self._may_be(each, operand) for each in part.inputs)
        node = self._producers.get(operand)
        return node is not None and (
            node.op == part.op or (node.means is not None and node.means[0] == part.op)
        )

    def _next_factors(self, product: _Product, operand: Operand, goals: Goals) -> list[Goals]:
        """The ways to go on with a product: with each factor that may be the next drawn one."""
        number, left, candidates, taken = product
        if not left:
            return [goals] if self._is_product(operand, number, taken) else []
        if candidates is None:
            candidates = self._factors(operand)
            if not all(any(self._may_be(each, factor) for factor in candidates) for each in left):
                return []
        return [
            (left[0], factor, (_Product(number, left[1:], candidates, (*taken, factor)), operand, goals))
            for factor in candidates
            if self._may_be(left[0], factor)
        ]

    def _factors(self, product: Operand) -> Sequence[Operand]:
        """The factors of a product, and the factors of those that are products."""
        factors: dict[Operand, None] = {}
        waiting = [product]
        for _ in range(MOST_FACTORS):
            if not waiting:
                break
            parts = self._parts(waiting.pop())
            factors.update(dict.fromkeys(parts))
            waiting += parts
        return list(factors)

    def _is_product(self, operand: Operand, number: float, factors: Sequence[Operand]) -> bool:
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
            elif parts := self._parts(factor):
                waiting += parts
            else:
                return False
        return False

    def _parts(self, operand: Operand) -> Sequence[Operand]:
        """The factors of a product, a square or a cube; nothing of others."""
        node = self._producers.get(operand)
        if node is None or node.op not in ("Mul", "Pow") or None in node.inputs:
            return ()
        x, other = (each for each in node.inputs if each is not None)
        if node.op == "Mul":
            return x, other
        power = other.array.reshape(()) if other.array is not None and other.array.size == 1 else 0
        return [x] * int(power) if power in (2, 3) else ()


def _is_value(operand: Operand, number: float | None) -> bool:
    """Whether an operand is a constant; this number if there is one."""
    array = operand.array
    if array is None or number is None:
        return array is not None
    return array.size == 1 and float(array.reshape(())) == number


def _keeps_rank(part: Drawn, inputs: Sequence[Operand | None]) -> bool:
    """Whether numbers do not add axes to what is computed."""
    ranks = [0 if operand is None else operand.rank or 0 for operand in inputs]
    others = (rank for index, rank in enumerate(ranks) if index not in part.numbers)
    return max(ranks[index] for index in part.numbers) <= max(others, default=0)


def _before(goals: Goals, part: Drawn, inputs: Sequence[Operand | None]) -> Goals:
    """The inputs of a node, then other goals."""
    for index in part.latest_first:
        operand = inputs[index]
        assert operand is not None
        goals = part.inputs[index], operand, goals
    return goals


@functools.cache
def _drawn_factors(part: Drawn) -> tuple[float, list[Drawn]]:
    """The number in a product, and the other factors, nodes first: they say what parameters are."""
    if part.op != "Mul":
        return (1.0, [part]) if part.number is None else (part.number, [])
    pairs = [(1.0, [each]) if each.name else _drawn_factors(each) for each in part.inputs]
    factors = [each for _, inner in pairs for each in inner]
    return math.prod(number for number, _ in pairs), sorted(
        factors, key=lambda each: each.effort, reverse=True
    )
