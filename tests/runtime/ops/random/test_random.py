import numpy as np
import pytest
from tests.runtime.cases import (
    boolean,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    graph_case,
    i32,
    i64,
    numbers,
    scalar,
    strings,
    u64,
)

from tfport.graph.dtypes import DType

HALF, BFLOAT16, FLOAT, DOUBLE, INT32, INT64, UINT32, UINT64 = (
    DType.parse(n)
    for n in ("float16", "bfloat16", "float32", "float64", "int32", "int64", "uint32", "uint64")
)
FLOATS = (HALF, BFLOAT16, FLOAT, DOUBLE)
SEED, KEY, COUNTER, PHILOX = i32(7, -3), u64(0x1234567890ABCDEF), u64(2**64 - 3, 5), scalar(1)
WORDS = (KEY, COUNTER, PHILOX)
SHAPES = (i32(3, 5), i64(7), i32(), i32(0, 2))


def index_shuffle(kind, index, seed, last, rounds):
    """Its seed must be of known shape."""
    return graph_case(
        f"""
        index = Const() {{dtype={kind}, value={kind}{index}}}
        seed = Const() {{dtype=int32, value=int32{seed}}}
        last = Const() {{dtype={kind}, value={kind}{last}}}
        y = RandomIndexShuffle(index, seed, last) {{dtype={kind}, Tseed=int32, rounds={rounds}}}
        """,
        fetches="y:0",
        name="RandomIndexShuffle",
    )


CASES = [
    *(case("StatelessRandomGetKeyCounter", s) for s in (i32(1, 2), i64(-1, 2**40), i32(0, 0))),
    case("StatelessRandomGetKeyCounter", i32(1, 2, 3), fails=True),
    case("StatelessRandomGetKeyCounterAlg", i64(5, 6)),
    case("StatelessRandomGetAlg"),
    *(
        case(f"Stateless{op}", i32(3, 7), SEED, dtype=t)
        for op in ("RandomUniform", "RandomNormal", "TruncatedNormal")
        for t in FLOATS
    ),
    *(
        case(f"Stateless{op}V2", i32(3, 7), *WORDS, dtype=t)
        for op in ("RandomUniform", "RandomNormal", "TruncatedNormal")
        for t in FLOATS
    ),
    *(case("StatelessRandomUniform", s, SEED, dtype=FLOAT) for s in SHAPES),
    *(case("StatelessTruncatedNormal", i64(1001), SEED, dtype=t) for t in (FLOAT, DOUBLE)),
    case("StatelessRandomNormal", i32(1001), i64(2**40, -5), dtype=FLOAT),
    case("StatelessRandomUniformV2", i32(5), KEY, u64(2**64 - 1, 2**64 - 1), scalar(3), dtype=FLOAT),
    case("StatelessRandomUniformV2", i32(5), KEY, COUNTER, scalar(2), dtype=FLOAT, fails=True),
    case("StatelessRandomUniform", i32(-1), SEED, dtype=FLOAT, fails=True),
    case("StatelessRandomUniform", scalar(3), SEED, dtype=FLOAT, fails=True),
    *(case("StatelessRandomUniformFullInt", i32(9), SEED, dtype=t) for t in (INT32, INT64, UINT32, UINT64)),
    *(
        case("StatelessRandomUniformFullIntV2", i32(9), *WORDS, dtype=t)
        for t in (INT32, INT64, UINT32, UINT64)
    ),
    case("StatelessRandomUniformInt", i32(9), SEED, scalar(-5), scalar(17)),
    case("StatelessRandomUniformInt", i32(2, 3), SEED, scalar(-(2**31)), scalar(2**31 - 1)),
    case("StatelessRandomUniformInt", i32(2, 3), SEED, scalar(-(2**62), np.int64), scalar(2**62, np.int64)),
    case("StatelessRandomUniformInt", i32(2), SEED, scalar(3), scalar(3), fails=True),
    case("StatelessRandomUniformInt", i32(0), SEED, scalar(3), scalar(3)),
    case("StatelessRandomUniformIntV2", i32(9), *WORDS, scalar(0), scalar(10)),
    case("StatelessRandomUniformIntV2", i32(9), *WORDS, scalar(0, np.int64), scalar(10**12, np.int64)),
    *(
        case("StatelessRandomGammaV2", i32(40, 4), SEED, np.array([0.1, 1, 2.5, 900], t.numpy))
        for t in (HALF, FLOAT, DOUBLE)
    ),
    case("StatelessRandomGammaV3", i32(3, 2, 2), *WORDS, f32([0.5, 1], [3, 10])),
    case("StatelessRandomGammaV2", i32(0, 4), SEED, f32(1, 2, 3, 4)),
    case("StatelessRandomGammaV2", i32(3), SEED, f32(1, 2), fails=True),
    case("StatelessRandomPoisson", i32(40, 4), SEED, f32(0.5, 9, 12, 300), dtype=FLOAT),
    case("StatelessRandomPoisson", i32(20, 4), SEED, f64(0, 3, 10, 1e6), dtype=INT64),
    case("StatelessRandomPoisson", i32(20, 2), SEED, f16(3, 40), dtype=HALF),
    case("StatelessRandomPoisson", i32(20, 2), SEED, i32(3, 40), dtype=INT32),
    case(
        "StatelessRandomBinomial",
        i32(40, 4),
        SEED,
        f32(10, 40, 100, 1000),
        f32(0.3, 0.6, 0.5, 0.97),
        dtype=FLOAT,
    ),
    case("StatelessRandomBinomial", i32(20, 3), SEED, f64(10, 40, 0), f64(0), dtype=INT32),
    case("StatelessRandomBinomial", i32(20, 3), SEED, f64(10, 40, -1), f64(0.2), dtype=INT64),
    case("StatelessRandomBinomial", i32(20, 3), SEED, f32(10, 40, 5), f32(1, 0.9, np.nan), dtype=DOUBLE),
    case("StatelessRandomBinomial", i32(20, 2, 3), SEED, f32([10], [40]), f32(0.1, 0.5, 0.6), dtype=HALF),
    case("StatelessRandomBinomial", i32(3), SEED, f32(1, 2), f32(0.5), dtype=FLOAT, fails=True),
    *(
        case("StatelessMultinomial", numbers(3, 5, kind=t.numpy), scalar(11), SEED, output_dtype=o)
        for t in FLOATS
        for o in (INT32, INT64)
    ),
    case(
        "StatelessMultinomial",
        f32([0, -np.inf, 1, np.nan], [-np.inf] * 3 + [2]),
        scalar(20),
        SEED,
        output_dtype=INT64,
    ),
    case("StatelessMultinomial", f32([-np.inf] * 3), scalar(4), SEED, output_dtype=INT64),
    case("StatelessMultinomial", np.zeros((0, 3), np.float32), scalar(4), SEED, output_dtype=INT64),
    case(
        "StatelessMultinomial", np.zeros((2, 0), np.float32), scalar(4), SEED, output_dtype=INT64, fails=True
    ),
    case("StatelessMultinomial", f32(1, 2), scalar(4), SEED, output_dtype=INT64, fails=True),
    *(
        case("StatelessShuffle", v, *WORDS)
        for v in (
            i32(*range(13)),
            numbers(5, 2),
            i64(3),
            f32(),
            strings("a", "b", "c"),
            boolean([True], [False]),
        )
    ),
    *(
        case(
            "StatelessParameterizedTruncatedNormal",
            i32(30),
            SEED,
            *(np.array(v, t.numpy) for v in (0, 1, low, high)),
        )
        for t in (HALF, FLOAT, DOUBLE)
        for low, high in ((-2, 2), (-0.5, 0.5), (3, 9), (-9, -3), (1, np.inf), (-np.inf, -4))
    ),
    case(
        "StatelessParameterizedTruncatedNormal",
        i32(7, 2, 3),
        SEED,
        f32([0], [5]),
        f32(1, 2, 3),
        scalar(-1, np.float32),
        scalar(6, np.float32),
    ),
    case(
        "StatelessParameterizedTruncatedNormal",
        i32(7),
        SEED,
        *(scalar(v, np.float32) for v in (0, -1, 0, 1)),
        fails=True,
    ),
    *(
        case("RandomGammaGrad", np.array(a, t.numpy), np.array(x, t.numpy))
        for t in (FLOAT, DOUBLE)
        for a, x in (
            ([0.1, 0.5, 1, 2, 10, 100], [0.01, 0.3, 1, 1.5, 14, 90]),
            ([[1], [3]], [0, 5.0]),
            ([0, -1, 1, 2], [1, 1, -1, np.nan]),
            ([2, 1], [30, 20]),
        )
    ),
    index_shuffle("int64", "()[3]", "(3,)[1, 2, 3]", "()[10]", 4),
    index_shuffle("int64", "(4,)[0, 1, 2, 3]", "(3,)[-1, 2, 3]", "()[3]", 8),
    index_shuffle("int32", "()[5]", "(2, 3)[1, 2, 3, 4, 5, 6]", "()[1000000]", 4),
    index_shuffle("int64", "(2,)[1, 2]", "(3,)[1, 2, 3]", "(2,)[70000, 1099511627776]", 4),
    index_shuffle("int32", "()[0]", "(3,)[1, 2, 3]", "()[0]", 4),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_random(c, ways):
    check("random", c, ways)
