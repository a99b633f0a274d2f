"""Steps emitted by structure ops: a host function, and an ONNX lowering where possible.

One of them limits the iterations of a loop: it fails in the first iteration too many. ONNX has no op that
fails on purpose. An index that is out of range does, and the name of the node says what it means
(`bounds.run_scope.limit_name`). Other engines do not fail: such loops run on the host there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error, ResourceExhausted, RunFailed
from tfport.graph.dtypes import BOOL, INT64, DType
from tfport.runtime.bounds.run_scope import limit_message, limit_name
from tfport.runtime.engines.engine import Engine
from tfport.runtime.failures import naming_node
from tfport.runtime.lower import CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.plan import Plan
from tfport.runtime.program import ONNX_TYPES, NeverLowered, OnnxNode, Program, Run, Step
from tfport.runtime.trace import Tracer

LowerFunction = Callable[..., Operand | Sequence[Operand]]
OutputType = tuple[DType, Dims | None]


def emit(
    tracer: Tracer,
    name: str,
    op: str,
    inputs: Sequence[Operand],
    run: Callable[..., Any],
    out: OutputType,
    lower: LowerFunction | None = None,
) -> Operand:
    """Add a step with one output: `run(*inputs)` computes it on the host, `lower(b, *inputs)` lowers it."""
    named = _named(run, name, op)
    if all(operand.is_constant for operand in inputs):
        try:
            return Operand(out[0], value=named([o.value for o in inputs])[0], name=name)
        except (Error, MemoryError):
            pass  # the step reports the error when it runs
    why: str = NeverLowered.NO_ONNX_OP
    lowered, output = None, None
    if lower is not None:
        try:
            lowered, output = _lowered(tracer.engine, name, inputs, lower)
        except CannotLower as reason:
            why = str(reason)
    if output is not None and output in inputs:
        return output
    result = output if output is not None else Operand(*out, name=name)
    step = Step(name, op, tuple(inputs), (result,), lowered, named, why="" if lowered is not None else why)
    return tracer.add(step)[0]


def _lowered(
    engine: Engine, name: str, inputs: Sequence[Operand], lower: LowerFunction
) -> tuple[list[OnnxNode], Operand]:
    if other := next((o.dtype for o in inputs if o.dtype.name not in ONNX_TYPES), None):
        raise CannotLower(f"it reads {other}")
    b = Builder(name)
    output = lower(b, *inputs)
    if refused := next((node for node in b.added if not engine.takes(node)), None):
        raise CannotLower(f"{engine.name} has no {refused.op} for these types")
    return b.added, output if isinstance(output, Operand) else output[0]


def _named(run: Callable[..., Any], name: str, op: str) -> Run:
    def run_on_list(inputs: Sequence[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            output = run(*inputs)
        return [np.asarray(output) if isinstance(output, np.generic) else output]

    return naming_node(run_on_list, name, op)


def as_condition(tracer: Tracer, name: str, operand: Operand) -> Operand:
    """A condition as a bool: true for a number other than 0, and for a nonempty string or array."""
    if operand.dtype == BOOL and operand.rank == 0:
        return operand

    def lower(b: Any, x: Operand) -> Operand:
        if x.rank == 0:
            result: Operand = b.cast(x, BOOL)
            return result
        if x.rank is None:
            raise CannotLower("the rank of the condition is unknown")
        size: Operand = b.Greater(b.Size(x), b.ints(0))
        return b.Reshape(size, b.ints())  # type: ignore[no-any-return]

    return emit(tracer, name, "ToBool", [operand], is_true, (BOOL, ()), lower)


def as_predicate(tracer: Tracer, name: str, operand: Operand) -> Operand:
    """The predicate of a Switch, which must be a scalar, unlike the condition of an If."""
    if operand.rank == 0:
        return operand

    def lower(b: Any, x: Operand) -> Operand:
        raise CannotLower("the predicate is not known to be a scalar")

    return emit(tracer, name, "ToBool", [operand], is_true_scalar, (BOOL, ()), lower)


def is_true_scalar(value: Any) -> Any:
    if np.ndim(value):
        raise RunFailed(f"the predicate must be a scalar, and has the shape {list(np.shape(value))}")
    return is_true(value)


def is_true(value: Any) -> Any:
    array = np.asarray(value)
    return np.asarray(bool(array[()]) if array.ndim == 0 else array.size > 0)


def common_shape(shapes: Iterable[Dims | None]) -> Dims | None:
    """The shape common to all; dimensions that differ are unknown."""
    first, *others = shapes
    for other in others:
        if first is None or other is None or len(first) != len(other):
            return None
        first = tuple(a if a == b else None for a, b in zip(first, other, strict=True))
    return first


class InnerProgram:
    """A program inside a step, planned on its first run."""

    def __init__(self, program: Program, engine: Engine, captured: Sequence[Operand]) -> None:
        self._program, self._engine = program, engine
        self._lock = threading.Lock()
        self._plan: Plan | None = None
        positions = {operand: i for i, operand in enumerate(captured)}
        self._captures = [positions[operand] for operand in program.captures()]

    def run(self, args: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
        """The results for the arguments and the values captured by all programs of the step."""
        plan = self._plan
        if plan is None:
            with self._lock:
                plan = self._plan = self._plan or Plan(self._program, self._engine, repeated=True)
        return plan.run([*args, *(captured[i] for i in self._captures)])


def captured_by(programs: Sequence[Program]) -> list[Operand]:
    """The outer operands that programs read, without duplicates."""
    return list({operand: None for program in programs for operand in program.captures()})


def resources_used_by(programs: Sequence[Program]) -> list[Operand]:
    """The constant resources that programs use; as inputs of the step they keep it in execution order."""
    return list(
        {
            operand: None
            for program in programs
            for step in program.steps
            for operand in step.inputs
            if operand.is_constant and (operand.dtype.name == "resource" or operand.dtype.is_ref)
        }
    )


def why_on_host(programs: Sequence[Program]) -> str:
    """Why a step with inner programs is not lowered."""
    reason = next(filter(None, (program.why_not_lowered() for program in programs)), "")
    return f"its body has {reason}" if reason else "it cannot be one ONNX node"


def has_effect(programs: Iterable[Program]) -> bool:
    return any(step.effect for program in programs for step in program.steps)


def limited(tracer: Tracer, loop: str, iteration: Operand, condition: Operand) -> Operand:
    """The condition of the next iteration; an error if this one is not allowed any more."""
    most = tracer.limits.max_loop_iterations

    def run(number: Any, condition: Any) -> Any:
        if number >= most:
            raise ResourceExhausted(limit_message(loop, most))
        return condition

    def lower(b: Any, number: Operand, condition: Operand) -> Operand:
        too_many = b.cast(b.GreaterOrEqual(number, b.const(most, INT64)), INT64)
        allowed = b.Gather(b.const([True], BOOL), too_many)
        result: Operand = b.And(condition, allowed)
        return result

    return emit(
        tracer,
        limit_name(loop, most),
        "LoopLimit",
        [iteration, condition],
        run,
        (BOOL, ()),
        lower if getattr(tracer.engine, "checks_indices", False) else None,
    )
