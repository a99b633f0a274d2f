"""Replace LSTM cells that a model repeats for each step of time by one LSTM node.

`tf.nn.static_rnn` and Keras with `unroll=True` write a cell with the same weights for each step. A chain is
a sequence of cells of which each reads both states of the one before. One cell of it is recognized
(`rnn_cells`), and all others must be the same steps with the same constants (`same_cells`). What a cell
reads must not follow from the outputs of the chain, and nothing else may read its inner states but the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.engines.engine import Engine
from tfport.runtime.failures import naming_node
from tfport.runtime.layers import rnn_cells as cells
from tfport.runtime.layers.affine import ADDS, AffineReader
from tfport.runtime.layers.rnn_cells import RnnCell
from tfport.runtime.layers.rnn_node import layer_step
from tfport.runtime.layers.same_cells import CellInputs, CellOutputs, inputs_of, same_inputs
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode, Program, Step, needed
from tfport.startup.dataclass import dataclass

LEAST = 4
"""So many cells are worth a node."""


def with_unrolled_layers(program: Program, engine: Engine) -> Program:
    """The same program with one step for the cells of each chain."""
    if sum(step.op == "Tanh" for step in program.steps) < 2 * LEAST or any(s.effect for s in program.steps):
        return program
    for chain in _chains(program.steps):
        changed = _with_layer(program, engine, chain)
        program = program if changed is None else changed
    return program


def _chains(steps: Sequence[Step]) -> list[list[CellOutputs]]:
    """The outputs of cells that follow each other, by their cell states."""
    producers = {output: step for step in steps for output in step.outputs}
    every = {cell.c: cell for step in steps if (cell := _outputs(step, producers)) is not None}
    after: dict[Operand, list[Operand]] = {}
    for c in every:
        for before in _kept_states(producers[c], producers):
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


def _outputs(step: Step, producers: Mapping[Operand, Step]) -> CellOutputs | None:
    """The states of the cell whose output a product may be: `gate * tanh(c)`, with c a sum of products."""
    for shown in step.inputs if step.op == "Mul" else ():
        tanh = producers.get(shown)
        c = tanh.inputs[0] if tanh is not None and tanh.op == "Tanh" else None
        if c is not None and list(_kept_states(producers.get(c), producers)):
            return CellOutputs(step.outputs[0], c)
    return None


def _kept_states(total: Step | None, producers: Mapping[Operand, Step]) -> Iterator[Operand]:
    """What may be the cell state before, in `gate * state + gate * tanh(…)`."""
    if total is None or total.op not in ADDS or len(total.inputs) != 2:
        return
    products = [producers.get(operand) for operand in total.inputs]
    if all(product is not None and product.op == "Mul" for product in products):
        for product in products:
            assert product is not None
            yield from product.inputs


@dataclass(frozen=True)
class _Layer:
    """The cells of a chain as a layer."""

    cell: RnnCell
    inputs: list[CellInputs]
    outputs: Sequence[CellOutputs]


def _with_layer(program: Program, engine: Engine, chain: Sequence[CellOutputs]) -> Program | None:
    layer = _layer(program, chain)
    if layer is None:
        return None
    name = chain[0].h.name
    rows = _packed(program, name, [inputs.x for inputs in layer.inputs])
    first = layer.inputs[0]
    whole = layer_step(engine, name, layer.cell, [first.h, first.c], rows.outputs[0], None)
    if whole.lowered is None:
        return None
    every, _, last_c = whole.outputs
    made = [rows, whole, *(_row(name, every, i, cell.h) for i, cell in enumerate(layer.outputs))]
    made.append(_same(name, last_c, layer.outputs[-1].c))
    replaced = {operand for cell in layer.outputs for operand in (cell.h, cell.c)}
    kept = [step for step in program.steps if replaced.isdisjoint(step.outputs)]
    steps = needed(_in_order([*kept, *made]), program.results)
    return Program(program.args, steps, program.results)


def _layer(program: Program, chain: Sequence[CellOutputs]) -> _Layer | None:
    """The layer that a chain is; its first cell may be another one."""
    reader = AffineReader(program.steps, ())
    pattern = inputs_of(reader.producer, chain[1], chain[0])
    if pattern is None:
        return None
    reader.sources = {pattern.x, pattern.h}
    cell = cells.lstm(reader, pattern.h, pattern.c, chain[1].h, chain[1].c)
    if cell is None:
        return None
    inputs = [same_inputs(reader.producer, pattern, chain[1], other) for other in chain]
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
    producers = {output: step for step in program.steps for output in step.outputs}
    read = [producers.get(item) for item in items]
    places = [step.attrs.get(_ROW) if step is not None else None for step in read]
    sources = {step.inputs[0] for step in read if step is not None}
    if len(sources) == 1 and places == list(range(len(items))):
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
    producers = {output: step for step in steps for output in step.outputs}
    ordered: dict[Step, None] = {}
    for last in steps:
        pending = [last]
        while pending:
            step = pending[-1]
            before = [producers[o] for o in step.inputs if o in producers and producers[o] not in ordered]
            if step in ordered or not before:
                ordered[pending.pop()] = None
            else:
                pending += before
    return list(ordered)
