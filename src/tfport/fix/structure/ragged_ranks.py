"""Ragged variants with one more axis, for releases that do not pack tensors of ragged rank 0.

A row of a ragged tensor has ragged rank 0 if it is a plain tensor. TensorFlow before 2.1 neither
packs it into a variant nor unpacks it, as `map_fn` does. So every variant gets an outer axis of
size 1: a tensor of ragged rank 0 becomes a ragged tensor with one row. The axis is removed again
where a variant is unpacked.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.replace import put_in_place
from tfport.fix.nodes.row_splits import count_of
from tfport.fix.nodes.shapes import cast
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.ragged_variants import PACK, UNPACK, attr_or_default
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value

Changed = list[tuple[str, str]]
GRADIENT = "RaggedTensorToVariantGradient"


def add_ragged_axis(nodes: Sequence[Node], facts: Facts, checker: NodeChecker) -> Changed:
    """Give every ragged variant an outer axis, or refuse before anything changes."""
    for node in nodes:
        if node.op == GRADIENT:
            raise StructureRefusal(f"`{node.name}` ({GRADIENT}) reads a ragged variant")
        if node.op == PACK and node.attrs.get("batched_input") and not node.attrs.get("RAGGED_RANK"):
            raise StructureRefusal(f"`{node.name}` packs each row of a tensor that is not ragged")
        if node.op == UNPACK:
            _has_few_axes(node, facts)
    packed = [node for node in nodes if node.op in (PACK, UNPACK)]
    changed = [(node.name, node.op) for node in packed]
    for node in packed:
        op = NodeBuilder(node, facts, checker)
        values = _packed(op, node) if node.op == PACK else _unpacked(op, node)
        put_in_place(node, list(values), op.made, facts, named=True)
    return changed


def _has_few_axes(unpack: Node, facts: Facts) -> None:
    """Refuse a tensor of variants with several axes: the new axis would not be the second."""
    inner, outer = _ranks(unpack)
    axes = outer - max(inner, 0)  # at most
    if axes > 1 and (known := facts.rank(unpack.inputs[0])) not in (0, 1):
        raise StructureRefusal(f"`{unpack.name}` reads ragged variants with {known or 'unknown'} axes")


def _packed(op: NodeBuilder, n: Node) -> list[Value]:
    *splits, values = n.inputs
    kind = _splits_type(n)
    rows = op.Sub(op.Size(splits[0], out_type="int32"), 1) if splits else count_of(op, values)
    count, zero, step = cast(op, rows, kind), op.const(0, kind), op.const(1, kind)
    outer = op.Range(zero, op.Add(count, step), step) if n.attrs["batched_input"] else op.Pack([zero, count])
    made = op.RaggedTensorToVariant(
        [outer, *splits],
        values,
        RAGGED_RANK=len(splits) + 1,
        Tvalues=values.dtype.base,
        Tsplits=kind,
        batched_input=n.attrs["batched_input"],
    )
    return [made.output(0)]


def _unpacked(op: NodeBuilder, n: Node) -> list[Value]:
    inner, outer = _ranks(n)
    made = op.RaggedTensorFromVariant(
        n.inputs[0],
        input_ragged_rank=inner + 1 if inner >= 0 else -1,
        output_ragged_rank=outer + 1,
        Tvalues=n.attrs["Tvalues"],
        Tsplits=_splits_type(n),
    )
    return [made.output(level) for level in range(1, outer + 2)]


def _ranks(unpack: Node) -> tuple[int, int]:
    """The ragged rank of each variant, -1 if it is not stated, and of the result."""
    inner, outer = unpack.attrs["input_ragged_rank"], unpack.attrs["output_ragged_rank"]
    assert isinstance(inner, int)
    assert isinstance(outer, int)
    return inner, outer


def _splits_type(n: Node) -> DType:
    kind = attr_or_default(n, "Tsplits")
    assert isinstance(kind, DType)
    return kind
