import numpy as np
import pytest
from tests.recorded_models import graph
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
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import DType

HALF, BFLOAT16, FLOAT, DOUBLE, INT32, INT64 = (
    DType.parse(n) for n in ("float16", "bfloat16", "float32", "float64", "int32", "int64")
)
FLOATS = (HALF, BFLOAT16, FLOAT, DOUBLE)
SEEDS = {"seed": 87654321, "seed2": 7}
SAMPLER = {"num_true": 2, **SEEDS}
TRUE = i64([0, 1], [5, 3], [1, 9])


def generator(text, *, state="(3,)[1, 2, 3]"):
    """Two draws of one generator, and its final state."""
    return graph_case(
        f"""
        g = VarHandleOp() {{dtype=int64, shape=(?), shared_name="g"}}
        start = Const() {{dtype=int64, value=int64{state}}}
        set = AssignVariableOp(g, start) {{dtype=int64}}
        alg = Const(^set) {{dtype=int64, value=int64()[1]}}
        shape = Const() {{dtype=int64, value=int64(2,)[2, 5]}}
        low = Const() {{dtype=int32, value=int32()[-7]}}
        high = Const() {{dtype=int32, value=int32()[90]}}
        a = {text.replace("WAIT", "^set")}
        b = {text.replace("WAIT", "^a")}
        end = ReadVariableOp(g, ^b) {{dtype=int64}}
        """,
        fetches=["a:0", "b:0", "end:0"],
        name=text.partition("(")[0],
    )


CASES = [
    *(
        case(op, i32(3, 5), dtype=t, **SEEDS)
        for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
        for t in FLOATS
    ),
    case("RandomUniform", i64(), dtype=FLOAT, seed=1, seed2=0),
    case("RandomUniform", i64(0), dtype=FLOAT, seed=0, seed2=3),
    case("RandomUniform", i64(3), dtype=FLOAT, seed=-5, seed2=-3),
    case("RandomUniform", i64(-3), dtype=FLOAT, fails=True),
    case("RandomUniformInt", i32(9), scalar(-5), scalar(17), **SEEDS),
    case("RandomUniformInt", i32(3, 3), scalar(-5, np.int64), scalar(2**40, np.int64), **SEEDS),
    case("RandomUniformInt", i32(3), scalar(5), scalar(5), **SEEDS, fails=True),
    case("RandomUniformInt", i32(0), scalar(5), scalar(5), **SEEDS),
    *(
        case("RandomShuffle", v, **SEEDS)
        for v in (i32(*range(11)), numbers(5, 2), f32(1), f32(), strings("a", "b", "c"), numbers(3, 0))
    ),
    *(
        case("Multinomial", numbers(3, 5, kind=t.numpy), scalar(11), output_dtype=INT64, **SEEDS)
        for t in FLOATS
    ),
    case("Multinomial", numbers(3, 5), scalar(0), output_dtype=INT32, **SEEDS),
    case("Multinomial", numbers(3, 5), scalar(-1), output_dtype=INT32, **SEEDS, fails=True),
    *(
        case("RandomGamma", i32(20), np.array([0.1, 1, 2.5, 900], t.numpy), **SEEDS)
        for t in (HALF, FLOAT, DOUBLE)
    ),
    case("RandomGamma", i32(), f32([0.5], [4]), **SEEDS),
    case("RandomGamma", i32(0), f32(1, 2), **SEEDS),
    *(
        case("RandomPoissonV2", i32(20), np.array([0.5, 3, 12, 300], t.numpy), dtype=FLOAT, **SEEDS)
        for t in (HALF, FLOAT, DOUBLE)
    ),
    case("RandomPoissonV2", i32(20), f64(0, 5, 10, 1e5), dtype=INT64, **SEEDS),
    case("RandomPoissonV2", i32(20), i32(5, 20), dtype=FLOAT, **SEEDS),
    case("RandomPoissonV2", i64(2, 3), scalar(4, np.float32), dtype=DOUBLE, **SEEDS),
    case("RandomPoissonV2", i64(2), f32(-1, -np.inf), dtype=FLOAT, **SEEDS),
    *(
        case(
            "ParameterizedTruncatedNormal",
            i32(31, 7),
            *(np.array(v, t.numpy) for v in (0, 1, low, high)),
            **SEEDS,
        )
        for t in (HALF, FLOAT, DOUBLE)
        for low, high in ((-2, 2), (-0.5, 0.5), (3, 9), (-np.inf, -4))
    ),
    case(
        "ParameterizedTruncatedNormal",
        i32(3, 7),
        f32(0, 1, 2),
        f32(1),
        f32(-1, -9, 2),
        scalar(10, np.float32),
        **SEEDS,
    ),
    case("ParameterizedTruncatedNormal", i32(3, 7), f32(0, 1), f32(1), f32(-1), f32(1), **SEEDS, fails=True),
    *(
        case(f"{op}CandidateSampler", TRUE, num_sampled=n, unique=u, range_max=10, **SAMPLER)
        for op in ("Uniform", "LogUniform", "LearnedUnigram", "ThreadUnsafeUnigram")
        for n, u in ((6, True), (12, False), (10, True))
    ),
    case("UniformCandidateSampler", TRUE, num_sampled=11, unique=True, range_max=10, **SAMPLER, fails=True),
    case("UniformCandidateSampler", TRUE, num_sampled=1, unique=True, range_max=7, **SAMPLER, fails=True),
    *(
        case(
            "FixedUnigramCandidateSampler",
            TRUE,
            num_sampled=6,
            unique=u,
            range_max=10,
            unigrams=[1.0, 4.0, 2.0, 0.5, 7.0, 1.0, 1.0, 3.0, 2.0][: 9 - r + 1],
            num_reserved_ids=r,
            distortion=d,
            **SAMPLER,
        )
        for u, r, d in ((True, 1, 1.0), (False, 1, 0.75), (True, 2, 0.5))
    ),
    case(
        "FixedUnigramCandidateSampler",
        i64([0]),
        num_true=1,
        num_sampled=3,
        unique=True,
        range_max=3,
        unigrams=[1.0, 4.0, 2.0, 0.5, 7.0, 1.0],
        num_shards=2,
        shard=1,
        **SEEDS,
    ),
    case("AllCandidateSampler", i64([0, 1], [2, 3]), num_sampled=4, unique=True, **SAMPLER),
    case("ComputeAccidentalHits", TRUE, i64(1, 4, 9, 1), num_true=2),
    case("ComputeAccidentalHits", TRUE, i64(), num_true=2),
    case("ComputeAccidentalHits", TRUE, i64(1), num_true=3, fails=True),
    *(
        generator(f"{op}(g, alg, shape, WAIT) {{dtype={t}}}")
        for op in ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal")
        for t in ("float16", "bfloat16", "float32", "float64")
    ),
    *(
        generator(f"StatefulUniformFullInt(g, alg, shape, WAIT) {{dtype={t}}}")
        for t in ("int32", "int64", "uint32", "uint64")
    ),
    generator("StatefulUniformInt(g, alg, shape, low, high, WAIT) {dtype=int32}"),
    generator("StatefulStandardNormal(g, shape, WAIT) {dtype=float32}", state="(4,)[1, 2, 3, 4]"),
    generator("StatefulUniform(g, alg, shape, WAIT) {dtype=float32}", state="(4,)[-1, -1, -3, 4]"),
    graph_case(
        """
        g = VarHandleOp() {dtype=int64, shape=(?), shared_name="g"}
        start = Const() {dtype=int64, value=int64(3,)[1, 2, 3]}
        set = AssignVariableOp(g, start) {dtype=int64}
        alg = Const(^set) {dtype=int64, value=int64()[1]}
        by = Const(^set) {dtype=int64, value=int64()[5]}
        skip = RngSkip(g, alg, by, ^set)
        shape = Const() {dtype=int32, value=int32(3,)[20, 2, 3]}
        counts = Const() {dtype=float32, value=float32(3,)[10.0, 100.0, 3.0]}
        probs = Const() {dtype=float32, value=float32(2, 1)[0.25, 0.75]}
        y = StatefulRandomBinomial(g, alg, shape, counts, probs, ^skip) {dtype=int32, S=int32, T=float32}
        alg2 = Const(^y) {dtype=int32, value=int32()[1]}
        by2 = Const(^y) {dtype=uint64, value=uint64()[7]}
        before = RngReadAndSkip(g, alg2, by2, ^y)
        end = ReadVariableOp(g, ^before) {dtype=int64}
        """,
        fetches=["y:0", "before:0", "end:0"],
        name="StatefulRandomBinomial",
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_random_seeded(c, ways):
    check("random_seeded", c, ways)


def test_each_run_continues_where_the_last_one_stopped():
    text = """
        shape = Const() {dtype=int32, value=int32(1,)[2]}
        x = RandomUniform(shape) {dtype=float32, T=int32, seed=1, seed2=2}
    """
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))
    runs = [session.run("x:0").tolist() for _ in range(3)]
    assert runs == RUNS


def test_each_call_of_a_function_draws_its_own_numbers():
    """As TensorFlow 2.21 does, which has inlined the calls: each has a generator that starts at the seeds."""
    text = """
        a = StatefulPartitionedCall() {Tin=[], Tout=[float32], f=@drawn}
        b = StatefulPartitionedCall() {Tin=[], Tout=[float32], f=@drawn}
        def drawn() -> (r: float32):
          shape = Const() {dtype=int32, value=int32(1,)[3]}
          x = RandomUniform(shape) {dtype=float32, T=int32, seed=3, seed2=5}
          return r=x
    """
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))
    for numbers_of_a_run in (
        [0.3976691961288452, 0.8425681591033936, 0.004518985748291016],
        [0.3151644468307495, 0.12238419055938721, 0.36476683616638184],
    ):
        a, b = session.run(["a:0", "b:0"])
        assert a.tolist() == b.tolist() == numbers_of_a_run


def test_the_poisson_op_before_its_second_version_draws_the_same():
    first = case("RandomPoisson", i32(20), f32(0.5, 12), **SEEDS)
    second = case("RandomPoissonV2", i32(20), f32(0.5, 12), dtype=FLOAT, **SEEDS)
    assert run(first, "engine")[0].tolist() == run(second, "engine")[0].tolist()


def test_without_seeds_sessions_differ():
    text = """
        shape = Const() {dtype=int32, value=int32(1,)[4]}
        x = RandomUniform(shape) {dtype=float32, T=int32}
        n = NonDeterministicInts(shape) {dtype=int64, shape_dtype=int32}
    """
    model = graph_to_def(graph(text)).SerializeToString()
    a, b = (tfport.Session(tfport.load(model)).run(["x:0", "n:0"]) for _ in range(2))
    assert a[0].tolist() != b[0].tolist()
    assert a[1].tolist() != b[1].tolist()
    assert a[0].dtype == np.float32
    assert a[1].dtype == np.int64


RUNS = [
    [0.406396746635437, 0.8575996160507202],
    [0.603865385055542, 0.5261081457138062],
    [0.004966139793395996, 0.6021978855133057],
]
"""What TensorFlow 2.21 answers in three runs of one session."""
