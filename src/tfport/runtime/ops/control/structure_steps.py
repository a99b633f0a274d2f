"""Steps that structures make of themselves: a host function, and where possible ONNX beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.graph.dtypes import BOOL, DType
from tfport.runtime.engines.engine import Engine
from tfport.runtime.failures import naming_node
from tfport.runtime.lower import CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.plan import Plan
from tfport.runtime.program import ONNX_TYPES, OnnxNode, Program, Run, Step
from tfport.runtime.trace import Tracer

Say = Callable[..., Operand | Sequence[Operand]]
Out = tuple[DType, Dims | None]


def emit(
    tracer: Tracer,
    name: str,
    op: str,
    inputs: Sequence[Operand],
    run: Callable[..., Any],
    out: Out,
    say: Say | None = None,
) -> Operand:
    """One output of a host function of arrays, `run(*inputs)`; `say(b, *inputs)` says it in ONNX."""
    named = _named(run, name, op)
    if all(operand.is_constant for operand in inputs):
        try:
            return Operand(out[0], value=named([o.value for o in inputs])[0], name=name)
        except (Error, MemoryError):
            pass  # a run will tell
    lowered, output = None, None
    if say is not None and all(o.dtype.name in ONNX_TYPES for o in inputs):
        lowered, output = _said(tracer.engine, name, inputs, say)
    if output is not None and output in inputs:
        return output
    made = output if output is not None else Operand(*out, name=name)
    return tracer.add(Step(name, op, tuple(inputs), (made,), lowered, named))[0]


def _said(
    engine: Engine, name: str, inputs: Sequence[Operand], say: Say
) -> tuple[list[OnnxNode] | None, Operand | None]:
    b = Builder(name)
    try:
        answer = say(b, *inputs)
    except CannotLower:
        return None, None
    if not all(engine.takes(node) for node in b.made):
        return None, None
    return b.made, answer if isinstance(answer, Operand) else answer[0]


def _named(run: Callable[..., Any], name: str, op: str) -> Run:
    def answer(given: Sequence[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            found = run(*given)
        return [np.asarray(found) if isinstance(found, np.generic) else found]

    return naming_node(answer, name, op)


def truth(tracer: Tracer, name: str, operand: Operand) -> Operand:
    """What a branch or loop takes for its condition: a number unless 0, a text or array unless empty."""
    if operand.dtype == BOOL and operand.rank == 0:
        return operand

    def say(b: Any, x: Operand) -> Operand:
        if x.rank == 0:
            made: Operand = b.cast(x, BOOL)
            return made
        if x.rank is None:
            raise CannotLower("the rank of the condition is not known")
        size: Operand = b.Greater(b.Size(x), b.ints(0))
        return b.Reshape(size, b.ints())  # type: ignore[no-any-return]

    return emit(tracer, name, "ToBool", [operand], is_true, (BOOL, ()), say)


def is_true(value: Any) -> Any:
    array = np.asarray(value)
    return np.asarray(bool(array[()]) if array.ndim == 0 else array.size > 0)


def joined(shapes: Iterable[Dims | None]) -> Dims | None:
    """The shape that says what all of these have in common."""
    first, *others = shapes
    for other in others:
        if first is None or other is None or len(first) != len(other):
            return None
        first = tuple(a if a == b else None for a, b in zip(first, other, strict=True))
    return first


class InnerProgram:
    """A program inside a step, planned when it is first run."""

    def __init__(self, program: Program, engine: Engine, captured: Sequence[Operand]) -> None:
        self._program, self._engine = program, engine
        self._lock = threading.Lock()
        self._plan: Plan | None = None
        places = {operand: i for i, operand in enumerate(captured)}
        self._captures = [places[operand] for operand in program.captures()]

    def run(self, args: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
        """The results for these arguments, and for what all programs of the step capture."""
        plan = self._plan
        if plan is None:
            with self._lock:
                plan = self._plan = self._plan or Plan(self._program, self._engine)
        return plan.run([*args, *(captured[i] for i in self._captures)])


def captured_by(programs: Sequence[Program]) -> list[Operand]:
    """What programs read from around them, each once."""
    return list({operand: None for program in programs for operand in program.captures()})


def touched_by(programs: Sequence[Program]) -> list[Operand]:
    """The resources that programs know by themselves: a step that holds them keeps its place in the order."""
    return list(
        {
            operand: None
            for program in programs
            for step in program.steps
            for operand in step.inputs
            if operand.is_constant and (operand.dtype.name == "resource" or operand.dtype.is_ref)
        }
    )


def has_effect(programs: Iterable[Program]) -> bool:
    return any(step.effect for program in programs for step in program.steps)
