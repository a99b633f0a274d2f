"""Translate the functions of a StableHLO module into functions of TensorFlow.

Calls are inlined, so that constants reach the ops that need them; regions of branches and loops
become functions of their own, which get the values that they read from outside as arguments. An op
whose operands are constant is computed at once (`constants`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.stablehlo.vhlo import HloBody, HloOp, TensorType
from tfport.frontends.stablehlo.constants import evaluate
from tfport.frontends.stablehlo.nodes import (
    CUSTOM_CALLS,
    MOST_CALLS,
    ONLY_XLA_OPS,
    TRANSLATIONS,
    AllAttrs,
    Env,
    HloNodes,
    RandomBits,
    Results,
)
from tfport.frontends.stablehlo.ops import (  # noqa: F401  (they declare the translations)
    control,
    conversion,
    convolution,
    custom,
    elementwise,
    indexing,
    linear_algebra,
    reductions,
    shapes,
    slices,
    sorting,
    windows,
    xla,
)
from tfport.frontends.stablehlo.tensor import HloTensor, element_type, typed_tensor
from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import CONTROL_RETURN, RETURN, Argument, Function, Graph, Node
from tfport.graph.reach import needed_by

MOST_FOLDED = 4096
"""The most elements of a result that is computed in advance."""
MOST_INLINED = 100_000
"""The most calls, each of which is a copy of the function."""
NOT_FOLDED = frozenset(["broadcast_in_dim", "call", "composite", "custom_call", "rng_bit_generator"])


class ProgramBuilder:
    """Translates one module; functions are added to the library of a graph."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        functions: dict[str, HloBody],
        called: Sequence[FunctionRef] = (),
        *,
        all_attrs: AllAttrs = lambda op, signature, explicit: explicit,
        draw: RandomBits | None = None,
        own_runtime: bool = False,
    ) -> None:
        self.graph, self.name, self.functions, self.called = graph, name, functions, called
        self.all_attrs, self.draw, self.own_runtime = all_attrs, draw, own_runtime
        self._depth = self._inlined = 0

    def unsupported(self) -> list[str]:
        """The ops without a translation."""
        names = (missing(op, self.own_runtime) for body in self.functions.values() for op in _every_op(body))
        return sorted({name for name in names if name})

    def function(self, name: str, args: Sequence[TensorType], body: Any) -> Function:
        """Make a function; `body(op, tensors)` returns its results."""
        definition = pb.OpDef(name=self._free_name(name))
        for index, tensor_type in enumerate(args):
            definition.input_arg.add(name=f"arg_{index}", type=element_type(tensor_type.element).number)
        function = Function(definition, self.graph.ops, self.graph.library)
        self.graph.library.functions[definition.name] = function  # functions inside get other names
        for index, arg in enumerate(definition.input_arg):
            function.args[arg.name] = Argument(function, arg, index)
        op = HloNodes(self, function)
        passed = [
            typed_tensor(op, function.args[f"arg_{index}"].output(0), tensor_type)
            for index, tensor_type in enumerate(args)
        ]
        results = [tensor.value for tensor in body(op, passed)]
        for index, value in enumerate(results):
            definition.output_arg.add(name=f"ret_{index}", type=value.dtype.base.number)
            end = function.returns[f"ret_{index}"] = Node(function, f"ret_{index}", RETURN)
            end.set_inputs([value])
        for node in [node for node in function if node.is_stateful]:
            definition.control_output.append(node.name)
            waits = function.control_returns[node.name] = Node(function, node.name, CONTROL_RETURN)
            waits.set_controls([node])
        function.prune(node for node in needed_by(function.ends) if node.name in function.nodes)
        definition.is_stateful = any(node.is_stateful for node in function)
        return function

    def _free_name(self, name: str) -> str:
        base = "".join(c if c.isalnum() else "_" for c in f"{self.name}_{name}").strip("_") or "xla"
        free, count = base, 0
        while free in self.graph.library.functions or self.graph.ops.get(free) is not None:
            count += 1
            free = f"{base}_{count}"
        return free

    def call(self, op: HloNodes, name: str, args: Sequence[Any]) -> list[Any]:
        """The results of a function of the module, with its body inline."""
        body = self.functions.get(name)
        if body is None or len(body.args) != len(args):
            raise CannotRun(f"its program calls {name} with {len(args)} tensors, which it does not define")
        if self._depth > MOST_CALLS:
            raise CannotRun(f"its function {name} calls itself more than {MOST_CALLS} times")
        self._inlined += 1
        if self._inlined > MOST_INLINED:
            raise CannotRun(f"its functions are called more than {MOST_INLINED:,} times")
        self._depth += 1
        try:
            return self.body(op, body, args, {})
        finally:
            self._depth -= 1

    def body(self, op: HloNodes, body: HloBody, args: Sequence[Any], env: Env) -> list[Any]:
        """The results of a body; `env` has the values that it reads from outside."""
        env = {**env, **dict(zip(body.args, args, strict=True))}
        for hlo in body.ops:
            results = self.results(op, hlo, [env[value] for value in hlo.operands], env)
            env.update(zip(hlo.results, results, strict=True))
        return [env[value] for value in body.returns]

    def results(self, op: HloNodes, hlo: HloOp, operands: list[Any], env: Env) -> list[Any]:
        """The results of one op."""
        if (folded := _folded(op, hlo, operands)) is not None:
            return folded
        if hlo.regions:
            results: Results = TRANSLATIONS[hlo.name](op, hlo, *operands, env=env)
        elif hlo.name == "custom_call":
            results = CUSTOM_CALLS[str(hlo.attrs["call_target_name"])](op, hlo, *operands)
        else:
            results = TRANSLATIONS[hlo.name](op, hlo, *operands)
        return [results] if isinstance(results, HloTensor) else list(results)


def missing(hlo: HloOp, own_runtime: bool) -> str | None:
    """The name of an op that has no translation, else None."""
    is_call = hlo.name == "custom_call"
    name = str(hlo.attrs["call_target_name"]) if is_call else hlo.name
    if name in (CUSTOM_CALLS if is_call else TRANSLATIONS) and (own_runtime or name not in ONLY_XLA_OPS):
        return None
    return f"a call of {name}" if is_call else f"stablehlo.{name}"


def _every_op(body: HloBody) -> Iterator[HloOp]:
    for hlo in body.ops:
        yield hlo
        for region in hlo.regions:
            yield from _every_op(region)


def _folded(op: HloNodes, hlo: HloOp, operands: list[Any]) -> list[Any] | None:
    """The results of an op with constant operands, if they are small."""
    if hlo.regions or not operands or hlo.name in NOT_FOLDED:
        return None
    arrays = [operand.array if isinstance(operand, HloTensor) else None for operand in operands]
    if any(array is None for array in arrays):
        return None
    if any(None in t.shape or math.prod(t.shape) > MOST_FOLDED for t in hlo.types):  # type: ignore[arg-type]
        return None
    with np.errstate(all="ignore"):
        result = evaluate(hlo, arrays)
    return None if result is None else [op.known(np.asarray(result, hlo.types[0].element))]
