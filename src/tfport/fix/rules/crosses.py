"""Feature crosses: every combination of one feature per column, in each row."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.row_splits import column, count_of, indices_of, lengths_of, longest, splits_of, wide
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.dtypes import INT64, STRING
from tfport.graph.graph import Node, Value
from tfport.startup.dataclass import dataclass

NodeOrValue = Node | Value
SEPARATOR = b"_X_"
"""What SparseCross and RaggedCross write between the features."""


@dataclass(frozen=True, slots=True)
class CrossColumn:
    """A column as a sparse matrix."""

    indices: NodeOrValue
    values: NodeOrValue
    shape: NodeOrValue


@rule("RaggedCross", keeps=EXACT)
def crossed_as_sparse(op: RuleBuilder, n: Node) -> Replacement:
    """SparseCross combines the columns as sparse matrices; its rows give the row splits."""
    hashed = bool(n.attrs["hashed_output"])
    columns = [
        column if hashed else CrossColumn(column.indices, _text(op, column.values), column.shape)
        for column in _in_order(op, n)
    ]
    dtype = INT64 if hashed else STRING
    crossed = op.SparseCross(
        [column.indices for column in columns],
        [column.values for column in columns],
        [column.shape for column in columns],
        [],
        hashed_output=hashed,
        num_buckets=n.attrs["num_buckets"],
        hash_key=n.attrs["hash_key"],
        out_type=n.attrs["out_values_type"],
        internal_type=dtype,
    )
    rows = column(op, crossed.output(0), 0)
    height = op.Cast(op.StridedSlice(crossed.output(2), [0], [1], [1], shrink_axis_mask=1), DstT="int32")
    splits: NodeOrValue = splits_of(op, op.UnsortedSegmentSum(op.OnesLike(rows), rows, height))
    if (wanted := n.attrs["out_row_splits_type"]) != INT64:
        splits = op.Cast(splits, DstT=wanted)
    return [crossed.output(1), splits]


def _in_order(op: RuleBuilder, n: Node) -> list[CrossColumn]:
    """The ragged, sparse and dense columns in the order in which they are crossed."""
    names = ("ragged_values_types", "ragged_splits_types", "sparse_values_types", "dense_types")
    ragged, _, sparse, dense = (len(types) if isinstance(types := n.attrs[a], list) else 0 for a in names)
    counts = (ragged, ragged, sparse, sparse, sparse, dense)
    inputs, parts = list(n.inputs), list[list[Value]]()
    for count in counts:
        parts.append(inputs[:count])
        inputs = inputs[count:]
    values, splits, indices, sparse_values, shapes, matrices = parts
    waiting = {
        "R": [_of_ragged(op, *pair) for pair in zip(values, splits, strict=True)],
        "S": [CrossColumn(*triple) for triple in zip(indices, sparse_values, shapes, strict=True)],
        "D": [_of_dense(op, matrix) for matrix in matrices],
    }
    order = str(n.attrs["input_order"])
    if any(order.count(letter) != len(columns) for letter, columns in waiting.items()):
        raise refuse(f"its input_order `{order}` does not match its inputs")
    return [waiting[letter].pop(0) for letter in order]


def _of_ragged(op: RuleBuilder, values: Value, splits: Value) -> CrossColumn:
    lengths = lengths_of(op, wide(op, splits))
    shape = op.Pack([count_of(op, lengths), longest(op, lengths)])
    return CrossColumn(indices_of(op, lengths), values, shape)


def _of_dense(op: RuleBuilder, matrix: Value) -> CrossColumn:
    shape = op.Shape(matrix, out_type="int32")
    every = op.Where(op.Fill(shape, op.const(True)))
    return CrossColumn(every, op.Reshape(matrix, [-1]), op.Cast(shape, DstT="int64"))


def _text(op: RuleBuilder, values: NodeOrValue) -> NodeOrValue:
    dtype = (values.output(0) if isinstance(values, Node) else values).dtype.base
    return values if dtype == STRING else op.AsString(values)


@rule("SparseCrossV2", keeps=EXACT)
def crossed_with_the_usual_separator(op: RuleBuilder, n: Node) -> Replacement:
    """SparseCross writes the same separator, `_X_`, between the features."""
    separator = op.array(n.inputs[-1])
    if separator is None or separator.item() != SEPARATOR:
        return refuse("SparseCross has only the separator `_X_`")
    count = n.attrs["N"]
    assert isinstance(count, int)
    columns = n.inputs[:-1]
    kinds = {value.dtype.base for value in (*columns[count : 2 * count], *columns[3 * count :])}
    if kinds - {STRING}:
        return refuse("SparseCross joins only strings")
    return op.SparseCross(
        list(columns[:count]),
        list(columns[count : 2 * count]),
        list(columns[2 * count : 3 * count]),
        list(columns[3 * count :]),
        hashed_output=False,
        num_buckets=0,
        hash_key=0,
        out_type=STRING,
        internal_type=STRING,
    )
