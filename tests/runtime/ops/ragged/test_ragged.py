import numpy as np
import pytest
from tests.runtime.cases import (
    case,
    check,
    checks,
    f32,
    f64,
    graph_case,
    i32,
    i64,
    numbers,
    run,
    scalar,
    strings,
)

import tfport
from tfport.graph.dtypes import INT32, INT64

SPLITS, ROWIDS = ["ROW_SPLITS"], ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]
ROWS = i64(0, 2, 2, 5)
VALUES = f32(1, 2, 3, 4, 5)
OUTER = i64(0, 2, 3)
UNKNOWN = None
SCALAR_SHAPE = """
    n = Const() {dtype=int64, value=int64()[-1]}
    d = Const() {dtype=float32, value=float32()[7]}
    s = Placeholder() {dtype=int64}
    v = Placeholder() {dtype=float32}
    t = RaggedTensorToTensor(n, v, d, s) {MORE}
""".replace(
    "MORE",
    'T=float32, Tindex=int64, Tshape=int64, num_row_partition_tensors=1, row_partition_types=["ROW_SPLITS"]',
)


def dense(shape, values, default, partitions, types, **options):
    levels = len(types) - (types[0] == "FIRST_DIM_SIZE")
    shape = np.full(levels + values.ndim, -1, np.int64) if shape is None else shape
    return case(
        "RaggedTensorToTensor", shape, values, default, partitions, row_partition_types=types, **options
    )


CASES = [
    dense(UNKNOWN, VALUES, np.float32(-1), [ROWS], SPLITS),
    graph_case(SCALAR_SHAPE, fetches="t:0", s=ROWS, v=VALUES),
    dense(i64(2, 2), VALUES, np.float32(-1), [ROWS], SPLITS),
    dense(i64(5, 4), VALUES, np.float32(-1), [ROWS], SPLITS),
    dense(i64(-1, 1), VALUES, np.float32(-1), [ROWS], SPLITS),
    dense(i32(-1, 0), VALUES, np.float32(-1), [ROWS.astype(np.int32)], SPLITS),
    dense(i32(0, -1), VALUES, np.float32(-1), [ROWS], SPLITS),
    dense(UNKNOWN, strings(*"abcde"), strings("-").reshape(()), [ROWS], SPLITS),
    dense(UNKNOWN, i32(1, 2, 3, 4, 5), scalar(0), [ROWS], SPLITS),
    dense(UNKNOWN, np.array([True] * 5), np.array(False), [ROWS], SPLITS),
    dense(UNKNOWN, VALUES, np.float32(-1), [OUTER, ROWS], SPLITS * 2),
    dense(i64(-1, 1, -1), VALUES, np.float32(-1), [OUTER, ROWS], SPLITS * 2),
    dense(i64(1, 3, 2), VALUES, np.float32(-1), [OUTER, ROWS], SPLITS * 2),
    dense(UNKNOWN, numbers(5, 2), np.float32(9), [ROWS], SPLITS),
    dense(UNKNOWN, numbers(5, 2), f32(8, 9), [ROWS], SPLITS),
    dense(UNKNOWN, numbers(5, 2, 3), numbers(2, 1), [ROWS], SPLITS),
    dense(i64(-1, -1, 2), numbers(5, 2), f32(8, 9), [ROWS], SPLITS),
    dense(UNKNOWN, VALUES, np.float32(0), [np.int64(4), i64(0, 0, 2, 2, 2)], ROWIDS),
    dense(i64(3, 2), VALUES, np.float32(0), [np.int64(4), i64(0, 0, 2, 2, 2)], ROWIDS),
    dense(
        UNKNOWN,
        VALUES,
        np.float32(0),
        [np.int64(2), i64(0, 0, 1), i64(0, 0, 2, 2, 2)],
        [*ROWIDS, "VALUE_ROWIDS"],
    ),
    dense(UNKNOWN, f32(), np.float32(0), [i64(0)], SPLITS),
    dense(UNKNOWN, f32(), np.float32(0), [i64(0, 0, 0)], SPLITS),
    dense(i64(2, 3), f32(), np.float32(7), [i64(0, 0, 0)], SPLITS),
    dense(UNKNOWN, f32(), np.float32(0), [np.int64(3), i64()], ROWIDS),
    dense(i64(-1, -1, -1), VALUES, np.float32(0), [ROWS], SPLITS, fails=True),
    dense(i64(-1, -1, 3), numbers(5, 2), np.float32(0), [ROWS], SPLITS, fails=True),
    dense(UNKNOWN, VALUES, f32(1, 2), [ROWS], SPLITS, fails=True),
    dense(UNKNOWN, numbers(5, 2), f32(1, 2, 3), [ROWS], SPLITS, fails=True),
    dense(UNKNOWN, VALUES, np.float32(0), [i64(0, 2, 3)], SPLITS),  # more values than rows need
    dense(np.int64(3), VALUES, np.float32(0), [ROWS], SPLITS, fails=True),
    case("RaggedTensorToSparse", [ROWS], VALUES),
    case("RaggedTensorToSparse", [OUTER, ROWS], strings(*"abcde")),
    case("RaggedTensorToSparse", [ROWS], numbers(5, 2)),
    case("RaggedTensorToSparse", [ROWS.astype(np.int32)], numbers(5, 2, 3)),
    case("RaggedTensorToSparse", [i64(0, 0)], f32()),
    case("RaggedTensorToSparse", [i64(0)], f32()),
    case("RaggedTensorToSparse", [i64(0, 2, 3)], VALUES, fails=True),
    case("RaggedTensorToSparse", [i64(0, 4, 2, 5)], VALUES, fails=True),
    case("RaggedGather", [ROWS], VALUES, i32(2, 0, 2), OUTPUT_RAGGED_RANK=1),
    case("RaggedGather", [OUTER, ROWS], VALUES, i64(1, 0), OUTPUT_RAGGED_RANK=2),
    case("RaggedGather", [ROWS], numbers(5, 2), i32([2, 0], [1, 1]), OUTPUT_RAGGED_RANK=2),
    case(
        "RaggedGather",
        [ROWS.astype(np.int32)],
        strings(*"abcde"),
        i32([[2], [0]], [[1], [1]]),
        OUTPUT_RAGGED_RANK=3,
    ),
    case("RaggedGather", [ROWS], VALUES, i32(), OUTPUT_RAGGED_RANK=1),
    case("RaggedGather", [ROWS], VALUES, i32(3), OUTPUT_RAGGED_RANK=1, fails=True),
    case("RaggedGather", [ROWS], VALUES, i32(-1), OUTPUT_RAGGED_RANK=1, fails=True),
    case("RaggedRange", i32(0, 5, 8), i32(3, 5, 0), i32(1, 1, -3), Tsplits=INT64),
    case("RaggedRange", scalar(0), i32(3, 5), scalar(2), Tsplits=INT32),
    case("RaggedRange", scalar(0), scalar(3), scalar(1), Tsplits=INT64),
    case("RaggedRange", f32(0, 1), f32(1, 0), f32(0.1, -0.3), Tsplits=INT64),
    case("RaggedRange", f64(0, 5), f64(1, 9), np.float64(0.25), Tsplits=INT64),
    case("RaggedRange", i64(5), i64(2), i64(1), Tsplits=INT64),
    case("RaggedRange", i64(-4, 7, 0), i64(3, -7, 0), i64(2, -3, 5), Tsplits=INT64),
    case("RaggedRange", i64(-(2**63)), i64(2**63 - 1), i64(2**62), Tsplits=INT64),
    case("RaggedRange", i64(2**62), i64(-(2**62)), i64(-(2**62)), Tsplits=INT64),
    case("RaggedRange", i64(), i64(), i64(1)[0], Tsplits=INT64),
    case("RaggedRange", i64(0), i64(2), i64(0), Tsplits=INT64, fails=True),
    case("RaggedRange", i64(0, 1), i64(2), i64(1, 2), Tsplits=INT64, fails=True),
]

PACK = """
s = Placeholder() {dtype=int64}
t = Placeholder() {dtype=int64}
v = Placeholder() {dtype=float32}
"""
TO = "{RAGGED_RANK=%d, Tvalues=float32, Tsplits=int64, batched_input=%s}"
FROM = "{input_ragged_rank=%d, output_ragged_rank=%d, Tvalues=float32, Tsplits=int64}"


def packed(to, back, count, **feeds):
    """A ragged tensor packed into a variant and unpacked."""
    text = PACK + f"p = RaggedTensorToVariant({to}\nq = RaggedTensorFromVariant(p) {back}\n"
    for name in ("s", "t", "v"):
        if name not in feeds:
            text = "\n".join(line for line in text.splitlines() if not line.startswith(f"{name} ="))
    return graph_case(text, fetches=[f"q:{i}" for i in range(count)], **feeds)


CASES += [
    packed("s, v) " + TO % (1, "false"), FROM % (1, 1), 2, s=ROWS, v=VALUES),
    packed("s, v) " + TO % (1, "true"), FROM % (0, 1), 2, s=ROWS, v=VALUES),
    packed("s, v) " + TO % (1, "true"), FROM % (-1, 1), 2, s=ROWS, v=numbers(5, 2)),
    packed("s, t, v) " + TO % (2, "true"), FROM % (1, 2), 3, s=OUTER, t=ROWS, v=VALUES),
    packed("s, t, v) " + TO % (2, "false"), FROM % (2, 2), 3, s=OUTER, t=ROWS, v=VALUES),
    packed("v) " + TO % (0, "true"), FROM % (0, 1), 2, v=numbers(3, 2)),
    packed("s, v) " + TO % (1, "true"), FROM % (0, 1), 2, s=i64(0), v=f32()),
    packed("s, v) " + TO % (1, "true"), FROM % (0, 1), 2, s=i64(0, 5), v=VALUES),
    graph_case(
        f"""
        s = Placeholder() {{dtype=int64}}
        v = Placeholder() {{dtype=float32}}
        p = RaggedTensorToVariant(s, v) {TO % (1, "true")}
        n = Const() {{dtype=int32, value=int32(1,)[5]}}
        g = RaggedTensorToVariantGradient(p, s, n) {{Tvalues=float32, Tsplits=int64}}
        """,
        fetches="g:0",
        s=ROWS,
        v=VALUES,
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_ragged(c, ways):
    check("ragged", c, ways)


def test_splits_beyond_the_values_are_refused_where_tensorflow_reads_foreign_memory():
    c = dense(UNKNOWN, VALUES, np.float32(0), [i64(0, 2, 9)], SPLITS)
    with pytest.raises(tfport.Error, match="the row partitions need 9 values, found 5"):
        run(c, "host")
