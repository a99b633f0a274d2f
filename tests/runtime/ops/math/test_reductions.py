import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    c64,
    c128,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    graph_case,
    i8,
    i16,
    i32,
    i64,
    numbers,
    scalar,
    u8,
    u16,
    u32,
    u64,
)
from tests.runtime.programs import islands_of

from tfport.graph.dtypes import INT32, INT64, DType

NAN, INF = np.nan, np.inf
FLOATS = (f32, f64, f16, bf16)
SIGNED, UNSIGNED = (i8, i16, i32, i64), (u8, u16, u32, u64)
COMPLEX = (c64, c128)
SUMS = ("Sum", "Mean", "Prod", "EuclideanNorm")
ALL = (*SUMS, "Max", "Min")
NONE = np.zeros((0,), np.int32)
SCORES = numbers(2, 3, 2, 5)
SOME_NAN = np.where(SCORES > 1, np.float32(NAN), SCORES)
INFINITE = np.where(SCORES > 0, np.float32(INF), np.float32(-INF))
KINDS = (np.float32, np.int32, np.int8, np.uint8)


def of_unknown_rank(op, axes):
    text = f"""
        x = Placeholder() {{dtype=float32, shape=(...)}}
        axes = Const() {{dtype=int32, value={axes}}}
        y = {op}(x, axes) {{T=float32, Tidx=int32, keep_dims=false}}
    """
    return graph_case(text, fetches="y:0", x=numbers(2, 3, 4))


CASES = [
    *(case(op, kind([1, 2, 3], [-4, 5.5, 0]), i32(0)) for op in ALL for kind in FLOATS),
    *(case(op, kind([1, 2, 3], [-4, 5, 0]), i32(1)) for op in ALL for kind in SIGNED),
    *(case(op, kind([1, 2, 3], [4, 5, 9]), i32(-1)) for op in ALL for kind in UNSIGNED),
    *(case(op, kind([1, 2j, 3], [-4, 5 + 1j, 0]), i32(0)) for op in SUMS for kind in COMPLEX),
    *(
        case(op, numbers(2, 3, 4), axes, keep_dims=keep)
        for op in ALL
        for axes in (i32(0, 2), i32(-1), i64(1, 0), i32(0, 1, 2))
        for keep in (False, True)
    ),
    *(case(op, numbers(2, 3), NONE) for op in ALL),
    *(case(op, numbers(2, 3), scalar(-1)) for op in ALL),
    *(case(op, scalar(-3, np.float32), NONE) for op in ALL),
    *(case(op, np.zeros(shape, kind), i32(0)) for op in ALL for kind in KINDS for shape in ((0, 2), (2, 0))),
    *(case(op, f32([NAN, 1, 2], [1, NAN, 0]), i32(axis)) for op in ALL for axis in (0, 1)),
    *(case(op, f32(*[1.0] * 20, NAN, *[3.0] * 20), i32(0)) for op in ("Max", "Min")),
    *(case(op, f32(-INF, -INF), i32(0)) for op in ("Max", "Min", "Sum")),
    *(case(op, f32(-INF, INF, *[1] * 9), i32(0)) for op in ("Max", "Min", "Sum")),
    *(case(op, f32(1, NAN, bound, *[1] * 9), i32(0)) for op in ("Max", "Min") for bound in (INF, -INF)),
    *(case(op, f32([NAN, NAN], [NAN, 1]), i32(1)) for op in ("Max", "Min")),
    *(case(op, i32([100, 100], [27, 27]), i32(0, 0), fails=True) for op in ("Sum", "Max")),
    *(case(op, i32([100, 100], [27, 27]), i32(2), fails=True) for op in ("Sum", "Max")),
    case("Sum", f32([1, 2]), i32(0, -2), fails=True),
    case("Sum", scalar(1, np.float32), i32(0), fails=True),
    *(
        case(op, kind(100, 100, 27), i32(0))
        for op in ("Sum", "Mean", "Prod", "EuclideanNorm")
        for kind in (i8, u8, i32, f16)
    ),
    *(
        case(op, kind(-100, -100, -27), i32(0))
        for op in ("Sum", "Mean", "Prod", "EuclideanNorm")
        for kind in (i8, i32)
    ),
    case("Mean", i32(2**31 - 1, 2**31 - 1, 3), i32(0)),
    case("Mean", i8([100, 100, 100], [100, 3, 4]), i32(0)),
    case("Mean", i8([100, 100, 100], [100, 3, 4]), i32(1)),
    case("Mean", u8(*[255] * 300), i32(0)),
    case("Sum", i32(2**31 - 1, 1), i32(0)),
    case("Sum", f32(*[0.1] * 1000), i32(0)),
    case("Sum", f16(*[0.1] * 100), i32(0)),
    # a sum too large for half has no mean, but ONNX Runtime sums in float32
    case("Mean", f16(*[60000] * 4), i32(0), ways=("host",)),
    *(
        case(op, boolean([True, False], [True, True]), i32(0), keep_dims=keep)
        for op in ("All", "Any")
        for keep in (True, False)
    ),
    *(case(op, boolean([True, False], [True, True]), NONE) for op in ("All", "Any")),
    *(case(op, boolean([True, False], [True, True]), i32(0, 1)) for op in ("All", "Any")),
    *(case(op, np.zeros(shape, np.bool_), i32(0)) for op in ("All", "Any") for shape in ((0, 2), (2, 0))),
    *(
        case(op, kind([1, 5, 5], [7, 2, 7]), scalar(axis))
        for op in ("ArgMax", "ArgMin")
        for axis in (0, -1)
        for kind in (*FLOATS, *SIGNED, *UNSIGNED)
    ),
    *(case(op, boolean(False, True, True, False), scalar(0)) for op in ("ArgMax", "ArgMin")),
    *(
        case(op, f32(*row), scalar(0))
        for op in ("ArgMax", "ArgMin")
        for row in ((1, NAN, 2), (NAN, NAN, 2), (NAN, NAN), (-INF, -INF, NAN), (1, 2, 2, 1, 3, 3, 1))
    ),
    *(case(op, numbers(2, 3, 4), scalar(1, np.int64), output_type=INT32) for op in ("ArgMax", "ArgMin")),
    *(case("ArgMax", numbers(2, 3), scalar(1), output_type=DType.parse(t)) for t in ("int16", "uint16")),
    *(
        case(op, f32(*rows), i32(1))
        for op in ("Max", "Min")
        for rows in (
            ([1, NAN], [2, 3]),
            ([INF, -INF], [1, 2]),
            ([INF, NAN], [-INF, INF]),
            ([-INF, -INF], [NAN, NAN]),
        )
    ),
    *(
        case(op, scores, scalar(3), output_type=INT64)
        for op in ("ArgMax", "ArgMin")
        for scores in (SCORES, SCORES.astype(np.float64), SOME_NAN, INFINITE)
    ),
    *(case(op, np.zeros((2, 0), np.float32), scalar(0), output_type=INT64) for op in ("ArgMax", "ArgMin")),
    *(case(op, np.zeros((0, 2), np.float32), scalar(0), fails=True) for op in ("ArgMax", "ArgMin")),
    *(case(op, f32([1, 2]), scalar(2), fails=True) for op in ("ArgMax", "ArgMin")),
    *(case(op, f32([1, 2]), i32(1), fails=True) for op in ("ArgMax", "ArgMin")),
    case("ArgMax", scalar(1, np.float32), scalar(0), fails=True),
    *(
        case(op, numbers(2, 3, 2), scalar(1), exclusive=exclusive, reverse=reverse)
        for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp")
        for exclusive in (False, True)
        for reverse in (False, True)
    ),
    *(
        case(op, kind(1, 2, 4, 3), scalar(-1), exclusive=True)
        for op in ("Cumsum", "Cumprod")
        for kind in (*FLOATS, *SIGNED, *UNSIGNED, *COMPLEX)
    ),
    *(case("CumulativeLogsumexp", kind(1, 2, 4, 3), scalar(0, np.int64)) for kind in FLOATS),
    case("CumulativeLogsumexp", f32(1, 2, -INF, 3), scalar(0)),
    case("CumulativeLogsumexp", f32(-INF, -INF, 1), scalar(0)),
    *(case(op, scalar(1, np.float32), scalar(0), fails=True) for op in ("Cumsum", "Cumprod")),
    *(case(op, f32(1), scalar(1), fails=True) for op in ("Cumsum", "Cumprod")),
    *(case(op, f32(1), i32(0), fails=True) for op in ("Cumsum", "Cumprod")),
    *(
        case(op, np.zeros((0, 2), np.float32), scalar(axis))
        for op in ("Cumsum", "Cumprod")
        for axis in (0, 1)
    ),
    case("Cumsum", i8(100, 100), scalar(0)),
    *(
        of_unknown_rank(op, axes)
        for op in ("Sum", "Mean", "Max")
        for axes in ("int32(2)[0, 1]", "int32(1)[-1]", "int32(2)[0, -1]")
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_reductions(c, ways):
    check("reductions", c, ways)


def test_nan_in_a_map_of_scores_is_replaced_only_if_there_may_be_any():
    """The sum of all tells; replacing takes longer than the search."""
    text = """
        scores = Placeholder() {dtype=float32, shape=(?, ?, ?, 21)}
        axis = Const() {dtype=int32, value=int32()[3]}
        y = ArgMax(scores, axis) {T=float32, Tidx=int32, output_type=int64}
    """
    (island,) = islands_of(text, ["y:0"], ["scores:0"])
    assert [node.op_type for node in island.graph.node] == ["ReduceSum", "IsNaN", "If"]
    branches = {a.name: [node.op_type for node in a.g.node] for a in island.graph.node[2].attribute}
    assert branches == {"then_branch": ["IsNaN", "Where", "ArgMax"], "else_branch": ["ArgMax"]}


def test_nan_is_looked_for_once_before_a_maximum_over_the_last_axis():
    """Three reductions, which tell where NaN is, are in a branch."""
    text = """
        x = Placeholder() {dtype=float32, shape=(?, ?)}
        axis = Const() {dtype=int32, value=int32(1,)[1]}
        y = Max(x, axis) {T=float32, Tidx=int32, keep_dims=true}
    """
    (island,) = islands_of(text, ["y:0"], ["x:0"])
    assert [node.op_type for node in island.graph.node] == ["ReduceSum", "IsNaN", "If"]
    (plain,) = (a.g.node for a in island.graph.node[2].attribute if a.name == "else_branch")
    assert [node.op_type for node in plain] == ["ReduceMax"]
