"""Branches, loops and calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloBody, HloOp, TensorType
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.tensor import HloTensor
from tfport.graph.attrs import FunctionRef

Env = dict[int, Any]


@translates("call composite")
def call(op: HloNodes, hlo: HloOp, *operands: Any) -> list[Any]:
    """The body of the function; of a composite, that of its decomposition."""
    name = hlo.attrs["callee" if hlo.name == "call" else "decomposition"]
    return op.program.call(op, str(name), operands)


@translates("if")
def if_(op: HloNodes, hlo: HloOp, on: HloTensor, *, env: Env) -> list[Any]:
    if on.array is not None:
        return op.program.body(op, hlo.regions[0 if bool(on.array) else 1], (), env)
    return _branch(op, hlo, on, hlo.regions, env)


@translates("case")
def case(op: HloNodes, hlo: HloOp, index: HloTensor, *, env: Env) -> list[Any]:
    """An index out of range selects the last branch."""
    regions = hlo.regions
    if index.array is not None:
        at = int(index.array)
        return op.program.body(op, regions[at if 0 <= at < len(regions) else -1], (), env)
    if len(regions) == 1:
        return op.program.body(op, regions[0], (), env)
    return _case(op, hlo, index, regions, env, 0)


def _case(
    op: HloNodes, hlo: HloOp, index: HloTensor, regions: Sequence[HloBody], env: Env, at: int
) -> list[Any]:
    """Branch on whether the index is that of the first region; the others are nested."""
    is_here = op.tensor(op.Equal(index.value, op.const(at, index.dtype)), ())
    if len(regions) == 2:
        return _branch(op, hlo, is_here, regions, env)
    others = Captures(op, regions, env)
    last = len(others.values)

    def rest(inner: HloNodes, passed: list[HloTensor]) -> list[Any]:
        return _case(inner, hlo, passed[last], regions[1:], others.bound(inner, passed), at + 1)

    return _chosen(op, hlo, is_here, others, regions[0], rest, index)


def _branch(op: HloNodes, hlo: HloOp, on: HloTensor, regions: Sequence[HloBody], env: Env) -> list[Any]:
    captures = Captures(op, regions, env)

    def otherwise(inner: HloNodes, passed: list[HloTensor]) -> list[Any]:
        return inner.program.body(inner, regions[1], (), captures.bound(inner, passed))

    return _chosen(op, hlo, on, captures, regions[0], otherwise)


def _chosen(
    op: HloNodes,
    hlo: HloOp,
    on: HloTensor,
    captures: Captures,
    then: HloBody,
    otherwise: Any,
    *more: HloTensor,
) -> list[Any]:
    def first(inner: HloNodes, passed: list[HloTensor]) -> list[Any]:
        return inner.program.body(inner, then, (), captures.bound(inner, passed))

    passed = [*captures.values, *more]
    types = [_type(tensor) for tensor in passed]
    functions = [
        op.program.function(name, types, body) for name, body in (("then", first), ("else", otherwise))
    ]
    stateful = any(function.definition.is_stateful for function in functions)
    outputs = [value.dtype.base for value in functions[0].results]
    node = op.node(
        "If" if stateful else "StatelessIf",
        on.value,
        [tensor.value for tensor in passed],
        Tin=[tensor.dtype for tensor in passed],
        Tout=outputs,
        then_branch=FunctionRef(functions[0].name),
        else_branch=FunctionRef(functions[1].name),
    )
    return [op.tensor(node.output(index), tensor_type.shape) for index, tensor_type in enumerate(hlo.types)]


@translates("while")
def while_(op: HloNodes, hlo: HloOp, *operands: HloTensor, env: Env) -> list[Any]:
    """Values from outside are passed through the loop."""
    condition, body = hlo.regions
    captures = Captures(op, hlo.regions, env)
    count = len(operands)
    passed = [*operands, *captures.values]
    types = [*(TensorType(x.element, x.shape) for x in body.types), *map(_type, captures.values)]
    if len(body.types) != count:
        raise CannotRun("a stablehlo.while does not pass on all of its values")

    def test(inner: HloNodes, values: list[HloTensor]) -> list[Any]:
        return inner.program.body(inner, condition, values[:count], captures.bound(inner, values[count:]))

    def step(inner: HloNodes, values: list[HloTensor]) -> list[Any]:
        results = inner.program.body(inner, body, values[:count], captures.bound(inner, values[count:]))
        return [*results, *values[count:]]

    functions = [op.program.function(name, types, make) for name, make in (("cond", test), ("body", step))]
    stateful = any(function.definition.is_stateful for function in functions)
    node = op.node(
        "While" if stateful else "StatelessWhile",
        [tensor.value for tensor in passed],
        T=[tensor.dtype for tensor in passed],
        cond=FunctionRef(functions[0].name),
        body=FunctionRef(functions[1].name),
    )
    return [
        op.tensor(node.output(index), tensor_type.shape) for index, tensor_type in enumerate(types[:count])
    ]


class Captures:
    """The values that regions read from outside: constants are repeated inside, others are passed."""

    def __init__(self, op: HloNodes, regions: Sequence[HloBody], env: Env) -> None:
        names = [name for name in captured(regions) if name in env]
        self._known = {name: env[name] for name in names if env[name].array is not None}
        self._passed = [name for name in names if name not in self._known]
        self.values: list[HloTensor] = [env[name] for name in self._passed]

    def bound(self, op: HloNodes, passed: Sequence[HloTensor]) -> Env:
        """The values by name, inside of a function."""
        known = {name: op.known(tensor.array) for name, tensor in self._known.items()}
        return {**known, **dict(zip(self._passed, passed, strict=False))}


def captured(bodies: Sequence[HloBody]) -> list[int]:
    """The values that regions read from outside, in order."""
    outer: dict[int, None] = {}
    for body in bodies:
        inner = set(body.args)
        for hlo in body.ops:
            outer.update(dict.fromkeys(value for value in hlo.operands if value not in inner))
            outer.update(dict.fromkeys(value for value in captured(hlo.regions) if value not in inner))
            inner.update(hlo.results)
        outer.update(dict.fromkeys(value for value in body.returns if value not in inner))
    return list(outer)


def _type(tensor: HloTensor) -> TensorType:
    return TensorType(tensor.dtype.numpy, tensor.dims)
