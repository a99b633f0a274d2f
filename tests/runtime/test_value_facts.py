"""Dropout that keeps everything is not computed; any other is. Nor is a limit of a limit."""

import numpy as np
import pytest
from tests.runtime.programs import WatchedEngine, session_of

from tfport.runtime.engines.make_engine import make_engine

DROPOUT_1 = """
    x = Placeholder() {{dtype={type}, shape=(?, 3)}}
    keep = Placeholder() {{dtype={type}}}
    scaled = RealDiv(x, keep) {{T={type}}}
    shape = Shape(scaled) {{T={type}, out_type=int32}}
    low = Const() {{dtype={type}, value={type}()[0]}}
    high = Const() {{dtype={type}, value={type}()[1]}}
    span = Sub(high, low) {{T={type}}}
    draw = RandomUniform(shape) {{dtype={type}, T=int32, seed={seed}, seed2=0}}
    stretched = Mul(draw, span) {{T={type}}}
    uniform = Add(stretched, low) {{T={type}}}
    above = Add(keep, uniform) {{T={type}}}
    mask = Floor(above) {{T={type}}}
    y = Mul(scaled, mask) {{T={type}}}
"""
"""As `tf.nn.dropout` of TensorFlow 1.4 to 1.12 makes it."""
DROPOUT_2 = """
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    rate = Placeholder() {dtype=float32}
    one = Const() {dtype=float32, value=float32()[1]}
    keep = Sub(one, rate) {T=float32}
    scale = RealDiv(one, keep) {T=float32}
    scaled = Mul(x, scale) {T=float32}
    shape = Shape(x) {T=float32, out_type=int32}
    draw = RandomUniform(shape) {dtype=float32, T=int32, seed=0, seed2=0}
    kept = GreaterEqual(draw, rate) {T=float32}
    mask = Cast(kept) {SrcT=bool, DstT=float32}
    y = Mul(scaled, mask) {T=float32}
    zero = Const() {dtype=float32, value=float32()[0]}
    chosen = SelectV2(kept, scaled, zero) {T=float32}
"""
"""As TensorFlow 1.14 and later make it: by a product, or by a selection."""
X = np.float32([[1, -2, np.inf], [np.nan, -0.0, 1e-45]])


def ops_of(session):
    (plan,) = session.plans.plans
    return plan.ops


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dropout_that_keeps_everything_is_not_computed(dtype):
    session = session_of(DROPOUT_1.format(type=dtype, seed=0))
    answer = session.run("y:0", {"x:0": X.astype(dtype), "keep:0": np.array(1, dtype)})
    assert answer.tobytes() == X.astype(dtype).tobytes()
    assert ops_of(session) == []


@pytest.mark.parametrize("output", ["y:0", "chosen:0"])
def test_a_rate_of_zero_keeps_everything(output):
    session = session_of(DROPOUT_2)
    answer = session.run(output, {"x:0": X, "rate:0": np.float32(0)})
    assert answer.tobytes() == X.tobytes()
    assert ops_of(session) == []


@pytest.mark.parametrize("output", ["y:0", "chosen:0"])
def test_other_rates_drop_elements(output):
    session = session_of(DROPOUT_2)
    x = np.ones((1000, 3), np.float32)
    answer = session.run(output, {"x:0": x, "rate:0": np.float32(0.25)})
    assert set(np.unique(answer)) == {0, np.float32(1) / np.float32(0.75)}
    assert 0.7 < np.count_nonzero(answer) / x.size < 0.8


def test_a_seeded_draw_advances_its_generator_even_if_nothing_is_dropped():
    text = DROPOUT_1.format(type="float32", seed=5)
    feeds = {"x:0": np.ones((4, 3), np.float32), "keep:0": np.float32(0.5)}
    once, twice = session_of(text), session_of(text)
    twice.run("y:0", {**feeds, "keep:0": np.float32(1)})
    first, second = (once.run("y:0", feeds).tolist() for _ in range(2))
    assert first != second
    assert twice.run("y:0", feeds).tolist() == second


LOOP = """
    n = Placeholder() {dtype=int32, shape=()}
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    keep = Placeholder() {dtype=float32, shape=()}
    zero = Const() {dtype=int32, value=int32()[0]}
    w = While(zero, n, keep, x) {T=[int32, int32, float32, float32], cond=@go, body=@turn}
    y = Identity(w:3) {T=float32}
    def go(i: int32, n: int32, keep: float32, x: float32) -> (r: bool):
      c = Less(i, n) {T=int32}
      return r=c
    def turn(i: int32, n: int32, keep: float32, x: float32) -> (j: int32, m: int32, k: float32, z: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      next = AddV2(i, one) {T=int32}
      shape = Shape(x) {T=float32, out_type=int32}
      draw = RandomUniform(shape) {dtype=float32, T=int32, seed=5, seed2=1}
      above = AddV2(keep, draw) {T=float32}
      mask = Floor(above) {T=float32}
      kept = Mul(x, mask) {T=float32}
      doubled = AddV2(kept, kept) {T=float32}
      return j=next, m=n, k=keep, z=doubled
"""


def test_a_loop_without_dropout_runs_in_the_engine_even_if_its_draws_have_a_seed():
    engine = WatchedEngine(make_engine("onnxruntime"))
    session = session_of(LOOP, engine=engine)
    feeds = {"n:0": np.int32(3), "x:0": np.ones((2, 3), np.float32)}
    assert session.run("y:0", {**feeds, "keep:0": np.float32(1)}).tolist() == [[8] * 3] * 2
    assert [node.op_type for model in engine.compiled for node in model.graph.node].count("Loop") == 1
    assert 0 in session.run("y:0", {**feeds, "keep:0": np.float32(0.25)})


def test_a_mask_of_another_shape_is_not_removed():
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(?, 1)}
        like = Placeholder() {dtype=float32, shape=(?, 3)}
        keep = Placeholder() {dtype=float32}
        shape = Shape(like) {T=float32, out_type=int32}
        draw = RandomUniform(shape) {dtype=float32, T=int32, seed=0, seed2=0}
        above = Add(keep, draw) {T=float32}
        mask = Floor(above) {T=float32}
        y = Mul(x, mask) {T=float32}
    """)
    wide = np.zeros((1, 3), np.float32)
    answer = session.run("y:0", {"x:0": [[2.0]], "like:0": wide, "keep:0": np.float32(1)})
    assert answer.tolist() == [[2, 2, 2]]


def test_bounds_that_include_another_value_decide_nothing():
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(?, 3)}
        shape = Shape(x) {T=float32, out_type=int32}
        draw = RandomUniform(shape) {dtype=float32, T=int32, seed=0, seed2=0}
        two = Const() {dtype=float32, value=float32()[2]}
        wide = Mul(draw, two) {T=float32}
        mask = Floor(wide) {T=float32}
        y = Mul(x, mask) {T=float32}
    """)
    answer = session.run("y:0", {"x:0": np.ones((1000, 3), np.float32)})
    assert set(np.unique(answer)) == {0, 1}


LIMITS = """
    x = Placeholder() {{dtype={type}, shape=({shape})}}
    rows = Placeholder() {{dtype={type}, shape=({shape})}}
    inner = {inner}({first}) {{T={type}}}
    y = {outer}({second}) {{T={type}}}
"""


@pytest.mark.parametrize(("inner", "outer"), [("Maximum", "Minimum"), ("Minimum", "Maximum")])
@pytest.mark.parametrize("first", ["x, rows", "rows, x"])
@pytest.mark.parametrize("second", ["inner, rows", "rows, inner"])
def test_a_number_that_limits_itself_is_not_computed(inner, outer, first, second):
    session = session_of(
        LIMITS.format(type="int32", shape="", inner=inner, outer=outer, first=first, second=second)
    )
    for x in (-5, 3, 9):
        assert session.run("y:0", {"x:0": np.int32(x), "rows:0": np.int32(3)}) == 3
    assert ops_of(session) == []


@pytest.mark.parametrize(
    ("kind", "shape", "outer", "second"),
    [
        ("int32", "", "Maximum", "inner, rows"),
        ("int32", "?", "Minimum", "inner, rows"),
        ("float32", "", "Minimum", "inner, rows"),
    ],
)
def test_other_limits_are_computed(kind, shape, outer, second):
    """NaN is not limited, and vectors may have different sizes."""
    text = LIMITS.format(type=kind, shape=shape, inner="Maximum", outer=outer, first="x, rows", second=second)
    session = session_of(text)
    x = np.array([-5, 3, 9] if shape else 9, kind)
    rows = np.array(3 if not shape else [3], kind)
    expected = np.maximum(x, rows) if outer == "Maximum" else np.minimum(np.maximum(x, rows), rows)
    assert session.run("y:0", {"x:0": x, "rows:0": rows}).tolist() == expected.tolist()
    assert ops_of(session) == ["Maximum", outer]


SCORE = """
    x = Placeholder() {{dtype=float32, shape=(?)}}
    mean = Const() {{dtype=float32, value=float32()[2]}}
    deviation = Const() {{dtype=float32, value=float32()[{deviation}]}}
    moved = Sub(x, mean) {{T=float32}}
    nought = {like}(moved) {{T=float32}}
    each = AddV2(nought, deviation) {{T=float32}}
    divides = Cast(each) {{SrcT=float32, DstT=bool, Truncate=false}}
    divided = RealDiv(moved, deviation) {{T=float32}}
    y = SelectV2(divides, divided, moved) {{T=float32}}
"""
"""As TensorFlow Transform scales to a z-score: what does not vary is not divided."""


@pytest.mark.parametrize(
    ("like", "deviation", "divisor"),
    [("ZerosLike", 4, 4), ("ZerosLike", 0, 1), ("OnesLike", 4, 4), ("OnesLike", -1, 1)],
)
def test_what_is_the_same_for_all_elements_chooses_nothing(like, deviation, divisor):
    session = session_of(SCORE.format(like=like, deviation=deviation))
    x = np.float32([1, 8, np.nan, np.inf])
    np.testing.assert_array_equal(session.run("y:0", {"x:0": x}), (x - np.float32(2)) / np.float32(divisor))
    assert "SelectV2" not in ops_of(session)
    assert like not in ops_of(session)
