"""Write a formula (`runtime.ops.math.series`) as nodes: operators and functions on a value.

m = NodeFunctions(op, x)
y = m.where(m.x < 2.0, m.x * m.x, m.log(m.x)).value
"""

from __future__ import annotations

from collections.abc import Callable

from tfport.fix.nodes.builder import RuleBuilder
from tfport.graph.building.sizes import shape_of
from tfport.graph.dtypes import DType
from tfport.graph.graph import Value

FLOAT64 = DType.parse("float64")


class Term:
    """A value in a formula; operators add nodes."""

    def __init__(self, functions: NodeFunctions, value: Value) -> None:
        self.functions, self.value = functions, value

    def __add__(self, other: Term | float) -> Term:
        return self.functions.node("Add", self, other)

    def __radd__(self, other: float) -> Term:
        return self.functions.node("Add", other, self)

    def __sub__(self, other: Term | float) -> Term:
        return self.functions.node("Sub", self, other)

    def __rsub__(self, other: float) -> Term:
        return self.functions.node("Sub", other, self)

    def __mul__(self, other: Term | float) -> Term:
        return self.functions.node("Mul", self, other)

    def __rmul__(self, other: float) -> Term:
        return self.functions.node("Mul", other, self)

    def __truediv__(self, other: Term | float) -> Term:
        return self.functions.node("RealDiv", self, other)

    def __rtruediv__(self, other: float) -> Term:
        return self.functions.node("RealDiv", other, self)

    def __neg__(self) -> Term:
        return self.functions.node("Neg", self)

    def __lt__(self, other: Term | float) -> Term:
        return self.functions.node("Less", self, other)

    def __le__(self, other: Term | float) -> Term:
        return self.functions.node("LessEqual", self, other)

    def __gt__(self, other: Term | float) -> Term:
        return self.functions.node("Greater", self, other)


class NodeFunctions:
    """The functions of a formula of `x`, a term: each adds a node of the shape and dtype of x."""

    def __init__(self, op: RuleBuilder, x: Value) -> None:
        self.op, self.x = op, Term(self, x)
        self._constants: dict[tuple[float, bool], Value] = {}
        self.abs, self.exp, self.log1p = self._named("Abs"), self._named("Exp"), self._named("Log1p")
        self.log, self.sqrt = self._in_float64("Log"), self._in_float64("Sqrt")
        self.sin, self.cos = self._in_float64("Sin"), self._in_float64("Cos")

    def equal(self, x: Term, y: float) -> Term:
        return self.node("Equal", x, y)

    def where(self, condition: Term, x: Term | float, y: Term | float) -> Term:
        """The elements of x or y; a number stands for as many of it as x has elements."""
        return self.node("Select", condition, *(self._full(part) for part in (x, y)))

    def node(self, op: str, *parts: Term | float) -> Term:
        inputs = [part.value if isinstance(part, Term) else self._constant(part) for part in parts]
        return Term(self, self.op.tensor(self.op.node(op, *inputs), self.op.shape(self.x.value)))

    def _named(self, op: str) -> Callable[[Term], Term]:
        return lambda x: self.node(op, x)

    def _in_float64(self, op: str) -> Callable[[Term], Term]:
        """Old float32 kernels are wrong at infinity (Log and Sqrt) and for large angles (Sin and Cos)."""
        dtype = self.x.value.dtype.base

        def rounded(x: Term) -> Term:
            return Term(self, self.op.cast(self.op.node(op, self.op.cast(x.value, FLOAT64)), dtype))

        return rounded

    def _full(self, part: Term | float) -> Term:
        if isinstance(part, Term):
            return part
        return Term(self, self._constant(part, full=True))

    def _constant(self, number: float, full: bool = False) -> Value:
        if (known := self._constants.get((number, full))) is not None:
            return known
        value = self.op.const(number, self.x.value.dtype.base)
        if full:
            value = self.op.Fill(shape_of(self.op, self.x.value), value).output(0)
        self._constants[number, full] = value
        return value
