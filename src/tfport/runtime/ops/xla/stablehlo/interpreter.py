"""Interpret a StableHLO program in NumPy.

`Interpreter(functions).unsupported()` lists ops it cannot run; `run("main", arrays)` computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.stablehlo.vhlo import HloBody, HloOp
from tfport.runtime.ops.xla import hlo_calls as calls
from tfport.runtime.ops.xla.hlo_calls import SECOND, Computation, one_at_a_time
from tfport.runtime.ops.xla.stablehlo.custom import CUSTOM
from tfport.runtime.ops.xla.stablehlo.elementwise import ELEMENTWISE, GREATER, LESS, TOTAL_ORDER
from tfport.runtime.ops.xla.stablehlo.shaping import SHAPING, ints, pairs

Env = dict[int, Any]
MOST_CALLS = 200
_DEPTH = 0
"""The key of the call depth in an environment; values are numbered from 1."""
_WITH_REGIONS = frozenset(
    ["case", "if", "while", "reduce", "reduce_window", "scatter", "select_and_scatter", "sort", "map"]
)
_CALLS = frozenset(["call", "composite", "custom_call"])
_BY_ELEMENT = frozenset([*ELEMENTWISE, "constant", "compare", "convert"])
_KNOWN = {
    "add": "add", "multiply": "multiply", "maximum": "maximum", "minimum": "minimum",
    "and": "and", "or": "or",
}  # fmt: skip


class Interpreter:
    """Runs the functions of a module."""

    def __init__(self, functions: dict[str, HloBody]) -> None:
        self.functions = functions

    def unsupported(self) -> list[str]:
        """The ops that it cannot run."""
        ops = (op for body in self.functions.values() for op in _ops(body))
        return sorted({name for op in ops if (name := _unsupported(op))})

    def run(self, name: str, args: Sequence[Any], depth: int = 0) -> list[Any]:
        body = self.functions.get(name)
        if body is None:
            raise RunFailed(f"the module has no function {name}")
        if len(args) != len(body.args):
            raise RunFailed(f"{name} takes {len(body.args)} tensors, found {len(args)}")
        if depth > MOST_CALLS:
            raise RunFailed(f"{name} calls itself more than {MOST_CALLS} times")
        return self._body(body, args, {_DEPTH: depth}, frees=True)

    def _body(self, body: HloBody, args: Sequence[Any], env: Env, *, frees: bool = False) -> list[Any]:
        env.update(zip(body.args, args, strict=True))
        last = _last_uses(body) if frees else None
        for at, op in enumerate(body.ops):
            operands = [env[value] for value in op.operands]
            answers = self._op(op, operands, env)
            for result, kind, answer in zip(op.results, op.types, answers, strict=True):
                env[result] = answer if kind.element is None else np.asarray(answer, kind.element)
            for value in last[at] if last is not None else ():
                env.pop(value, None)
        return [env[value] for value in body.returns]

    def _op(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        if op.name in ELEMENTWISE or op.name in SHAPING:
            return evaluate(op, operands)
        if op.name in ("call", "composite"):
            called = op.attrs["callee" if op.name == "call" else "decomposition"]
            return self.run(called, operands, env[_DEPTH] + 1)
        if op.name == "custom_call":
            return CUSTOM[op.attrs["call_target_name"]](op, *operands)
        results: Sequence[Any] = getattr(self, f"_{op.name}")(op, operands, env)
        return results

    def _case(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        at = int(operands[0])
        return self._body(op.regions[at if 0 <= at < len(op.regions) else -1], (), env)

    def _if(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        return self._body(op.regions[0 if bool(operands[0]) else 1], (), env)

    def _while(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        condition, body = op.regions
        while bool(self._body(condition, operands, env)[0]):
            operands = self._body(body, operands, env)
        return operands

    def _map(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        return self._computation(op.regions[0], env).call(*operands)

    def _reduce(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        half = len(operands) // 2
        axes = ints(op.attrs["dimensions"])
        return calls.reduce(operands[:half], operands[half:], axes, self._computation(op.regions[0], env))

    def _reduce_window(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        half = len(operands) // 2
        return calls.reduce_window(
            operands[:half],
            operands[half:],
            size=ints(op.attrs["window_dimensions"]),
            strides=ints(op.attrs["window_strides"]),
            base_dilation=ints(op.attrs["base_dilations"]),
            window_dilation=ints(op.attrs["window_dilations"]),
            padding=pairs(op.attrs["padding"]),
            computation=self._computation(op.regions[0], env),
        )

    def _select_and_scatter(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        operand, source, start = operands
        scattered = calls.select_and_scatter(
            operand,
            source,
            start,
            size=ints(op.attrs["window_dimensions"]),
            strides=ints(op.attrs["window_strides"]),
            padding=pairs(op.attrs["padding"]),
            select=self._computation(op.regions[0], env),
            scatter=self._computation(op.regions[1], env),
        )
        return [scattered]

    def _scatter(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        count = len(operands) // 2
        return calls.scatter(
            operands[:count],
            operands[count],
            operands[count + 1 :],
            self._computation(op.regions[0], env),
            update_window=ints(op.attrs["update_window_dims"]),
            inserted=ints(op.attrs["inserted_window_dims"]),
            axes=ints(op.attrs["scatter_dims_to_operand_dims"]),
            index_vector_dim=op.attrs["index_vector_dim"],
            operand_batching=ints(op.attrs.get("input_batching_dims", [])),
            indices_batching=ints(op.attrs.get("scatter_indices_batching_dims", [])),
        )

    def _sort(self, op: HloOp, operands: list[Any], env: Env) -> Sequence[Any]:
        return calls.sort(operands, op.attrs["dimension"], self._computation(op.regions[0], env))

    def _computation(self, body: HloBody, env: Env) -> Computation:
        """A region as a computation."""
        if body.known is None:
            body.known = known_computation(body), all(op.name in _BY_ELEMENT for op in body.ops)
        name, by_element = body.known

        def call(*arrays: Any) -> list[Any]:
            return self._body(body, arrays, env)

        return Computation(call if by_element else one_at_a_time(call, len(body.returns)), name)


def evaluate(op: HloOp, operands: Sequence[Any]) -> Sequence[Any]:
    """The results of an op that calls no computation."""
    elementwise = ELEMENTWISE.get(op.name)
    if elementwise is not None:
        return [elementwise(*operands)]
    answer = SHAPING[op.name](op, *operands)
    return answer if isinstance(answer, tuple | list) else [answer]


def _ops(body: HloBody) -> Iterator[HloOp]:
    for op in body.ops:
        yield op
        for region in op.regions:
            yield from _ops(region)


def _read_in(body: HloBody) -> Iterator[int]:
    """The values that a region reads, including those defined outside of it."""
    yield from body.returns
    for op in body.ops:
        yield from op.operands
        for region in op.regions:
            yield from _read_in(region)


def _unsupported(op: HloOp) -> str | None:
    if op.name == "custom_call":
        target = str(op.attrs["call_target_name"])
        return None if target in CUSTOM else f"a call of {target}"
    supported = op.name in ELEMENTWISE or op.name in SHAPING or op.name in _WITH_REGIONS or op.name in _CALLS
    return None if supported else f"stablehlo.{op.name}"


def known_computation(body: HloBody) -> str:
    """The name of a region of at most one op, if it is a known computation."""
    if not body.ops:
        return SECOND if len(body.args) == 2 and body.returns == body.args[1:] else ""
    op = body.ops[0]
    if len(body.ops) > 1 or body.returns != op.results or op.operands != body.args[:2]:
        return ""
    if op.name == "compare":
        name = {LESS: "less", GREATER: "greater"}.get(op.attrs["comparison_direction"], "")
        total = op.attrs.get("compare_type") == TOTAL_ORDER
        return f"total_{name}" if name and total else name
    if op.types[0].element != np.bool_ and op.name in ("and", "or"):
        return f"bitwise_{op.name}" if len(body.args) == 2 else ""
    return _KNOWN.get(op.name, "") if len(body.args) == 2 else ""


def _last_uses(body: HloBody) -> list[list[int]]:
    """The values that no later op reads, by op."""
    if body.known is None:
        last: dict[int, int] = dict.fromkeys(body.args, 0)
        for at, op in enumerate(body.ops):
            last.update(dict.fromkeys((*op.operands, *op.results), at))
            for value in (v for region in op.regions for v in _read_in(region)):
                if value in last:
                    last[value] = at
        freed: list[list[int]] = [[] for _ in body.ops]
        for value, at in last.items():
            if value not in body.returns:
                freed[at].append(value)
        body.known = freed
    last_uses: list[list[int]] = body.known
    return last_uses
