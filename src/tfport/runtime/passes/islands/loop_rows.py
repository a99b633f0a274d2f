"""The rows of a loop: what it reads from tensors outside of it at the number of the iteration.

A node that reads rows can be computed for all iterations at once: rows have one axis more than what an
iteration reads, their first axis is the number of the iteration. An op has a rule here only if it cannot fail
where its inputs have compatible shapes. Its result may not be much larger than the rows that it is computed
from, as all rows are in memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.op_facts import TOGETHER, UNARY
from tfport.runtime.onnx.shape_rule import broadcast, first_two, required
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.program import OnnxNode, Program

_SAME_NUMBER = ("Cast", "Identity")
MOST_GROWTH = 8
"""A product may have this many times the elements of the rows."""
TYPES = frozenset(("float32", "float64", "int32", "int64", "bool"))
Rows = Mapping[Operand, Operand]
_RowRule = Callable[[Builder, OnnxNode, Rows], "list[Operand] | None"]
_CAN_FAIL = frozenset(("BitShift", "Mod", "PRelu"))
_RULES: dict[str, _RowRule] = {}


class LoopRows(Mapping[Operand, Operand]):
    """The operands of a body that are rows, and all rows of each: tensors with one axis more, the first.

    A loop without a trip count, or one that reads no rows, has none.
    """

    def __init__(self, loop: OnnxNode, nodes: Sequence[OnnxNode]) -> None:
        self.before: list[OnnxNode] = []
        """The nodes before the loop that compute rows."""
        body: Program = loop.attrs["body"]
        self.iteration, self._trip_count = body.args[0], loop.inputs[0]
        self._of: dict[Operand, Operand | None] = {}
        """Rows; None where they are computed when they are needed."""
        self._sources = _sources(body, nodes) if self._trip_count is not None else {}
        self._count: Operand | None = None
        if self._sources:
            self._of[self.iteration] = None

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Operand]:
        return iter(self._of)

    def __contains__(self, operand: object) -> bool:
        return operand in self._of

    def __getitem__(self, operand: Operand) -> Operand:
        rows = self._of[operand]
        if rows is None:
            b = Builder(operand.name.partition("#")[0])
            if self._count is None:
                self._count = self._counted(b)
            if operand is self.iteration:
                rows = b.Range(b.const(0, INT64), b.squeeze(self._count, 0), b.const(1, INT64))
                rows.shape = (None,)
            else:
                rows = b.Slice(self._sources[operand], b.ints(0), self._count, b.ints(0))
            self.before += b.added
            same = [o for o, source in self._sources.items() if source is self._sources.get(operand)]
            self._of.update(dict.fromkeys((operand, *(o for o in same if o in self._of)), rows))
        return rows

    def add(self, operand: Operand, rows: Operand) -> None:
        self._of[operand] = rows

    def takes(self, node: OnnxNode) -> bool:
        """Whether a node reads a row from outside, so that its output is a row from now on."""
        is_read = node.outputs[0] in self._sources
        if is_read:
            self._of[node.outputs[0]] = None
        return is_read

    def whole(self, operand: Operand) -> Operand:
        """The tensor from which an iteration takes a row."""
        rows = self._of[operand]
        return rows if rows is not None else self._sources[operand]

    def _counted(self, b: Builder) -> Operand:
        """The number of rows that the loop may read, as a vector of one element."""
        assert self._trip_count is not None
        tensors = dict.fromkeys(self._sources.values())
        return b.Min(b.vector(self._trip_count), *(b.Shape(tensor, start=0, end=1) for tensor in tensors))


def _sources(body: Program, nodes: Sequence[OnnxNode]) -> dict[Operand, Operand]:
    """The operands that are rows of a tensor outside of the loop, and that tensor."""
    inside = {*body.args, *(output for node in nodes for output in node.outputs)}
    numbers = {body.args[0]}
    sources: dict[Operand, Operand] = {}
    for node in nodes:
        first = node.inputs[0] if node.inputs else None
        if node.op in _SAME_NUMBER and first in numbers and node.outputs[0].dtype.is_integer:
            numbers.add(node.outputs[0])
        elif _is_row(node, numbers) and first is not None and first not in inside and first.shape:
            sources[node.outputs[0]] = first
    return sources


def _is_row(node: OnnxNode, numbers: Collection[Operand]) -> bool:
    return node.op == "Gather" and node.attrs.get("axis", 0) == 0 and node.inputs[1] in numbers


def can_be_early(node: OnnxNode) -> bool:
    """Whether a node cannot fail where shapes are compatible, so that it may be computed before a loop."""
    operands = [o for o in (*node.inputs, *node.outputs) if o is not None]
    if node.domain or node.op not in _RULES or any(o.dtype.name not in TYPES for o in operands):
        return False
    return node.op != "Div" or not node.outputs[0].dtype.is_integer


def all_rows_of(b: Builder, node: OnnxNode, rows: Rows) -> list[Operand] | None:
    """The rows of the outputs of a node some of whose inputs have `rows`; None where it has no such form."""
    return _RULES[node.op](b, node, rows)


def _row_rule(ops: str) -> Callable[[_RowRule], _RowRule]:
    def declare(rule: _RowRule) -> _RowRule:
        _RULES.update(dict.fromkeys(ops.split(), rule))
        return rule

    return declare


@_row_rule(UNARY)
def _unary(b: Builder, node: OnnxNode, rows: Rows) -> list[Operand] | None:
    first, others = required(node.inputs[0]), node.inputs[1:]
    if first not in rows or any(other in rows for other in others):
        return None
    return b.nodes(node.op, rows[first], *others, dtype=node.outputs[0].dtype, **node.attrs)


@_row_rule(" ".join(op for op in TOGETHER.split() if op not in _CAN_FAIL))
def _together(b: Builder, node: OnnxNode, rows: Rows) -> list[Operand] | None:
    operands = [o for o in node.inputs if o is not None]
    shape = broadcast(*(o.shape for o in operands))
    if shape is None or not _fits(shape, [o for o in operands if o in rows]):
        return None
    inputs = [_aligned(b, rows[o], len(shape)) if o in rows else o for o in operands]
    return b.nodes(node.op, *inputs, dtype=node.outputs[0].dtype, **node.attrs)


def _aligned(b: Builder, rows: Operand, rank: int) -> Operand:
    """Rows with axes of size 1 after the first, so that each row has this rank."""
    assert rows.rank is not None
    missing = range(1, rank + 2 - rows.rank)
    return b.unsqueeze(rows, *missing) if missing else rows


def _fits(shape: Dims, read: Sequence[Operand]) -> bool:
    """Whether the result has about as many elements as one of the rows, or is a vector at most."""
    if len(shape) < 2:
        return True
    return any(
        o.shape is not None
        and len(o.shape) == len(shape)
        and all(size != 1 or whole == 1 for size, whole in zip(o.shape, shape, strict=True))
        for o in read
    )


@_row_rule("MatMul")
def _product(b: Builder, node: OnnxNode, rows: Rows) -> list[Operand] | None:
    x, weights = first_two(node.inputs)
    if x not in rows or weights in rows or not is_small_product(x, weights):
        return None
    return b.nodes("MatMul", rows[x], weights)


def is_small_product(x: Operand | None, weights: Operand) -> bool:
    """Whether a product with a matrix has at most `MOST_GROWTH` times the elements."""
    if x is None or not x.rank or weights.shape is None or len(weights.shape) != 2:
        return False
    summed, columns = weights.shape
    return None not in (summed, columns) and (columns or 0) <= MOST_GROWTH * (summed or 0)


@_row_rule("Concat Split Softmax LogSoftmax")
def _along_axis(b: Builder, node: OnnxNode, rows: Rows) -> list[Operand] | None:
    data = node.inputs if node.op == "Concat" else node.inputs[:1]
    others = node.inputs[len(data) :]
    if any(o not in rows for o in data) or any(o in rows for o in others):
        return None
    axis = int(node.attrs.get("axis", 0 if node.op == "Split" else -1))
    attrs = {**node.attrs, "axis": axis + 1 if axis >= 0 else axis}
    inputs = (*(rows[o] for o in data if o is not None), *others)
    return b.nodes(node.op, *inputs, outputs=len(node.outputs), **attrs)


@_row_rule("Transpose")
def _transpose(b: Builder, node: OnnxNode, rows: Rows) -> list[Operand] | None:
    x, perm = required(node.inputs[0]), node.attrs.get("perm")
    if perm is None or x not in rows:
        return None
    return b.nodes("Transpose", rows[x], perm=[0, *(axis + 1 for axis in perm)])


@_row_rule("Squeeze Unsqueeze")
def _axes(b: Builder, node: OnnxNode, rows: Rows) -> list[Operand] | None:
    x, axes = required(node.inputs[0]), node.inputs[1] if len(node.inputs) > 1 else None
    if x not in rows or axes is None or axes.array is None or x.rank is None:
        return None
    rank = x.rank + (axes.array.size if node.op == "Unsqueeze" else 0)
    after_first = [int(axis) % rank + 1 for axis in axes.array.reshape(-1)]
    return b.nodes(node.op, rows[x], b.ints(*after_first))
