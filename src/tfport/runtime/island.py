"""Compile the steps of an island: their ONNX nodes in the form that the engine takes, as one function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.dataclass import replace
from tfport.graph.dtypes import DType
from tfport.runtime.engines.engine import Compiled, Engine, IslandHints
from tfport.runtime.engines.flag import check_flag
from tfport.runtime.onnx.accurate import accurate
from tfport.runtime.onnx.attention import with_fused_attention
from tfport.runtime.onnx.finite_inputs import with_finite_flag
from tfport.runtime.onnx.fused_convolution import is_usual_convolution
from tfport.runtime.onnx.fused_product import is_usual, with_offsets_added
from tfport.runtime.onnx.half_steps import half_steps_in_float32
from tfport.runtime.onnx.island_parts import (
    LEAST_PRODUCTS,
    IslandParts,
    parts_with_convolutions,
    parts_with_products,
)
from tfport.runtime.onnx.island_passes import island_nodes
from tfport.runtime.onnx.island_shares import Share, island_shares
from tfport.runtime.onnx.island_work import island_work
from tfport.runtime.onnx.least_size import ANY, least_size
from tfport.runtime.onnx.model import NodeForms, OnnxModel, border_type, is_narrow, onnx_model
from tfport.runtime.onnx.moved_offsets import LEAST_POSITIONS, positions_of, with_moved_offsets
from tfport.runtime.onnx.packed_attention import with_packed_attention
from tfport.runtime.onnx.reduced_precision import in_reduced_precision
from tfport.runtime.onnx.safe_indices import with_safe_indices
from tfport.runtime.onnx.separate_sums import with_separate_sums
from tfport.runtime.onnx.sizes.sized_nodes import sized_nodes
from tfport.runtime.operand import Operand
from tfport.runtime.passes.pass_list import IslandUse
from tfport.runtime.program import OnnxNode, Step
from tfport.runtime.stored.island_copy import IslandCopy


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
    nodes, flag = _nodes(steps, outputs, engine)
    written = [*outputs, flag] if flag is not None else outputs
    reads = _read(nodes, inputs)
    island = onnx_model(nodes, reads, written, forms=engine.form.nodes)
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
    used = {o for node in nodes for o in (*node.inputs, *(c for p in node.programs for c in p.captures()))}
    return [o for o in inputs if o in used]


def _nodes(
    steps: Sequence[Step], outputs: Sequence[Operand], engine: Engine, use: IslandUse | None = None
) -> tuple[list[OnnxNode], Operand | None]:
    """The ONNX nodes of an island in the form that the engine takes, and a flag for inputs that its kernels
    do not handle: not 0 for indices out of range, or, on a CPU, for what is not finite in a recurrent layer.
    """
    if engine.form.for_cpu:
        return with_finite_flag(island_nodes(half_steps_in_float32(steps, outputs), outputs))
    safe, flag = with_safe_indices([node for step in steps for node in step.lowered or ()])
    written = [*outputs, flag] if flag is not None else outputs
    nodes = island_nodes(safe, written)
    nodes = with_separate_sums(
        nodes, half=engine.form.half is not None and use is not IslandUse.CONVOLUTIONS_APART
    )
    if engine.form.fuses_attention:
        nodes = with_fused_attention(nodes, written, engine.has_kernel)
    if use is IslandUse.MANY_POSITIONS:
        nodes = with_moved_offsets(nodes, written)
    elif use is IslandUse.PRODUCTS_APART:
        nodes = with_offsets_added(nodes)
    elif engine.form.packs_attention:
        nodes = with_packed_attention(nodes, written)
    if engine.form.half is None:
        nodes = list(accurate(nodes, written, gates_stay=True))
    else:
        is_apart = is_usual_convolution if use is IslandUse.CONVOLUTIONS_APART else lambda node: False
        half = DType.parse(engine.form.half)
        nodes = in_reduced_precision(nodes, written, half, engine.has_kernel, is_apart)
    return nodes, flag


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
    nodes, flag = _nodes(steps, outputs, engine, IslandUse.MANY_POSITIONS)
    written = [*outputs, flag] if flag is not None else outputs
    return onnx_model(nodes, reads, written, forms=NodeForms.PLAIN)


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
        nodes, flag = _nodes(steps, outputs, engine, use)
        island = cut(nodes, reads, [*outputs, flag] if flag is not None else outputs)
        if island.pays:
            return island
    return None


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
        for i, kind in before:
            inputs[i] = np.asarray(inputs[i]).astype(kind)
        outputs = list(run(inputs))
        for i, kind in after:
            outputs[i] = np.asarray(outputs[i]).astype(kind)
        return outputs

    return converted
