"""Cut a program into islands for the engine and host steps between them, and run it.

Islands are as large as possible: a step depends only on its inputs (and on earlier effects, if it
has one), so everything that the engine can compute at once is one island. An island that is too
small to be worth the copying is computed on the host instead. What a device must not compute is an island of
the engine beside it on the CPU (`placement`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import RunScope, current_scope, own_bytes
from tfport.runtime.bounds.shape_bound_cost import has_steady_work
from tfport.runtime.effect_order import EffectOrder
from tfport.runtime.engines.engine import Compiled, Engine
from tfport.runtime.engines.gpu.device_array import all_on_host
from tfport.runtime.engines.gpu.in_place import in_place, is_in_place
from tfport.runtime.host_loop import HostCall, host_loop
from tfport.runtime.island import compiled_island
from tfport.runtime.onnx.cut_islands import cut_island
from tfport.runtime.onnx.early_parts import StepGroup, early_parts, is_cheap, joined_islands, only_copies
from tfport.runtime.operand import Operand
from tfport.runtime.passes.pass_list import run_host_passes, run_program_passes
from tfport.runtime.placement import Placement, placed_steps
from tfport.runtime.profile.recorder import Recorder, current_recorder
from tfport.runtime.program import Program, Step, reads_of, values_of
from tfport.runtime.stored.stored_island import IslandCopy
from tfport.startup.dataclass import dataclass, field
from tfport.startup.garbage import gc_paused

MIN_ISLAND = 3
"""An island of at most this many cheap ONNX nodes runs on the host."""
_HEAVY = frozenset(
    ("Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN", "Loop", "Einsum", "Resize", "MaxPool",
     "AveragePool", "Softmax")
)  # fmt: skip


@dataclass(eq=False)
class Stage:
    """Steps that run together: one island, or a sequence of host steps."""

    steps: list[Step]
    engine: Engine | None
    """What computes the island; None for host steps."""
    reads: list[Operand] = field(default_factory=list)
    writes: list[Operand] = field(default_factory=list)

    @property
    def lowered(self) -> bool:
        return self.engine is not None


class Plan:
    """A compiled program: takes arrays for its arguments and captures, returns arrays of its results.

    The program itself is not kept: its constants may be large, and the engine has its own copies.
    """

    @gc_paused()
    def __init__(
        self,
        program: Program,
        engine: Engine,
        *,
        repeated: bool = False,
        release: Callable[[], None] | None = None,
        in_advance: bool = False,
        copy: IslandCopy | None = None,
    ) -> None:
        """`repeated`: the plan of a loop body or a branch. `in_advance`: it is not made for a run.

        `release` frees what was read of the files of the weights; it is called before an engine makes its
        own copies, which is when a plan needs most memory. `copy` is filled if the plan is one island.
        """
        self.inputs = [*program.args, *program.captures()]
        program = run_program_passes(program, engine)
        self.ops = [step.op for step in program.steps]
        """The ops that it runs, in order."""
        self.is_steady = has_steady_work(program.steps)
        self._slots = _Slots(self.inputs)
        stages = cut_into_stages(program, engine)
        # a device computes between islands on the CPU, so their threads may spin
        alone = not repeated and (engine.on_device or sum(stage.lowered for stage in stages) == 1)
        if copy is not None and (len(stages) != 1 or not stages[0].lowered or self.inputs != program.args):
            copy = None
        compiled = functools.partial(compiled_island, alone=alone, release=release, in_advance=in_advance)
        self._stages = [self._compiled(stage, engine, compiled, copy) for stage in stages]
        self._results = [
            (r.value, None) if r.is_constant else (None, self._slots[r]) for r in program.results
        ]
        self._freed = self._last_uses()
        self._direct = self._only_stage()
        self._on_device = engine.on_device
        self._names = {slot: operand.name.partition("#")[0] for operand, slot in self._slots.items()}
        """The node that computes each slot."""
        if copy is not None:
            self._describe(copy)

    def run(self, inputs: Sequence[Any], *, on_device: bool = False) -> list[Any]:
        """Arrays of the results; with `on_device`, those that an engine left on its device stay there."""
        results = self._run_bounded(inputs)
        return results if on_device or not self._on_device else all_on_host(results)

    def run_from_host(self, inputs: Sequence[Any]) -> list[Any]:
        """`run` for arrays on the host, without what only others need: a call may take 10 µs."""
        if self._direct is None or current_scope() is not None:
            return self.run(inputs)
        results = self._direct(inputs)
        return all_on_host(results) if self._on_device else list(results)

    def _run_bounded(self, inputs: Sequence[Any]) -> list[Any]:
        scope = current_scope()
        if self._direct is not None and (scope is None or not scope.max_bytes):
            if scope is not None:
                scope.stop.check()
            return list(self._direct(inputs))
        if self._on_device and is_in_place():
            with in_place(False):  # other stages may keep what an island returns
                return self._run_bounded(inputs)
        if scope is None:
            return self._run(inputs)
        before = scope.in_use
        try:
            return self._run(inputs, scope)
        finally:
            scope.in_use = before

    def _run(self, inputs: Sequence[Any], scope: RunScope | None = None) -> list[Any]:
        slots: list[Any] = [None] * len(self._slots)
        slots[: len(inputs)] = inputs
        before = scope.in_use if scope is not None else 0
        for (run, reads, writes), free in zip(self._stages, self._freed, strict=True):
            if scope is not None:
                scope.stop.check()
            outputs = run([slots[i] for i in reads])
            for slot, output in zip(writes, outputs, strict=True):
                slots[slot] = output
            for slot in free:
                slots[slot] = None
            if scope is not None and scope.max_bytes:
                scope.in_use = before
                scope.reserve(own_bytes(slots[len(inputs) :]), self._names[writes[0]] if writes else "")
        return [slots[slot] if slot is not None else value for value, slot in self._results]

    def _compiled(
        self,
        stage: Stage,
        engine: Engine,
        compiled: Callable[..., tuple[Compiled, list[Operand]]],
        copy: IslandCopy | None,
    ) -> tuple[Compiled, list[int], list[int]]:
        recorder = current_recorder()
        if not stage.lowered:
            run = _on_host(stage, recorder)
        elif recorder is None:
            run = self._island(stage, compiled, copy)
        else:
            run = recorder.island(stage.steps, lambda: self._island(stage, compiled))
        if engine.on_device and stage.engine is not engine:
            run = _reading_from_device(run)
        return run, [self._slots[o] for o in stage.reads], [self._slots[o] for o in stage.writes]

    def _island(
        self,
        stage: Stage,
        compiled: Callable[..., tuple[Compiled, list[Operand]]],
        copy: IslandCopy | None = None,
    ) -> Compiled:
        run, stage.reads = compiled(stage.steps, stage.reads, stage.writes, stage.engine, copy=copy)
        return run

    def _describe(self, copy: IslandCopy) -> None:
        """Say how the only island is called, if it computes all results."""
        ((_, reads, writes),) = self._stages
        results = [slot for _, slot in self._results]
        if set(results) <= set(writes):
            copy.add_plan(reads, [writes.index(slot) for slot in results if slot is not None])

    def _only_stage(self) -> Compiled | None:
        """The function of a plan of one stage that takes the inputs and computes all results; else None."""
        if len(self._stages) != 1:
            return None
        ((run, reads, writes),) = self._stages
        results = [slot for _, slot in self._results]
        if reads != list(range(len(self.inputs))) or not set(results) <= set(writes):
            return None
        if results == writes:
            return run
        indices = [writes.index(slot) for slot in results if slot is not None]

        def chosen(inputs: Sequence[Any]) -> list[Any]:
            outputs = run(inputs)
            return [outputs[index] for index in indices]

        return chosen

    def _last_uses(self) -> list[list[int]]:
        """The slots that are not read after each stage."""
        kept = {slot for _, slot in self._results if slot is not None}
        last: dict[int, int] = {}
        for at, (_, reads, writes) in enumerate(self._stages):
            last.update(dict.fromkeys((*reads, *writes), at))
        freed: list[list[int]] = [[] for _ in self._stages]
        for slot, at in last.items():
            if slot not in kept:
                freed[at].append(slot)
        return freed


class _Slots(dict[Operand, int]):
    """The slot of each operand; slots of constants are negative."""

    def __init__(self, inputs: Iterable[Operand]) -> None:
        super().__init__()
        self.constants: list[Any] = []
        self.count = 0
        for operand in inputs:
            self[operand]

    def __missing__(self, operand: Operand) -> int:
        if operand.is_constant:
            self.constants.append(operand.value)
            self[operand] = -len(self.constants)
        else:
            self[operand] = self.count
            self.count += 1
        return self[operand]

    def __len__(self) -> int:
        return self.count


def cut_into_stages(program: Program, engine: Engine) -> list[Stage]:
    """Group the steps into stages, in the order in which they run."""
    placed = placed_steps(program.steps, engine)
    groups = _levels(program.steps, placed)
    if small := _faster_on_host(groups, placed, engine):
        placed.update(dict.fromkeys(small))
        groups = _levels(program.steps, placed)
    groups = joined_islands(groups, functools.partial(_read_outside, placed))
    stages = [
        Stage(part, where)
        for _, where, steps in groups
        for part in (_parts(steps, program) if where is not None else [steps])
    ]
    _borders(stages, program)
    return stages


def _parts(steps: Sequence[Step], program: Program) -> list[list[Step]]:
    return cut_island(steps, functools.partial(reads_of, lowered=True), program.results)


def _faster_on_host(groups: Sequence[StepGroup], placed: Placement, engine: Engine) -> list[Step]:
    """The steps that an engine can compute, in islands or parts of them that are too small for it."""
    reads = functools.partial(reads_of, lowered=True)
    on_host = {o for step, where in placed.items() if where is None for o in step.inputs}
    small: list[Step] = []
    for _, where, steps in groups:
        if where is engine:
            small += early_parts(steps, reads, on_host) if _is_worthwhile(steps, on_host) else steps
        elif where is not None and is_cheap(steps) and all(step.run is not None for step in steps):
            small += steps
    return small


def _read_outside(placed: Placement, engine: Engine) -> set[Operand]:
    """What host steps and the islands of other engines read."""
    return {
        operand
        for step, where in placed.items()
        if where is not engine
        for operand in reads_of(step, where is not None)
    }


def _is_worthwhile(steps: Sequence[Step], on_host: Collection[Operand]) -> bool:
    """Whether the engine should compute an island; `on_host`: what host steps read."""
    if any(step.run is None for step in steps):
        return True
    if is_cheap(steps) or (on_host and only_copies(steps)):
        return False
    nodes = [node for step in steps for node in step.lowered or ()]
    return len(nodes) > MIN_ISLAND or any(node.op in _HEAVY for node in nodes)


def _levels(steps: Sequence[Step], placed: Placement) -> list[StepGroup]:
    """Group steps by how many changes between host and engines come before them."""
    level: dict[Step, int] = {}
    producer: dict[Operand, Step] = {}
    effects = EffectOrder()
    for step in steps:
        is_lowered = placed[step] is not None
        before = {producer[o] for o in reads_of(step, is_lowered) if o in producer}
        before.update(effects.before(step))
        level[step] = max((level[b] + (placed[b] is not placed[step]) for b in before), default=0)
        producer.update(dict.fromkeys(values_of(step, is_lowered), step))
    groups: dict[tuple[int, Engine | None], list[Step]] = {}
    for step in steps:
        groups.setdefault((level[step], placed[step]), []).append(step)
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], group[0][1] is not None))
    return [(at, where, group) for (at, where), group in ordered]


def _borders(stages: Sequence[Stage], program: Program) -> None:
    """Fill in what each stage reads from other stages, and what they read from it."""
    wanted = {operand for operand in program.results if not operand.is_constant}
    for stage in reversed(stages):
        inside: dict[Operand, None] = {}
        for step in stage.steps:
            inside.update(dict.fromkeys(values_of(step, stage.lowered)))
        reads = {o: None for step in stage.steps for o in reads_of(step, stage.lowered)}
        computed = _computed_by(stage)
        passed = {o for o in reads if o in inside and o not in computed}
        stage.writes = [o for o in inside if o in wanted and o not in passed and not o.is_constant]
        stage.reads = [o for o in reads if (o not in inside or o in passed) and not o.is_constant]
        wanted.update(stage.reads)


def _computed_by(stage: Stage) -> set[Operand]:
    """The operands that a stage computes, rather than passing on an input."""
    if not stage.lowered:
        return {o for step in stage.steps for o in step.outputs if o not in step.inputs}
    return {o for step in stage.steps for node in step.lowered or () for o in node.outputs}


def _reading_from_device(run: Compiled) -> Compiled:
    """Host steps that may read what an island left on its device: what they read is copied."""
    return lambda arrays: run(all_on_host(arrays))


def _on_host(stage: Stage, recorder: Recorder | None) -> Compiled:
    numbers = _Slots(stage.reads)
    calls = []
    steps = stage.steps if recorder is not None else run_host_passes(stage.steps)
    for step in steps:
        if step.run is None:
            raise RunFailed(f"`{step.name}` ({step.op}) has no host kernel")
        run_step = step.run if recorder is None else recorder.step(step)
        calls.append(
            HostCall(run_step, [numbers[o] for o in step.inputs], [numbers[o] for o in step.outputs])
        )
    ends = [numbers[o] for o in stage.writes]
    # constants come after the slots, in reverse, so that their negative numbers index them
    loop = host_loop(calls, len(stage.reads), len(numbers), numbers.constants[::-1])

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        slots = loop(inputs)
        return [slots[i] for i in ends]

    return run
