"""Compile the steps of an island: their ONNX nodes in the form that the engine takes, as one function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.runtime.engines.engine import Compiled, Engine, IslandHints, check_flag
from tfport.runtime.onnx.graph import reads_of
from tfport.runtime.onnx.island_work import island_work
from tfport.runtime.onnx.least_size import ANY, least_size
from tfport.runtime.onnx.model import OnnxModel, border_type, is_narrow
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.attention_bias import LEAST_POSITIONS, positions_of
from tfport.runtime.passes.islands.cropped_layers import least_sizes
from tfport.runtime.passes.islands.fused_product import is_usual
from tfport.runtime.passes.islands.island_parts import (
    LEAST_PRODUCTS,
    IslandParts,
    Share,
    island_shares,
    parts_with_convolutions,
    parts_with_products,
)
from tfport.runtime.passes.islands.sized_nodes import empty_results, sized_nodes, without_weights
from tfport.runtime.passes.pass_list import ISLAND, IslandUse, NodeForms, PassTarget
from tfport.runtime.program import OnnxNode, Step
from tfport.runtime.stored.stored_island import IslandCopy
from tfport.startup.dataclass import replace

MOST_SIZES = 256
"""Of how many sizes of the inputs an island remembers whether its answers are empty."""


def compiled_island(
    steps: Sequence[Step],
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    engine: Engine,
    *,
    alone: bool,
    release: Callable[[], None] | None = None,
    in_advance: bool = False,
    copy: IslandCopy | None = None,
) -> tuple[Compiled, list[Operand]]:
    """A function from arrays of the inputs to arrays of the outputs, and the inputs that it takes.

    `alone`, `release`, `in_advance` and `copy`: see `IslandHints` and `Plan`. An island with windows that may
    not fit into an image needs more than one session, and one with types that are converted more than the
    engine: no copy is made of them.
    """
    rewritten = _rewritten(steps, outputs, engine)
    nodes, written, flag = rewritten.nodes, rewritten.outputs, rewritten.flag
    reads = _read(nodes, inputs)
    island = island_model(nodes, reads, written, forms=engine.form.nodes)
    graph = island.model.graph
    outside = [info.name for info in graph.input], [info.name for info in graph.output]
    model = island.model.SerializeToString()
    work = island_work(nodes, reads)
    if release is not None:
        release()
    for_batch = None
    if engine.form.separates_attention and (positions := positions_of(nodes)):
        for_batch = functools.partial(_for_batch, steps, reads, outputs, engine, positions)
    in_parts = None
    if engine.form.fuses_in_parts and _may_pay_in_parts(nodes):
        in_parts = functools.partial(_in_parts, steps, reads, outputs, engine)
    flags = len(written) - len(outputs)
    wide = [(i, border_type(o.dtype).numpy) for i, o in enumerate(reads) if is_narrow(o.dtype)]
    narrow = [(i, o.dtype.numpy) for i, o in enumerate(outputs) if is_narrow(o.dtype)]
    shares = functools.partial(_shares, nodes, reads, written) if engine.form.divides else None
    hints = IslandHints(least_size(nodes), alone, work, flags, for_batch, in_parts, in_advance, shares)
    if copy is not None and hints.least_size == ANY and not wide and not narrow:
        hints = replace(hints, save_as=copy.model)
        copy.add_island(*outside, hints)
    run = engine.compile(model, island.weights, *outside, hints)
    if flag is not None:
        run = _checking_flag(run)
    elif not wide and not narrow and not engine.on_device:
        run = _without_empty_answers(run, nodes, reads, written)
    return (_converted(run, wide, narrow) if wide or narrow else run), reads


def _shares(
    nodes: Sequence[OnnxNode],
    reads: Sequence[Operand],
    written: Sequence[Operand],
    may_run_elsewhere: Callable[[OnnxNode], bool],
    forms: NodeForms,
    sizes: Sequence[Sequence[int]],
) -> list[Share]:
    """The shares of an island for inputs of certain sizes."""
    sized = sized_nodes(nodes, written, dict(zip(reads, sizes, strict=True)))
    return island_shares(sized, written, may_run_elsewhere, forms)


def _read(nodes: Sequence[OnnxNode], inputs: Sequence[Operand]) -> list[Operand]:
    used = {operand for node in nodes for operand in reads_of(node)}
    return [o for o in inputs if o in used]


def _rewritten(
    steps: Sequence[Step], outputs: Sequence[Operand], engine: Engine, use: IslandUse | None = None
) -> IslandGraph:
    """The ONNX nodes of an island in the form that the engine takes."""
    target = PassTarget(engine.form, use, lambda node: engine.has_kernel(node), engine.form.nodes)
    graph = IslandGraph((n for step in steps for n in step.lowered or ()), outputs, target, steps=steps)
    graph.run(ISLAND)
    return graph


def _for_batch(
    steps: Sequence[Step],
    reads: Sequence[Operand],
    outputs: Sequence[Operand],
    engine: Engine,
    positions: int,
    batch: int,
) -> OnnxModel | None:
    """The model for a number of sequences of so many positions; None if the usual one is as fast."""
    if batch * positions < LEAST_POSITIONS:
        return None
    graph = _rewritten(steps, outputs, engine, IslandUse.MANY_POSITIONS)
    return island_model(graph.nodes, reads, graph.outputs, forms=NodeForms.PLAIN)


def _may_pay_in_parts(nodes: Sequence[OnnxNode]) -> bool:
    return any(node.op == "Conv" for node in nodes) or sum(map(is_usual, nodes)) >= LEAST_PRODUCTS


def _in_parts(
    steps: Sequence[Step], reads: Sequence[Operand], outputs: Sequence[Operand], engine: Engine
) -> IslandParts | None:
    """The island with operations of other libraries apart, if that pays.

    These pass bfloat16 to each other, which an island does not take or return.
    """
    if any(is_narrow(o.dtype) for o in (*reads, *outputs)):
        return None
    for use, cut in (
        (IslandUse.CONVOLUTIONS_APART, parts_with_convolutions),
        (IslandUse.PRODUCTS_APART, parts_with_products),
    ):
        graph = _rewritten(steps, outputs, engine, use)
        island = cut(graph.nodes, reads, graph.outputs)
        if island.pays:
            return island
    return None


def _without_empty_answers(
    run: Compiled, nodes: Sequence[OnnxNode], reads: Sequence[Operand], outputs: Sequence[Operand]
) -> Compiled:
    """A run that computes nothing for inputs of which crops leave nothing, if all answers are empty then."""
    least = {base: size for base, size in least_sizes(nodes).items() if base[0] in reads}
    shaped = without_weights(nodes) if least else None
    if shaped is None:
        return run
    axes = [(reads.index(operand), axis, size) for (operand, axis), size in least.items()]
    known: dict[tuple[tuple[int, ...], ...], list[Any] | None] = {}

    def run_unless_empty(arrays: Sequence[Any]) -> Sequence[Any]:
        if not any(arrays[i].shape[axis] < size for i, axis, size in axes):
            return run(arrays)
        sizes = tuple(array.shape for array in arrays)
        if sizes not in known:
            if len(known) >= MOST_SIZES:
                known.clear()
            known[sizes] = empty_results(shaped, outputs, dict(zip(reads, sizes, strict=True)))
        empty = known[sizes]
        return run(arrays) if empty is None else [array.copy() for array in empty]

    return run_unless_empty


def _checking_flag(run: Compiled) -> Compiled:
    """A run whose last output is a flag: if it is raised, the host computes the answer, or says why not."""

    def checked(arrays: Sequence[Any]) -> Sequence[Any]:
        *outputs, flag = run(arrays)
        check_flag(flag)
        return outputs

    return checked


def _converted(run: Compiled, before: list[tuple[int, Any]], after: list[tuple[int, Any]]) -> Compiled:
    def converted(arrays: Sequence[Any]) -> Sequence[Any]:
        inputs = list(arrays)
        for i, dtype in before:
            inputs[i] = np.asarray(inputs[i]).astype(dtype)
        outputs = list(run(inputs))
        for i, dtype in after:
            outputs[i] = np.asarray(outputs[i]).astype(dtype)
        return outputs

    return converted
