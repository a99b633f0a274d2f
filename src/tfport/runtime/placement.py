"""Which engine computes each step: that of the device, or the one beside it on the CPU.

A device must not compute some nodes (`Engine.engine_for`), such as the suppression of overlapping boxes at
the end of a detector. The engine beside it computes these, what they read of the inputs, and the steps that
follow them, unless a convolution or product comes later: they are small, and each change of the device copies
what is read. Without any convolution or product for the device, as in quantized networks, it computes all.

A sum of segments that the host finds, as the tokens of texts, is the host's on a CPU: NumPy adds sorted rows
together, ONNX Runtime element by element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tfport.runtime.engines.engine import Engine
from tfport.runtime.onnx.model import nodes_of
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode, Step, reads_of, values_of

Placement = dict[Step, Engine | None]
"""The engine of each step; None for those that the host computes."""
WORK_FOR_DEVICE = frozenset(("Conv", "ConvTranspose", "Einsum", "Gemm", "GRU", "LSTM", "MatMul", "RNN"))
"""Nodes that are worth a copy of their inputs to the device."""
_SUM = "UnsortedSegmentSum"
_VARIABLES = frozenset(("ReadVariableOp", "VarHandleOp", "VariableV2"))


def placed_steps(steps: Sequence[Step], engine: Engine) -> Placement:
    """Where each step runs, before islands that are too small go to the host."""
    of_host = _sums_of_host(steps) if engine.form.for_cpu else frozenset()
    placed: Placement = {
        step: None
        if step.lowered is None or step.is_faster_on_host or step in of_host
        else engine.engine_for(step.lowered)
        for step in steps
    }
    beside = next((where for where in placed.values() if where is not None and where is not engine), None)
    if beside is not None:
        _keep_head(steps, placed, engine, beside)
        _keep_tail(steps, placed, engine, beside)
    return placed


def _sums_of_host(steps: Sequence[Step]) -> frozenset[Step]:
    """Sums of segments whose ids come from what the host computes."""
    if not any(step.op == _SUM for step in steps):
        return frozenset()
    computed: set[Operand] = set()
    sums = set()
    for step in steps:
        if step.op == _SUM and step.run is not None and step.inputs[1] in computed:
            sums.add(step)
        if step.op in _VARIABLES:
            continue
        if step.lowered is None or any(operand in computed for operand in step.inputs):
            computed.update(step.outputs)
    return frozenset(sums)


def _keep_head(steps: Sequence[Step], placed: Placement, engine: Engine, beside: Engine) -> None:
    """Move to the CPU what its steps read, and all if there is no work for the device, before such work."""
    after_work = _after_work(steps, placed, engine)
    read: set[Operand] = set()
    for step in reversed(steps):
        is_lowered = placed[step] is not None
        is_read = any(operand in read for operand in values_of(step, is_lowered))
        if placed[step] is engine and step not in after_work and (is_read or not after_work):
            placed[step] = beside
        if placed[step] is beside:
            read.update(reads_of(step, is_lowered))


def _keep_tail(steps: Sequence[Step], placed: Placement, engine: Engine, beside: Engine) -> None:
    """Move to the CPU what reads its results, where the device has no more work to do."""
    before_work = _before_work(steps, placed)
    late: set[Operand] = set()
    for step in steps:
        if step in before_work:
            continue
        is_lowered = placed[step] is not None
        follows = any(operand in late for operand in reads_of(step, is_lowered))
        if follows and placed[step] is engine:
            placed[step] = beside
        if follows or placed[step] is beside:
            late.update(values_of(step, is_lowered))


def _after_work(steps: Sequence[Step], placed: Placement, engine: Engine) -> set[Step]:
    """The work for the device, and all that depends on it."""
    after_work: set[Step] = set()
    values: set[Operand] = set()
    for step in steps:
        is_lowered = placed[step] is not None
        is_work = placed[step] is engine and any(node.op in WORK_FOR_DEVICE for node in _nodes(step))
        if is_work or any(operand in values for operand in reads_of(step, is_lowered)):
            after_work.add(step)
            values.update(values_of(step, is_lowered))
    return after_work


def _before_work(steps: Sequence[Step], placed: Placement) -> set[Step]:
    """The steps that are work for the device, and all that these read."""
    before_work: set[Step] = set()
    read: set[Operand] = set()
    for step in reversed(steps):
        is_lowered = placed[step] is not None
        is_read = any(operand in read for operand in values_of(step, is_lowered))
        if is_read or any(node.op in WORK_FOR_DEVICE for node in _nodes(step)):
            before_work.add(step)
            read.update(reads_of(step, is_lowered))
    return before_work


def _nodes(step: Step) -> Iterator[OnnxNode]:
    """The ONNX nodes of a step, also those of loops and branches on the host."""
    yield from _with_inner(step.lowered or ())
    if step.lowered is None:
        for program in step.programs:
            yield from _with_inner(nodes_of(program))


def _with_inner(nodes: Iterable[OnnxNode]) -> Iterator[OnnxNode]:
    for node in nodes:
        yield node
        for program in node.programs:
            yield from _with_inner(nodes_of(program))
