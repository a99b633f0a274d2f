"""Random draws in loops: made before the loop where their shape never changes, with the same numbers."""

import numpy as np
import pytest
from tests.runtime.programs import WatchedEngine, session_of

from tfport.runtime.bounds.run_scope import RunLimits
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.engines.no_engine import NoEngine

LOOP = """
    n = Placeholder() {{dtype=int32, shape=()}}
    x = Placeholder() {{dtype=float32, shape=(?, {columns})}}
    a = Placeholder() {{dtype=float32, shape=(?, {columns})}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    w = While(zero, n, a, x) {{T=[int32, int32, float32, float32], cond=@go, body=@turn}}
    y = Neg(w:3) {{T=float32}}
    def go(i: int32, n: int32, a: float32, s: float32) -> (r: bool):
      c = Less(i, n) {{T=int32}}
      return r=c
    def turn(i: int32, n: int32, a: float32, s: float32) -> (j: int32, m: int32, b: float32, z: float32):
      one = Const() {{dtype=int32, value=int32()[1]}}
      next = AddV2(i, one) {{T=int32}}
{steps}
      return j=next, m=n, b=a, z=last
"""
ADDED = """
      shape = Shape(s) {T=float32, out_type=int32}
      draw = RandomUniform(shape) {dtype=float32, T=int32, seed=5, seed2=1}
      last = AddV2(s, draw) {T=float32}
"""
WITH_ANOTHER = """
      sum = AddV2(s, a) {T=float32}
      shape = Shape(sum) {T=float32, out_type=int64}
      draw = RandomUniform(shape) {dtype=float32, T=int64, seed=5, seed2=1}
      second = RandomStandardNormal(shape) {dtype=float32, T=int64, seed=6, seed2=2}
      both = AddV2(draw, second) {T=float32}
      last = AddV2(sum, both) {T=float32}
"""
DROPOUT = """
      shape = Shape(s) {T=float32, out_type=int32}
      draw = RandomUniform(shape) {dtype=float32, T=int32, seed=5, seed2=1}
      rate = Const() {dtype=float32, value=float32()[0.25]}
      kept = GreaterEqual(draw, rate) {T=float32}
      low = Const() {dtype=float32, value=float32()[-1]}
      last = SelectV2(kept, s, low) {T=float32}
"""
FIXED = """
      shape = Const() {dtype=int32, value=int32(2,)[1, 3]}
      draw = RandomStandardNormal(shape) {dtype=float32, T=int32, seed=5, seed2=1}
      last = AddV2(s, draw) {T=float32}
"""
GROWING = """
      shape = Shape(s) {T=float32, out_type=int32}
      draw = RandomUniform(shape) {dtype=float32, T=int32, seed=5, seed2=1}
      axis = Const() {dtype=int32, value=int32()[0]}
      last = ConcatV2(s, draw, axis) {N=2, T=float32, Tidx=int32}
"""
BY_ITERATION = """
      three = Const() {dtype=int32, value=int32()[3]}
      shape = Pack(next, three) {N=2, T=int32, axis=0}
      draw = RandomUniform(shape) {dtype=float32, T=int32, seed=5, seed2=1}
      axis = Const() {dtype=int32, value=int32()[0]}
      total = Sum(draw, axis) {T=float32, Tidx=int32, keep_dims=false}
      last = AddV2(s, total) {T=float32}
"""
TWICE = """
      first = StatefulPartitionedCall(s) {Tin=[float32], Tout=[float32], f=@noisy}
      last = StatefulPartitionedCall(first) {Tin=[float32], Tout=[float32], f=@noisy}
"""
NOISY = """
    def noisy(s: float32) -> (r: float32):
      shape = Shape(s) {T=float32, out_type=int32}
      draw = RandomUniform(shape) {dtype=float32, T=int32, seed=5, seed2=1}
      sum = AddV2(s, draw) {T=float32}
      return r=sum
"""


def loop(steps, columns=3):
    return LOOP.format(steps=steps, columns=columns) + (NOISY if steps is TWICE else "")


def feeds(rows, iterations, others=None, columns=3):
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    return {"n:0": np.int32(iterations), "x:0": x, "a:0": np.ones((others or rows, columns), np.float32)}


def with_engine(text, **options):
    """A session, and a function that counts the loops in its engine."""
    engine = WatchedEngine(make_engine("onnxruntime"))
    session = session_of(text, engine=engine, **options)
    return session, lambda: [n.op_type for m in engine.compiled for n in m.graph.node].count("Loop")


@pytest.mark.parametrize(
    ("steps", "loops"),
    [
        pytest.param(ADDED, 1, id="shape of the state"),
        pytest.param(WITH_ANOTHER, 1, id="shape of a sum, two draws"),
        pytest.param(DROPOUT, 1, id="dropout"),
        pytest.param(FIXED, 1, id="fixed shape"),
        pytest.param(GROWING, 0, id="the state grows"),
        pytest.param(BY_ITERATION, 0, id="the shape is computed from the iteration"),
        pytest.param(TWICE, 1, id="a function that draws is called twice"),
    ],
)
def test_a_loop_draws_the_same_numbers_in_the_engine(steps, loops):
    text = loop(steps)
    session, count_loops = with_engine(text)
    on_host = session_of(text, engine=NoEngine())
    for rows, iterations in ((1, 1), (2, 5), (7, 3), (2, 0), (0, 2), (5, 40 if steps is not GROWING else 4)):
        values = feeds(rows, iterations)
        answer, expected = session.run("y:0", values), on_host.run("y:0", values)
        assert answer.shape == expected.shape
        assert answer.tobytes() == expected.tobytes(), (rows, iterations)
    assert count_loops() == loops


def test_draws_without_a_seed_run_in_the_engine():
    session, count_loops = with_engine(loop(ADDED).replace("seed=5, seed2=1", "seed=0, seed2=0"))
    answer = session.run("y:0", feeds(2, 4))
    assert ((-answer - feeds(2, 4)["x:0"]) < 4).all()
    assert count_loops() == 1
    assert session.run("y:0", feeds(2, 4)).tolist() != answer.tolist()


def test_a_state_that_is_broadcast_to_more_rows_is_drawn_in_each_iteration():
    text = loop(WITH_ANOTHER)
    session, count_loops = with_engine(text)
    on_host = session_of(text, engine=NoEngine())
    for rows, others in ((1, 4), (4, 1), (2, 2)):
        values = feeds(rows, 3, others)
        assert session.run("y:0", values).tobytes() == on_host.run("y:0", values).tobytes()
        assert count_loops() == (rows == others)


def test_many_draws_are_made_in_each_iteration():
    text = loop(ADDED, 4096)
    session, count_loops = with_engine(text)
    values = feeds(110, 10, columns=4096)
    answer = session.run("y:0", values)
    assert count_loops() == 0
    assert answer.tobytes() == session_of(text, engine=NoEngine()).run("y:0", values).tobytes()


def test_draws_that_exceed_the_memory_of_a_run_are_made_in_each_iteration():
    text = loop(ADDED, 1024)
    session, count_loops = with_engine(text, limits=RunLimits(max_bytes=100_000))
    values = feeds(1, 40, columns=1024)
    answer = session.run("y:0", values)
    assert count_loops() == 0
    assert answer.tobytes() == session_of(text, engine=NoEngine()).run("y:0", values).tobytes()


def test_a_loop_over_its_limit_of_iterations_fails():
    session, _ = with_engine(loop(ADDED), limits=RunLimits(max_loop_iterations=5))
    session.run("y:0", feeds(1, 5))
    with pytest.raises(Exception, match="5 iterations"):
        session.run("y:0", feeds(1, 6))
