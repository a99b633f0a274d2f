"""Limits on the memory and the loop iterations of a run."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from tests.hostile_models import DOUBLING, ENDLESS
from tests.runtime.programs import session_of

from tfport.errors import Error, ResourceExhausted
from tfport.runtime.bounds.run_scope import RunLimits

X = np.float32([1])
MOST = 2**26
LIMITED = RunLimits(max_bytes=MOST)


@pytest.mark.parametrize("form", DOUBLING)
def test_a_tensor_that_doubles_reaches_the_limit(form):
    session = session_of(DOUBLING[form], limits=LIMITED)
    with pytest.raises(ResourceExhausted, match=r"^`z`: .* bytes"):
        session.run("y:0", {"x:0": X})


@pytest.mark.parametrize("form", [form for form in DOUBLING if form.endswith("host")])
def test_the_host_allocates_nothing_beyond_the_limit_and_frees_what_it_used(form):
    session = session_of(DOUBLING[form], limits=LIMITED, engine="none")
    with pytest.raises(ResourceExhausted):
        session.run("y:0", {"x:0": X})
    tracemalloc.start()
    try:
        with pytest.raises(ResourceExhausted):
            session.run("y:0", {"x:0": X})
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= MOST
    assert now < 2**20


AT_ONCE = {  # an op whose output is huge, from small inputs
    "Fill": "y = Fill(n, f) {T=float32, index_type=int32}",
    "BroadcastTo": "y = BroadcastTo(f, n) {T=float32, Tidx=int32}",
    "Tile": "y = Tile(row, n) {T=float32, Tmultiples=int32}",
    "RandomUniform": "y = RandomUniform(n) {T=int32, dtype=float32, seed=1, seed2=1}",
    "Pad": """
        pair = Pack(zero, size) {N=2, T=int32, axis=0}
        pads = ExpandDims(pair, zero) {T=int32, Tdim=int32}
        y = Pad(row, pads) {T=float32, Tpaddings=int32}""",
    "Range": "y = Range(zero, size, one) {Tidx=int32}",
    "OneHot": "y = OneHot(zero, size, f, f) {T=float32, TI=int32, axis=-1}",
}
HUGE = """
    n = Placeholder() {dtype=int32, shape=(1)}
    f = Placeholder() {dtype=float32, shape=()}
    zero = Const() {dtype=int32, value=int32()[0]}
    one = Const() {dtype=int32, value=int32()[1]}
    row = ExpandDims(f, zero) {T=float32, Tdim=int32}
    shape = Const() {dtype=int32, value=int32(0)[]}
    size = Reshape(n, shape) {T=int32, Tshape=int32}
"""


@pytest.mark.parametrize("op", AT_ONCE)
def test_a_huge_output_is_refused_before_it_is_allocated(op):
    session = session_of(HUGE + AT_ONCE[op], limits=LIMITED, engine="none")
    feeds = {"n:0": np.int32([2_000_000_000]), "f:0": np.float32(1)}
    tracemalloc.start()
    try:
        with pytest.raises(ResourceExhausted, match="`y`"):
            session.run("y:0", feeds)
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()
    assert session.run("y:0", {**feeds, "n:0": np.int32([3])}).size in (3, 4)


def test_an_outer_product_by_broadcasting_is_refused_before_it_is_allocated():
    session = session_of(
        """
        x = Placeholder() {dtype=float32, shape=(?)}
        one = Const() {dtype=int32, value=int32()[1]}
        column = ExpandDims(x, one) {T=float32, Tdim=int32}
        y = Mul(column, x) {T=float32}
        """,
        limits=LIMITED,
        engine="none",
    )
    with pytest.raises(ResourceExhausted, match="`y`"):
        session.run("y:0", {"x:0": np.zeros(100_000, np.float32)})
    assert session.run("y:0", {"x:0": X}).tolist() == [[1]]


def test_views_do_not_count():
    text = """
        a = Placeholder() {dtype=float32, shape=(?)}
        flat = Const() {dtype=int32, value=int32(2)[1, -1]}
    """
    for before, name in pairwise("abcdefghijkl"):
        text += f"    {name} = Reshape({before}, flat) {{T=float32, Tshape=int32}}\n"
    session = session_of(text, limits=LIMITED, engine="none")
    assert session.run("l:0", {"a:0": np.zeros(MOST // 8, np.float32)}).shape == (1, MOST // 8)


APPENDING = """
    x = Placeholder() {dtype=float32, shape=(?)}
    zero = Const() {dtype=int32, value=int32()[0]}
    any = Const() {dtype=int32, value=int32()[-1]}
    list = EmptyTensorList(any, any) {element_dtype=float32, shape_type=int32}
    w = While(zero, x, list) {T=[int32, float32, variant], cond=@go, body=@turn, output_shapes=[(), (?), ()]}
    y = TensorListLength(w:2)
    def go(i: int32, x: float32, l: variant) -> (r: bool):
      less = Const() {dtype=int32, value=int32()[-1]}
      c = GreaterEqual(i, less) {T=int32}
      return r=c
    def turn(i: int32, x: float32, l: variant) -> (i1: int32, x1: float32, l1: variant):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      more = Neg(x) {T=float32}
      k = TensorListPushBack(l, more) {element_dtype=float32}
      return i1=j, x1=x, l1=k
"""


def test_a_list_that_grows_reaches_the_limit():
    session = session_of(APPENDING, limits=LIMITED, engine="none")
    with pytest.raises(ResourceExhausted, match="the limit is 67,108,864 bytes per run"):
        session.run("y:0", {"x:0": np.zeros(2**18, np.float32)})


@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
@pytest.mark.parametrize("form", ENDLESS)
def test_a_loop_may_have_only_so_many_iterations(form, engine):
    session = session_of(ENDLESS[form], limits=RunLimits(max_loop_iterations=100), engine=engine)
    name = "loop" if form.startswith("TF1") else "w"
    message = f"^`{name}`: the loop does not end within 100 iterations, the limit per run$"
    with pytest.raises(ResourceExhausted, match=message):
        session.run("y:0", {"x:0": X})


COUNTING = """
    n = Placeholder() {dtype=int32, shape=()}
    zero = Const() {dtype=int32, value=int32()[0]}
    w = While(zero, n) {T=[int32, int32], cond=@go, body=@turn, output_shapes=[(), ()]}
    def go(i: int32, n: int32) -> (r: bool):
      c = Less(i, n) {T=int32}
      return r=c
    def turn(i: int32, n: int32) -> (i1: int32, n1: int32):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      return i1=j, n1=n
"""


@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
def test_a_loop_of_exactly_so_many_iterations_ends(engine):
    text = COUNTING.replace("Less(", "NotEqual(")
    session = session_of(text, limits=RunLimits(max_loop_iterations=100), engine=engine)
    assert session.run("w:0", {"n:0": np.int32(100)}) == 100
    with pytest.raises(ResourceExhausted):
        session.run("w:0", {"n:0": np.int32(101)})


def test_limits_must_not_be_negative():
    with pytest.raises(Error, match="max_bytes: expected 0"):
        RunLimits(max_bytes=-1)
