"""Repeated parts of a graph as one loop, which appends what each iteration returns.

The body is the first copy. Constants that differ between copies are rows of a tensor. The nodes are traced
one by one where a tensor inside is fed, or a result has unknown sizes other than that which is appended to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from tfport.graph.attrs import Attr
from tfport.graph.dtypes import BOOL, INT64
from tfport.graph.graph import Node, Value
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.conditions import Conditions
from tfport.runtime.ops.control.loops import add_loop
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.ops.control.traced_lists import row_at
from tfport.runtime.passes.pass_list import graph_pass
from tfport.runtime.passes.programs.repeated_parts import SUPPRESSIONS, RepeatedParts, repeated_parts
from tfport.runtime.profile.recorder import current_recorder
from tfport.runtime.program import Program
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass

Env = dict[Value, Operand]


@graph_pass
def repeated_loops(
    nodes: Collection[Node], fetched: Collection[Node], conditions: Conditions
) -> dict[Node, RepeatedLoop]:
    """Nodes that are repeated for each class of a detector are one loop."""
    if not any(node.op in SUPPRESSIONS for node in nodes):
        return {}
    loops = [RepeatedLoop(parts) for parts in repeated_parts(nodes, fetched, conditions)]
    return {end: loop for loop in loops for end in loop.parts.ends}


@dataclass(eq=False)
class RepeatedLoop:
    """A loop over copies of the same nodes."""

    parts: RepeatedParts

    @property
    def inputs(self) -> Iterable[Value]:
        return self.parts.inputs

    @property
    def controls(self) -> Iterable[Node]:
        return self.parts.controls

    def trace(self, tracer: Tracer, env: Env, bindings: Mapping[str, Attr]) -> None:
        if not self._traced(tracer, env, bindings):
            tracer.one_by_one(self.parts.ends, env, bindings)

    def _traced(self, tracer: Tracer, env: Env, bindings: Mapping[str, Attr]) -> bool:
        axes = [_axis(env[end.inputs[-1]]) for end in self.parts.ends]
        fed = {value.node for value in env}
        if None in axes or any(node in fed for node in self.parts.nodes):
            return False
        name = self.parts.ends[0].name
        iteration = Operand(INT64, (), name=name)
        tracer.counters.add(iteration)
        unsupported = len(tracer.unsupported)
        body = tracer.program([iteration], lambda: self._body(tracer, env, bindings, iteration))
        shapes = [_appended(result, axis) for result, axis in zip(body.results, axes, strict=True)]
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes):
            del tracer.unsupported[unsupported:]
            return False
        before = [Operand(r.dtype, s, name=name) for r, s in zip(body.results, known, strict=True)]
        appending = tracer.program(
            [],
            lambda: [
                _append(tracer, name, old, new, axis)
                for old, new, axis in zip(before, body.results, axes, strict=True)
            ],
        )
        true = Operand(BOOL, value=np.array(True))
        program = Program(
            [iteration, Operand(BOOL, (), name=name), *before],
            [*body.steps, *appending.steps],
            [true, *appending.results],
        )
        count = Operand(INT64, value=np.array(self.parts.count, np.int64), name=name)
        starts = [_empty(operand) for operand in before]
        outputs = [Operand(operand.dtype, operand.shape, name=name) for operand in before]
        add_loop(tracer, name, "While", program, [count, *starts], outputs)
        env.update((end.output(0), output) for end, output in zip(self.parts.ends, outputs, strict=True))
        if (recorder := current_recorder()) is not None:
            for node in self.parts.nodes:
                if node not in self.parts.inside:
                    recorder.origins.add_folded(node)
        return True

    def _body(
        self, tracer: Tracer, env: Env, bindings: Mapping[str, Attr], iteration: Operand
    ) -> list[Operand]:
        inner = dict(env)
        for node, tensors in self.parts.varying.items():
            rows = Operand(tensors[0].dtype, value=np.stack([tensor.numpy() for tensor in tensors]))
            inner[node.output(0)] = row_at(tracer, node.name, rows, iteration)
        results = [end.inputs[0] for end in self.parts.ends]
        tracer.region([value.node for value in results], inner, bindings, inside=self.parts.inside)
        return [inner[value] for value in results]


def _axis(operand: Operand) -> int | None:
    return int(operand.array) if operand.array is not None and operand.rank == 0 else None


def _appended(operand: Operand, axis: int | None) -> Dims | None:
    """The shape of several results, one after another; None if another size than their number is unknown."""
    shape = operand.shape
    if shape is None or axis is None or not -len(shape) <= axis < len(shape):
        return None
    others = [size for i, size in enumerate(shape) if i != axis % len(shape)]
    return (
        None if None in others else tuple(None if i == axis % len(shape) else s for i, s in enumerate(shape))
    )


def _append(tracer: Tracer, name: str, before: Operand, result: Operand, axis: int | None) -> Operand:
    def run(first: Any, second: Any) -> Any:
        return np.concatenate([first, second], axis)

    def lower(b: Any, first: Operand, second: Operand) -> Any:
        return b.Concat(first, second, axis=axis)

    return emit(tracer, name, "ConcatV2", [before, result], run, (before.dtype, before.shape), lower)


def _empty(operand: Operand) -> Operand:
    shape = [size or 0 for size in operand.shape or ()]
    return Operand(operand.dtype, value=np.zeros(shape, operand.dtype.numpy))
