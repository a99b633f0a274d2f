"""Replace LSTM cells that a model repeats for each step of time by one LSTM node.

`tf.nn.static_rnn` and Keras with `unroll=True` write a cell with the same weights for each step. A chain is
a sequence of cells of which each reads both states of the one before. One cell of it is recognized
(`rnn_cells`), and all others must be the same steps with the same constants. What a cell
reads must not follow from the outputs of the chain, and nothing else may read its inner states but the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.engines.engine import Engine
from tfport.runtime.failures import naming_node
from tfport.runtime.operand import Operand
from tfport.runtime.passes.pass_list import program_pass
from tfport.runtime.passes.programs import rnn_cells as cells
from tfport.runtime.passes.programs.affine import ADDS, AffineReader
from tfport.runtime.passes.programs.rnn_cells import RnnCell
from tfport.runtime.passes.programs.rnn_node import layer_step
from tfport.runtime.program import OnnxNode, Program, Step, needed
from tfport.startup.dataclass import dataclass

LEAST = 4
"""So many cells are worth a node."""
MATRIX_RANK = 2


@dataclass(frozen=True)
class CellOutputs:
    """The states after a cell."""

    h: Operand
    c: Operand


@dataclass(frozen=True)
class CellInputs:
    """What a cell reads, and the steps that it consists of."""

    x: Operand
    h: Operand
    c: Operand
    steps: frozenset[Step] = frozenset()


@program_pass
def unrolled_lstm(program: Program, engine: Engine) -> None:
    """LSTM cells that a model repeats for each step of time are one LSTM node."""
    if sum(step.op == "Tanh" for step in program.steps) < 2 * LEAST or any(s.effect for s in program.steps):
        return
    for chain in _chains(program):
        _make_layer(program, engine, chain)


def _chains(program: Program) -> list[list[CellOutputs]]:
    """The outputs of cells that follow each other, by their cell states."""
    every = {cell.c: cell for step in program.steps if (cell := _outputs(step, program)) is not None}
    after: dict[Operand, list[Operand]] = {}
    for c in every:
        for before in _kept_states(program.producer(c), program):
            if before in every:
                after.setdefault(before, []).append(c)
    followers = {c for others in after.values() for c in others}
    chains = []
    for first in every:
        chain, c = [every[first]], first
        while len(after.get(c, ())) == 1:
            c = after[c][0]
            chain.append(every[c])
        if first not in followers and len(chain) >= LEAST:
            chains.append(chain)
    return chains


def _outputs(step: Step, program: Program) -> CellOutputs | None:
    """The states of the cell whose output a product may be: `gate * tanh(c)`, with c a sum of products."""
    for shown in step.inputs if step.op == "Mul" else ():
        tanh = program.producer(shown, "Tanh")
        c = tanh.inputs[0] if tanh is not None else None
        if c is not None and list(_kept_states(program.producer(c), program)):
            return CellOutputs(step.outputs[0], c)
    return None


def _kept_states(total: Step | None, program: Program) -> Iterator[Operand]:
    """What may be the cell state before, in `gate * state + gate * tanh(…)`."""
    if total is None or total.op not in ADDS or len(total.inputs) != 2:
        return
    products = [step for operand in total.inputs if (step := program.producer(operand, "Mul")) is not None]
    if len(products) == len(total.inputs):
        for product in products:
            yield from product.inputs


@dataclass(frozen=True)
class _Layer:
    """The cells of a chain as a layer."""

    cell: RnnCell
    inputs: list[CellInputs]
    outputs: Sequence[CellOutputs]


def _make_layer(program: Program, engine: Engine, chain: Sequence[CellOutputs]) -> None:
    """Put one step in the place of the cells of a chain, if they are a layer."""
    layer = _layer(program, chain)
    if layer is None:
        return
    name = chain[0].h.name
    rows = _packed(program, name, [inputs.x for inputs in layer.inputs])
    first = layer.inputs[0]
    whole = layer_step(engine, name, layer.cell, [first.h, first.c], rows.outputs[0], None)
    if whole.lowered is None:
        return
    every, _, last_c = whole.outputs
    added = [rows, whole, *(_row(name, every, i, cell.h) for i, cell in enumerate(layer.outputs))]
    added.append(_same(name, last_c, layer.outputs[-1].c))
    replaced = {operand for cell in layer.outputs for operand in (cell.h, cell.c)}
    kept = [step for step in program.steps if replaced.isdisjoint(step.outputs)]
    program.steps = needed(_in_order([*kept, *added]), program.results)


def _layer(program: Program, chain: Sequence[CellOutputs]) -> _Layer | None:
    """The layer that a chain is; its first cell may be another one."""
    reader = AffineReader(program, ())
    pattern = _inputs_of(program, chain[1], chain[0])
    if pattern is None:
        return None
    reader.sources = {pattern.x, pattern.h}
    cell = cells.lstm(reader, pattern.h, pattern.c, chain[1].h, chain[1].c)
    if cell is None:
        return None
    inputs = [_same_inputs(program, pattern, chain[1], other) for other in chain]
    if inputs[0] is None:
        inputs, chain = inputs[1:], chain[1:]
    complete = [each for each in inputs if each is not None]
    states = [(each.h, each.c) for each in complete[1:]]
    if len(complete) < len(inputs) or states != [(cell.h, cell.c) for cell in chain[:-1]]:
        return None
    layer = _Layer(cell, complete, chain)
    return layer if _is_separate(program, layer) else None


def _is_separate(program: Program, layer: _Layer) -> bool:
    """Whether the inputs of all cells can be computed before the first, and inner states are not read."""
    shapes = {each.x.shape and each.x.shape[-1] for each in layer.inputs}
    if None in shapes or len(shapes) != 1 or any(each.x.dtype != FLOAT32 for each in layer.inputs):
        return False
    inner = {cell.c for cell in layer.outputs[:-1]}
    steps_of_cells = {step for each in layer.inputs for step in each.steps}
    if not inner.isdisjoint(program.results):
        return False
    follows = {operand for cell in layer.outputs for operand in (cell.h, cell.c)}
    for step in program.steps:
        if not inner.isdisjoint(step.inputs) and step not in steps_of_cells:
            return False
        if not follows.isdisjoint(step.inputs):
            follows.update(step.outputs)
    return all(each.x not in follows for each in layer.inputs)


def _packed(program: Program, name: str, items: list[Operand]) -> Step:
    """The inputs of all steps of time as one tensor; it is there if they are the rows of a layer."""
    shape = items[0].shape
    assert shape is not None
    rows = Operand(FLOAT32, (len(items), *shape), name=name)
    read = [program.producer(item) for item in items]
    numbers = [step.attrs.get(_ROW) if step is not None else None for step in read]
    sources = {step.inputs[0] for step in read if step is not None}
    if len(sources) == 1 and numbers == list(range(len(items))):
        (source,) = sources
        if source.shape is not None and source.shape[0] == len(items):
            return _same(name, source, rows)
    axis = Operand(INT64, value=np.zeros(1, np.int64), name=name)
    wide = [Operand(FLOAT32, (1, *shape), name=name) for _ in items]
    nodes = [OnnxNode("Unsqueeze", (x, axis), (w,), {}) for x, w in zip(items, wide, strict=True)]
    nodes.append(OnnxNode("Concat", tuple(wide), (rows,), {"axis": 0}))
    run = naming_node(lambda arrays: [np.stack(arrays)], name, "Pack")
    return Step(name, "Pack", tuple(items), (rows,), nodes, run)


_ROW = "row"
"""The attribute of a step that reads a row of a layer: its number."""


def _row(name: str, rows: Operand, number: int, out: Operand) -> Step:
    index = Operand(INT64, value=np.array(number, np.int64), name=name)
    node = OnnxNode("Gather", (rows, index), (out,), {"axis": 0})
    return Step(
        name, "Gather", (rows,), (out,), [node], lambda arrays: [arrays[0][number]], attrs={_ROW: number}
    )


def _same(name: str, source: Operand, out: Operand) -> Step:
    node = OnnxNode("Identity", (source,), (out,), {})
    return Step(name, "Identity", (source,), (out,), [node], lambda arrays: [arrays[0]])


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """The steps, each after those whose outputs it reads."""
    producer = Program([], list(steps)).producer
    ordered: dict[Step, None] = {}
    for last in steps:
        pending = [last]
        while pending:
            step = pending[-1]
            before = [b for o in step.inputs if (b := producer(o)) is not None and b not in ordered]
            if step in ordered or not before:
                ordered[pending.pop()] = None
            else:
                pending += before
    return list(ordered)


def _inputs_of(program: Program, cell: CellOutputs, before: CellOutputs) -> CellInputs | None:
    """The inputs of a cell that follows another."""
    sources: set[Operand] = set()
    pending, seen = [cell.h], {before.c}
    while pending:
        operand = pending.pop()
        if operand in seen or operand.array is not None:
            continue
        seen.add(operand)
        step = program.producer(operand)
        if step is None:
            return None
        if step.op == "MatMul":
            sources.update(_factors(program, step))
        elif step.op in _INSIDE:
            pending += step.inputs
        else:
            return None
    inputs = sources - {before.h}
    if before.h not in sources or len(inputs) != 1:
        return None
    (x,) = inputs
    return CellInputs(x, before.h, before.c) if x.rank == MATRIX_RANK else None


_INSIDE = frozenset((*ADDS, "Mul", "Sub", "Sigmoid", "Split", "SplitV", "Tanh"))
"""The ops between the products of matrices and the output of a cell."""


def _factors(program: Program, product: Step) -> list[Operand]:
    left = product.inputs[0]
    joined = program.producer(left, "ConcatV2")
    return list(joined.inputs[:-1]) if joined is not None else [left]


def _same_inputs(
    program: Program, pattern: CellInputs, model: CellOutputs, cell: CellOutputs
) -> CellInputs | None:
    """The inputs of a cell whose steps are those of the cell `model`, which has the inputs `pattern`."""
    bound: dict[Operand, Operand] = {}
    steps: set[Step] = set()
    pending = [(model.h, cell.h), (model.c, cell.c)]
    leaves = (pattern.x, pattern.h, pattern.c)
    while pending:
        known, other = pending.pop()
        if known in bound:
            if bound[known] is not other:
                return None
            continue
        bound[known] = other
        if known in leaves or _same_constant(known, other):
            continue
        step, like = program.producer(known), program.producer(other)
        if step is None or like is None or not _alike(step, like):
            return None
        if step.outputs.index(known) != like.outputs.index(other):
            return None
        steps.add(like)
        pending += zip(step.inputs, like.inputs, strict=True)
    x, h, c = (bound.get(leaf) for leaf in leaves)
    fits = x is not None and h is not None and c is not None
    return CellInputs(x, h, c, frozenset(steps)) if fits else None  # type: ignore[arg-type]


def _alike(step: Step, like: Step) -> bool:
    """Whether two steps compute the same from their inputs."""
    if step.op != like.op or len(step.inputs) != len(like.inputs) or len(step.outputs) != len(like.outputs):
        return False
    names = {name for name in (*step.attrs, *like.attrs) if not name.startswith("_")}
    return all(step.attrs.get(name) == like.attrs.get(name) for name in names)


def _same_constant(known: Operand, other: Operand) -> bool:
    if known.array is None or other.array is None:
        return False
    return known.array is other.array or np.array_equal(known.array, other.array)
