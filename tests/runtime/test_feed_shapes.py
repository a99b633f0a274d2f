"""Fed values that do not have the declared shape: an error, or the ops decide."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runtime.feed_shapes import FETCHES, GRAPH, SHAPES, value
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.plan_cache import MAX_SPECIAL_PLANS

LOOP = """
    x = Placeholder() {dtype=float32, shape=(?, 1)}
    zero = Const() {dtype=int32, value=int32()[0]}
    i = Enter(zero) {T=int32, frame_name="f"}
    v = Enter(x) {T=float32, frame_name="f", _output_shapes=[(?, 1)]}
    mi = Merge(i, ni) {N=2, T=int32}
    mv = Merge(v, nv) {N=2, T=float32, _output_shapes=[(?, 1), ()]}
    limit = Const(^mi) {dtype=int32, value=int32()[3]}
    more = Less(mi, limit) {T=int32}
    go = LoopCond(more)
    si = Switch(mi, go) {T=int32}
    sv = Switch(mv, go) {T=float32}
    one = Const(^si:1) {dtype=int32, value=int32()[1]}
    step = AddV2(si:1, one) {T=int32}
    twice = AddV2(sv:1, sv:1) {T=float32, _output_shapes=[(?, 1)]}
    ni = NextIteration(step) {T=int32}
    nv = NextIteration(twice) {T=float32}
    y = Exit(sv) {T=float32, _output_shapes=[(?, 1)]}
"""


def answer(session: tfport.Session, fetch: str, array: np.ndarray) -> np.ndarray | None:
    try:
        return session.run(f"{fetch}:0", {"x:0": array}, any_shape=True)
    except tfport.RunFailed:
        return None


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("fetch", FETCHES)
def test_the_ops_decide_about_any_shape(fetch, shape):
    declared = GRAPH.replace("shape=(?, 1)}", f"shape=({', '.join('?' * len(shape))})}}", 1)
    expected = answer(session_of(declared, engine="none"), fetch, value(shape))
    actual = answer(session_of(GRAPH), fetch, value(shape))
    if expected is None:
        assert actual is None
    else:
        np.testing.assert_array_equal(actual, expected, strict=True)


@pytest.mark.parametrize("shape", [(3,), (2, 2), (), (2, 1, 3), (3, 1)], ids=str)
def test_recorded_ranks_do_not_hold_for_other_shapes(shape):
    session = session_of(LOOP)
    np.testing.assert_array_equal(answer(session, "y", value(shape)), value(shape) * 8, strict=True)


def test_without_any_shape_another_shape_is_an_error():
    with pytest.raises(tfport.RunFailed, match=r"`x:0` must have shape \(\?, 1\), got \(3,\)"):
        session_of(GRAPH).run("line:0", {"x:0": value((3,))})


def test_plans_for_other_ranks_are_bounded():
    session = session_of(GRAPH)
    session.run("line:0", {"x:0": value((3, 1))}, any_shape=True)
    for rank in range(32):
        shape = (1,) * rank if rank != 2 else (1, 2)
        assert session.run("line:0", {"x:0": value(shape)}, any_shape=True).shape == shape
    assert len(session.plans) == MAX_SPECIAL_PLANS + 1
