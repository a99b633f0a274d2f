"""A program cut into islands for the engine and host steps between them, ready to run.

Islands are as large as they can be: a step waits for nothing but what it reads (and for
earlier effects, if it has one), so all that the engine can do at once is one island.
An island that is too small to be worth the crossing is computed on the host instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.engines.engine import Compiled, Engine
from tfport.runtime.layers.find_lookups import with_embedding_lookups
from tfport.runtime.onnx.fuse_convolutions import fuse_convolutions
from tfport.runtime.onnx.layout import with_fewer_transposes
from tfport.runtime.onnx.model import border_type, is_narrow, onnx_model
from tfport.runtime.onnx.patterns.simplify import simplified
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode, Program, Step

WORTHWHILE = 3
"""Nodes of ONNX below which an island of cheap nodes is left to the host."""
_HEAVY = frozenset(
    ("Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN", "Loop", "Einsum", "Resize", "MaxPool",
     "AveragePool", "Softmax")
)  # fmt: skip


@dataclass(eq=False)
class Stage:
    """Some steps that run together: one island, or host steps one after the other."""

    steps: list[Step]
    lowered: bool
    reads: list[Operand] = field(default_factory=list)
    writes: list[Operand] = field(default_factory=list)


class Plan:
    """What runs a program: arrays for its arguments and captures in, arrays of its results out.

    The program itself is not kept: its constants may be large, and the engine has its own.
    """

    def __init__(self, program: Program, engine: Engine) -> None:
        self.inputs = [*program.args, *program.captures()]
        program = with_embedding_lookups(program)
        self.ops = [step.op for step in program.steps]
        """What it runs, for who wants to know."""
        self._places = _Places(self.inputs)
        self._work = [self._compiled(stage, engine) for stage in stages(program)]
        self._answer = [
            (r.value, None) if r.is_constant else (None, self._places[r]) for r in program.results
        ]
        self._free = self._last_uses()

    def run(self, given: Sequence[Any]) -> list[Any]:
        slots: list[Any] = [None] * len(self._places)
        slots[: len(given)] = given
        for (run, reads, writes), free in zip(self._work, self._free, strict=True):
            answers = run([slots[i] if i >= 0 else self._places.constants[~i] for i in reads])
            for place, answer in zip(writes, answers, strict=True):
                slots[place] = answer
            for place in free:
                slots[place] = None
        return [slots[place] if place is not None else value for value, place in self._answer]

    def _compiled(self, stage: Stage, engine: Engine) -> tuple[Compiled, list[int], list[int]]:
        run = _island(stage, engine) if stage.lowered else _on_host(stage)
        return run, [self._places[o] for o in stage.reads], [self._places[o] for o in stage.writes]

    def _last_uses(self) -> list[list[int]]:
        """The places that nobody reads any more after each stage."""
        kept = {place for _, place in self._answer if place is not None}
        last: dict[int, int] = {}
        for at, (_, reads, writes) in enumerate(self._work):
            last.update(dict.fromkeys((*reads, *writes), at))
        freed: list[list[int]] = [[] for _ in self._work]
        for place, at in last.items():
            if place >= 0 and place not in kept:
                freed[at].append(place)
        return freed


class _Places(dict[Operand, int]):
    """A slot for each operand; constants have negative numbers of their own."""

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


def stages(program: Program) -> list[Stage]:
    """The steps in groups that run together, in order."""
    lowered = {step: step.lowered is not None for step in program.steps}
    groups = _levels(program.steps, lowered)
    small = [steps for _, is_lowered, steps in groups if is_lowered and not _worthwhile(steps)]
    if small:
        lowered.update((step, False) for steps in small for step in steps)
        groups = _levels(program.steps, lowered)
    made = [Stage(steps, is_lowered) for _, is_lowered, steps in groups]
    _borders(made, program)
    return made


def _worthwhile(steps: Sequence[Step]) -> bool:
    if any(step.run is None for step in steps):
        return True
    nodes = [node for step in steps for node in step.lowered or ()]
    return len(nodes) > WORTHWHILE or any(node.op in _HEAVY for node in nodes)


def _levels(steps: Sequence[Step], lowered: dict[Step, bool]) -> list[tuple[int, bool, list[Step]]]:
    """Steps by how often the border to the engine is crossed before they can run."""
    level: dict[Step, int] = {}
    maker: dict[Operand, Step] = {}
    last_effect: Step | None = None
    for step in steps:
        before = {maker[o] for o in reads_of(step, lowered[step]) if o in maker}
        if _is_ordered(step) and last_effect is not None:
            before.add(last_effect)
        level[step] = max((level[b] + (lowered[b] != lowered[step]) for b in before), default=0)
        maker.update(dict.fromkeys(step.outputs, step))
        if lowered[step]:
            maker.update((o, step) for node in step.lowered or () for o in node.outputs)
        if _is_ordered(step):
            last_effect = step
    groups: dict[tuple[int, bool], list[Step]] = {}
    for step in steps:
        groups.setdefault((level[step], lowered[step]), []).append(step)
    return [(at, is_lowered, group) for (at, is_lowered), group in sorted(groups.items(), key=lambda g: g[0])]


def _is_ordered(step: Step) -> bool:
    return step.effect or any(o.dtype.name == "resource" or o.dtype.is_ref for o in step.inputs)


def reads_of(step: Step, lowered: bool) -> list[Operand]:
    """What a step reads when it runs in an island, or on the host."""
    if not lowered:
        return list(step.inputs)
    found: dict[Operand, None] = {}
    inside: set[Operand] = set()
    for node in step.lowered or ():
        for operand in (*node.inputs, *(o for program in node.programs for o in program.captures())):
            if operand is not None and operand not in inside:
                found[operand] = None
        inside.update(node.outputs)
    found.update((o, None) for o in step.outputs if o not in inside and not o.is_constant)
    return list(found)


def _borders(made: Sequence[Stage], program: Program) -> None:
    """What each stage takes from others, and what others take from it."""
    wanted = {operand for operand in program.results if not operand.is_constant}
    for stage in reversed(made):
        inside: dict[Operand, None] = {}
        for step in stage.steps:
            inside.update(dict.fromkeys(step.outputs))
            if stage.lowered:
                inside.update((o, None) for node in step.lowered or () for o in node.outputs)
        reads = {o: None for step in stage.steps for o in reads_of(step, stage.lowered)}
        passed = {o for o in reads if o in inside and not _made_by(o, stage)}
        stage.writes = [o for o in inside if o in wanted and o not in passed and not o.is_constant]
        stage.reads = [o for o in reads if o not in inside or o in passed]
        if stage.lowered:
            stage.reads = [o for o in stage.reads if not o.is_constant]
        wanted.update(o for o in stage.reads if not o.is_constant)


def _made_by(operand: Operand, stage: Stage) -> bool:
    """Whether a stage makes an operand, rather than handing on what it was given."""
    if not stage.lowered:
        return any(operand in step.outputs and operand not in step.inputs for step in stage.steps)
    return any(operand in node.outputs for step in stage.steps for node in step.lowered or ())


def _island(stage: Stage, engine: Engine) -> Compiled:
    nodes = island_nodes([node for step in stage.steps for node in step.lowered or ()], stage.writes)
    used = {o for node in nodes for o in (*node.inputs, *(c for p in node.programs for c in p.captures()))}
    stage.reads = [o for o in stage.reads if o in used]
    island = onnx_model(nodes, stage.reads, stage.writes)
    graph = island.model.graph
    outside = [info.name for info in graph.input], [info.name for info in graph.output]
    open_windows = any(node.op == "Conv" and _is_open(node.outputs[0]) for node in nodes)
    model = island.model.SerializeToString()
    run = engine.compile(model, island.weights, *outside, open_windows=open_windows)
    wide = [(i, border_type(o.dtype).numpy) for i, o in enumerate(stage.reads) if is_narrow(o.dtype)]
    narrow = [(i, o.dtype.numpy) for i, o in enumerate(stage.writes) if is_narrow(o.dtype)]
    return _converted(run, wide, narrow) if wide or narrow else run


def _is_open(image: Operand) -> bool:
    """Whether not all sizes behind the batch and the channels are known."""
    return image.shape is None or None in image.shape[2:]


def _converted(run: Compiled, before: list[tuple[int, Any]], after: list[tuple[int, Any]]) -> Compiled:
    def converted(arrays: Sequence[Any]) -> Sequence[Any]:
        given = list(arrays)
        for i, kind in before:
            given[i] = np.asarray(given[i]).astype(kind)
        answers = list(run(given))
        for i, kind in after:
            answers[i] = answers[i].astype(kind)
        return answers

    return converted


def island_nodes(nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> list[OnnxNode]:
    """The nodes of an island as the engine gets them: those that its outputs need, made better."""
    better = fuse_convolutions(with_fewer_transposes(_live(simplified(nodes), outputs), outputs), outputs)
    return _live(better, outputs)


def _live(nodes: Sequence[OnnxNode], wanted: Iterable[Operand]) -> list[OnnxNode]:
    """The nodes that something wanted needs."""
    needed = set(wanted)
    kept = []
    for node in reversed(nodes):
        if any(output in needed for output in node.outputs):
            kept.append(node)
            needed.update(o for o in node.inputs if o is not None)
            needed.update(o for program in node.programs for o in program.captures())
    return kept[::-1]


def _on_host(stage: Stage) -> Compiled:
    places = _Places(stage.reads)
    work = []
    for step in stage.steps:
        if step.run is None:
            raise RunFailed(f"`{step.name}` ({step.op}) cannot run on the host")
        work.append((step.run, [places[o] for o in step.inputs], [places[o] for o in step.outputs]))
    starts = [places[o] for o in stage.reads]
    ends = [places[o] for o in stage.writes]
    # behind the slots, the last first: so a negative number counts from the end, as in `_Places`
    blank, constants = [None] * len(places), places.constants[::-1]

    def run(given: Sequence[Any]) -> Sequence[Any]:
        slots = [*blank, *constants]
        for place, value in zip(starts, given, strict=True):
            if place >= 0:
                slots[place] = value
        with np.errstate(all="ignore"):
            for step, reads, writes in work:
                answers = step([slots[i] for i in reads])
                for place, answer in zip(writes, answers, strict=True):
                    if place >= 0:
                        slots[place] = answer
        return [slots[i] for i in ends]

    return run
