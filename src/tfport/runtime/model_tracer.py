"""Trace a model into programs: for fetches and feeds by name, under what a plan may assume of the feeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import MalformedGraph
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.model import Model
from tfport.runtime.bounds.run_scope import RunLimits
from tfport.runtime.custom.registry import Registry
from tfport.runtime.engines.engine import Engine
from tfport.runtime.failures import raise_unsupported
from tfport.runtime.fed_tensor import FedValue
from tfport.runtime.hosted import HostedSteps
from tfport.runtime.operand import Operand
from tfport.runtime.plan_cache import Assumed
from tfport.runtime.program import Program
from tfport.runtime.state import State, Variable
from tfport.runtime.trace import Env, Tracer
from tfport.startup.garbage import gc_paused


class ModelTracer:
    """Traces a model with its state, its custom ops and its limits."""

    def __init__(self, model: Model, state: State, registry: Registry, limits: RunLimits) -> None:
        self.model, self.state, self.registry, self.limits = model, state, registry, limits

    def runnable(
        self,
        fetches: Sequence[str],
        feeds: Sequence[str],
        assumed: Sequence[Assumed],
        engine: Engine,
        *,
        bake: bool = True,
        hosted: HostedSteps | None = None,
    ) -> tuple[Program, int]:
        """A program that treats no variable as constant that it assigns, and the version of the state.

        CannotRun if tfport does not support a node.
        """
        for _ in range(len(self.model.graph) + 2):
            version = self.state.version
            if hosted is not None:
                hosted.steps.clear()
            program, tracer = self.trace(fetches, feeds, assumed, engine, bake=bake, hosted=hosted)
            raise_unsupported(tracer.unsupported, self.model.where)
            assigned = _assigned(program) & tracer.baked
            if not assigned:
                return program, version
            for variable in assigned:
                variable.changes = True
        raise MalformedGraph(
            f"{self.model.where}: planning did not converge: "
            "every plan assigns to variables that it treated as constants"
        )

    @gc_paused()
    def trace(
        self,
        fetches: Sequence[str],
        feeds: Sequence[str],
        assumed: Sequence[Assumed],
        engine: Engine,
        *,
        bake: bool = True,
        hosted: HostedSteps | None = None,
    ) -> tuple[Program, Tracer]:
        """The program of these fetches, and the tracer, which knows what is not supported.

        A tensor is fetched as `y:0`; a node's name alone runs the node. With `bake`, variables that are
        never assigned are constants.
        """
        tensors = [self.value(name) for name in fetches if ":" in name]
        ends = [self.node(name) for name in fetches]
        values = [self.value(name) for name in feeds]
        tracer = Tracer(
            self.state,
            engine,
            bake=bake,
            implementations=self.registry,
            recorded_ranks=all(
                v.shape.dims is None for v, a in zip(values, assumed, strict=True) if isinstance(a, int)
            ),
            limits=self.limits,
            hosted=hosted,
        )
        args = [self._argument(value, fact) for value, fact in zip(values, assumed, strict=True)]
        env = dict(zip(values, args, strict=True))

        def walk() -> list[Operand]:
            tracer.region([end for end in ends if not any(v in env for v in end.outputs)], env)
            return [_read(tracer, value, env) for value in tensors]

        return tracer.program(unassumed(args, assumed), walk), tracer

    def value(self, name: str) -> Value:
        return self.model.graph.value(name)

    def node(self, name: str) -> Node:
        node = self.model.graph.find(name.partition(":")[0])
        if node is None:
            raise MalformedGraph(f"the graph has no node `{name}`")
        return node

    def dtype(self, value: Value) -> DType:
        """The type of a tensor's elements; for an output of a custom op, as the registry defines it."""
        signature = self.registry.signature_of(value.node.op)
        return (signature.output_type(value.index, value.node.attrs) if signature else value.dtype).base

    def _argument(self, value: Value, assumed: Assumed) -> Operand:
        if isinstance(assumed, FedValue):
            constant = np.array(assumed.value, self.dtype(value).numpy)
            return Operand(self.dtype(value), value=constant, name=value.node.name)
        dims = value.shape.dims if assumed is None else (None,) * assumed
        return Operand(self.dtype(value), dims, name=value.node.name)


def unassumed(items: Sequence[Any], assumed: Sequence[Assumed]) -> list[Any]:
    """The items of the fed tensors whose values a plan does not assume."""
    return [item for item, fact in zip(items, assumed, strict=True) if not isinstance(fact, FedValue)]


def _read(tracer: Tracer, value: Value, env: Env) -> Operand:
    operand = env.get(value)
    if operand is None:
        raise MalformedGraph(f"`{value.node.name}` ({value.node.op}) has no output {value.index}")
    return (
        tracer.read_variable(operand, operand.name, operand.dtype.base) if operand.dtype.is_ref else operand
    )


def _assigned(program: Program) -> set[Variable]:
    """The variables that a program may assign to."""
    variables: set[Variable] = set()
    for step in program.steps:
        if step.effect:
            variables |= {o.value for o in step.inputs if isinstance(o.value, Variable)}
        for inner in step.programs:
            variables |= _assigned(inner)
    return variables
