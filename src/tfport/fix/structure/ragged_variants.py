"""Ragged variants for releases that do not have them, or only some.

A ragged variant only wraps row splits and values, and releases before 1.14 do not have it. If every reader
of a variant unpacks it, the variant is removed (`drop_ragged_variants`).

`map_fn` packs each row of a ragged tensor into a variant, and puts it into a list. If every element is a row
of ragged rank 0, the list can have the rows themselves: the rows are split from the values of the ragged
tensor, and concatenated to the values of the result (`rows_as_elements`).

TensorFlow before 2.1 neither packs a plain tensor, of ragged rank 0, into a variant nor unpacks it. So every
variant gets an outer axis of size 1: a tensor of ragged rank 0 becomes a ragged tensor with one row. The axis
is removed again where a variant is unpacked (`add_ragged_axis`).

Any other use stays, and the check reports it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.replace import put_in_place
from tfport.fix.nodes.row_splits import count_of, lengths_of, splits_of, wide
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.list_groups import MAKERS, ListGroup, list_groups
from tfport.graph.dtypes import INT32, INT64, VARIANT, DType
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.shapes import Shape
from tfport.startup.dataclass import dataclass

PACK, UNPACK = "RaggedTensorToVariant", "RaggedTensorFromVariant"
CARRY = ("Identity", "StopGradient", "PreventGradient")


def drop_ragged_variants(graph: Graph) -> list[tuple[str, str]]:
    """Remove every variant that is only unpacked; returns the names and ops of the removed nodes."""
    removed: list[tuple[str, str]] = []
    for node in [node for node in graph if node.op == PACK]:
        readers = _readers(node)
        if readers is None:
            continue
        for reader in readers:
            removed.append((reader.name, reader.op))
            if reader.op == UNPACK:
                _to_identity(reader, node)
            elif not reader.users:
                graph.remove(reader)
        removed.append((node.name, PACK))
        graph.remove(node)
    return removed


def _readers(pack: Node) -> list[Node] | None:
    """The nodes that pass a variant on or unpack it, the last first; None if it has other readers."""
    nodes: list[Node] = []
    waiting = [pack]
    while waiting:
        node = waiting.pop()
        if node.control_users:
            return None
        for reader in node.output(0).uses:
            if reader.op == UNPACK and _undoes(reader, pack):
                nodes.append(reader)
            elif reader.op in CARRY:
                nodes.append(reader)
                waiting.append(reader)
            else:
                return None
    return nodes[::-1] if any(node.op == UNPACK for node in nodes) else None


def _undoes(unpack: Node, pack: Node) -> bool:
    """Whether unpacking returns exactly what was packed."""
    rank, batched = pack.attrs.get("RAGGED_RANK"), bool(pack.attrs.get("batched_input"))
    if not isinstance(rank, int) or unpack.attrs.get("output_ragged_rank") != rank or (batched and not rank):
        return False
    same = all(
        attr_or_default(pack, name) == attr_or_default(unpack, name) for name in ("Tvalues", "Tsplits")
    )
    return same and unpack.attrs.get("input_ragged_rank") in (-1, rank - batched)


def attr_or_default(node: Node, name: str) -> object:
    """An attribute of a node, or its default."""
    signature = node.signature
    return node.attrs.get(name) or (signature.defaults.get(name) if signature else None)


def _to_identity(unpack: Node, pack: Node) -> None:
    """Turn the unpacking node into an IdentityN of the packed parts; it keeps its name."""
    values: list[Value] = list(pack.inputs)
    unpack.set_inputs(values)
    unpack.become("IdentityN", {"T": [value.dtype.base for value in values]})


# Lists of ragged rows.

Changed = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RowList:
    """A group of lists whose elements are rows, with the nodes that pack and unpack them."""

    group: ListGroup
    packs: dict[Node, Node]
    """What packs the rows, by the node that creates or changes a list."""
    unpacks: dict[Node, list[Node]]
    """What unpacks the rows, by the node that reads a list."""
    dtype: DType
    shape: Shape
    """The shape of a row."""


def rows_as_elements(graph: Graph, facts: Facts, checker: NodeChecker) -> Changed:
    """Convert every list of ragged rows of a main graph; returns the names and ops of the nodes."""
    changed: Changed = []
    for group in list_groups(graph):
        rows = _row_list(group, facts) if group.dtype == VARIANT else None
        if rows is None:
            continue
        nodes = [*rows.packs.values(), *(node for nodes in rows.unpacks.values() for node in nodes)]
        changed += [(node.name, node.op) for node in dict.fromkeys(nodes)]
        _convert(rows, facts, checker)
    return changed


def _row_list(group: ListGroup, facts: Facts) -> RowList | None:
    """The group as a list of rows; None if it has another element, or is read in another way."""
    packs, unpacks = dict[Node, Node](), dict[Node, list[Node]]()
    for node in (*group.makers, *group.changes):
        if node.op in ("TensorListReserve", "EmptyTensorList"):
            continue
        pack = node.inputs[0 if node.op in MAKERS else -1].source().node
        if node.op not in ("TensorListFromTensor", "TensorListSetItem", "TensorListPushBack"):
            return None
        is_batch = node.op == "TensorListFromTensor"
        ranks = (is_batch, is_batch)
        if pack.op != PACK or (pack.attrs["RAGGED_RANK"], pack.attrs["batched_input"]) != ranks:
            return None
        packs[node] = pack
    for node in group.reads:
        if node.op == "TensorListLength":
            continue
        rank = {"TensorListGetItem": 0, "TensorListStack": 1}.get(node.op)
        readers = [] if node.control_users else list(dict.fromkeys(node.output(0).uses))
        if rank is None or any(r.op != UNPACK or r.attrs["output_ragged_rank"] != rank for r in readers):
            return None
        unpacks[node] = readers
    rows = [pack.inputs[-1] for pack in packs.values()]
    for read, readers in unpacks.items():
        rows += [reader.output(int(read.op == "TensorListStack")) for reader in readers]
    dtypes = {value.dtype.base for value in rows}
    return RowList(group, packs, unpacks, dtypes.pop(), _row_shape(rows, facts)) if len(dtypes) == 1 else None


def _row_shape(rows: list[Value], facts: Facts) -> Shape:
    """The shape of rows: their number of elements differs, the sizes of an element are known or not."""
    known = [dims for value in rows if (dims := facts.shape(value).dims)]
    if not known:
        return Shape(None)
    inner = [next((size for size in sizes if size is not None), None) for sizes in zip(*known, strict=False)]
    return Shape((None, *inner[1:]))


def _convert(rows: RowList, facts: Facts, checker: NodeChecker) -> None:
    group = rows.group
    for maker in group.makers:
        _make(maker, rows, facts, checker)
    for change in group.changes:
        change.set_inputs([*change.inputs[:-1], rows.packs[change].inputs[-1]])
    for node in (*group.makers, *group.changes, *rows.unpacks):
        node.become(node.op, {**node.attrs, "element_dtype": rows.dtype})
    for read, unpacks in rows.unpacks.items():
        if read.op == "TensorListStack":
            attrs = {"element_dtype": rows.dtype, "element_shape": rows.shape}
            read.set_inputs(read.inputs[:1])
            read.become("TensorListConcat", attrs)
        for unpack in unpacks:
            _unpack(unpack, read, RuleBuilder(unpack, facts, checker))
    for pack in dict.fromkeys(rows.packs.values()):
        _remove(pack)


def _remove(pack: Node) -> None:
    """Remove a node that packs rows, and the Identity nodes that pass the variants on."""
    for reader in list(pack.output(0).uses):
        if reader.op == "Identity":
            _remove(reader)
    if not pack.users:
        pack.graph.remove(pack)


def _make(maker: Node, rows: RowList, facts: Facts, checker: NodeChecker) -> None:
    """Let a node create a list of rows instead of variants."""
    op = RuleBuilder(rows.packs.get(maker, maker), facts, checker)
    dims = rows.shape.dims
    sizes = -1 if dims is None else [-1 if size is None else size for size in dims]
    shape = op.const(sizes, INT32)
    attrs = {**maker.attrs, "shape_type": INT32}
    if maker.op != "TensorListFromTensor":
        maker.set_inputs([shape, *maker.inputs[1:]])
        maker.become(maker.op, attrs)
        return
    splits, values = rows.packs[maker].inputs
    lengths = op.value(wide(op, lengths_of(op, splits)))
    _count_rows(rows.packs[maker], lengths)
    maker.set_inputs([values, shape, lengths])
    maker.become("TensorListSplit", attrs)


def _count_rows(pack: Node, lengths: Value) -> None:
    """Let nodes that read the number of variants read that of rows."""
    for reader in list(pack.output(0).uses):
        if reader.op == "Identity":
            _count_rows(reader, lengths)
        elif reader.op == "Shape":
            reader.set_inputs([lengths])
            reader.become("Shape", {**reader.attrs, "T": INT64})


def _unpack(unpack: Node, read: Node, op: RuleBuilder) -> None:
    """Replace a node that unpacks rows by the rows, or by the splits and values of all rows."""
    values = read.output(0)
    if read.op == "TensorListGetItem":
        put_in_place(unpack, [op.Identity(values).output(0)], op.added, op.facts, named=True)
        return
    splits = op.cast(splits_of(op, read.output(1)), unpack.output(0).dtype.base)
    put_in_place(unpack, [splits, op.Identity(values).output(0)], op.added, op.facts, named=True)


# Ragged variants with one more axis.

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
        op = RuleBuilder(node, facts, checker)
        values = _packed(op, node) if node.op == PACK else _unpacked(op, node)
        put_in_place(node, list(values), op.added, facts, named=True)
    return changed


def _has_few_axes(unpack: Node, facts: Facts) -> None:
    """Refuse a tensor of variants with several axes: the new axis would not be the second."""
    inner, outer = _ranks(unpack)
    axes = outer - max(inner, 0)  # at most
    if axes > 1 and (known := facts.rank(unpack.inputs[0])) not in (0, 1):
        raise StructureRefusal(f"`{unpack.name}` reads ragged variants with {known or 'unknown'} axes")


def _packed(op: RuleBuilder, n: Node) -> list[Value]:
    *splits, values = n.inputs
    dtype = _splits_type(n)
    rows = op.Sub(op.Size(splits[0], out_type="int32"), 1) if splits else count_of(op, values)
    count, zero, step = op.cast(rows, dtype), op.const(0, dtype), op.const(1, dtype)
    outer = op.Range(zero, op.Add(count, step), step) if n.attrs["batched_input"] else op.Pack([zero, count])
    packed = op.RaggedTensorToVariant(
        [outer, *splits],
        values,
        RAGGED_RANK=len(splits) + 1,
        Tvalues=values.dtype.base,
        Tsplits=dtype,
        batched_input=n.attrs["batched_input"],
    )
    return [packed.output(0)]


def _unpacked(op: RuleBuilder, n: Node) -> list[Value]:
    inner, outer = _ranks(n)
    parts = op.RaggedTensorFromVariant(
        n.inputs[0],
        input_ragged_rank=inner + 1 if inner >= 0 else -1,
        output_ragged_rank=outer + 1,
        Tvalues=n.attrs["Tvalues"],
        Tsplits=_splits_type(n),
    )
    return [parts.output(level) for level in range(1, outer + 2)]


def _ranks(unpack: Node) -> tuple[int, int]:
    """The ragged rank of each variant, -1 if it is not stated, and of the result."""
    inner, outer = unpack.attrs["input_ragged_rank"], unpack.attrs["output_ragged_rank"]
    assert isinstance(inner, int)
    assert isinstance(outer, int)
    return inner, outer


def _splits_type(n: Node) -> DType:
    dtype = attr_or_default(n, "Tsplits")
    assert isinstance(dtype, DType)
    return dtype
