"""How often the body of a loop is traced, and what is known about its variables."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.ops.control import loop_body

LOOP = """
    x = Placeholder() {{dtype=float32, shape=(?, 2)}}
    any = Const() {{dtype=int32, value=int32()[-1]}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    sum = Const() {{dtype=float32, value=float32(2)[0, 0]}}
    size = Const() {{dtype=int32, value=int32()[3]}}
    l = TensorListFromTensor(x, any) {{element_dtype=float32, shape_type=int32}}
    w = StatelessWhile({start}, sum, l, size) {{T=[int32, float32, variant, int32], cond=@go, body=@turn}}
    y = Identity(w:1) {{T=float32}}
    i = Identity(w:0) {{T=int32}}
    def go(i: int32, sum: float32, l: variant, n: int32) -> (c: bool):
      less = {condition} {{T=int32}}
      return c=less
    def turn(i: int32, sum: float32, l: variant, n: int32) -> (a: int32, b: float32, c: variant, d: int32):
      one = Const() {{dtype=int32, value=int32()[1]}}
      any = Const() {{dtype=int32, value=int32()[-1]}}
      j = {step}(i, one) {{T=int32}}
      row = TensorListGetItem(l, i, any) {{element_dtype=float32}}
      total = AddV2(sum, row) {{T=float32}}
      same = Identity(n) {{T=int32}}
      return a=j, b=total, c=l, d=same
"""
X = np.array([[1, 2], [30, 40], [500, 600]], np.float32)


@pytest.fixture
def traces(monkeypatch):
    """The names of the loops whose bodies are traced, in order."""
    names, traced = [], loop_body._trace_body

    def trace(tracer, loop, *others):
        names.append(loop.name)
        return traced(tracer, loop, *others)

    monkeypatch.setattr(loop_body, "_trace_body", trace)
    return names


def test_a_loop_that_counts_to_a_limit_is_traced_once(traces):
    session = session_of(LOOP.format(start="zero", condition="Less(i, n)", step="AddV2"))
    y, i = session.run(["y:0", "i:0"], {"x:0": X})
    assert (y.tolist(), int(i)) == ([531, 642], 3)
    assert traces == ["w"]


def test_a_loop_that_counts_without_a_limit_is_traced_once(traces):
    session = session_of(LOOP.format(start="zero", condition="NotEqual(i, n)", step="AddV2"))
    assert session.run("y:0", {"x:0": X}).tolist() == [531, 642]
    assert traces == ["w"]


def test_what_is_no_counter_is_traced_again_without_the_supposition(traces):
    """The index falls below zero, which is an error and not a row from the end."""
    session = session_of(LOOP.format(start="zero", condition="Less(i, n)", step="Sub"))
    with pytest.raises(tfport.Error, match="index -1 is out of range for a list of 3 elements"):
        session.run("y:0", {"x:0": X})
    assert traces[:2] == ["w", "w"]


def test_a_loop_that_counts_down_reads_its_rows(traces):
    session = session_of(LOOP.format(start="size2", condition="GreaterEqual(i, n)", step="Sub").replace(
        "    size = Const() {dtype=int32, value=int32()[3]}",
        "    size = Const() {dtype=int32, value=int32()[1]}\n"
        "    size2 = Const() {dtype=int32, value=int32()[2]}",
    ))  # fmt: skip
    y, i = session.run(["y:0", "i:0"], {"x:0": X})
    assert (y.tolist(), int(i)) == ([530, 640], 0)


def test_a_wrong_number_of_results_is_an_error(traces):
    text = LOOP.format(start="zero", condition="Less(i, n)", step="AddV2")
    fewer = text.replace(", d: int32):", "):").replace(", d=same", "")
    with pytest.raises(tfport.Error, match="4 variables, but its body returns 3"):
        session_of(fewer).run("y:0", {"x:0": X})


@pytest.mark.parametrize("engine", ["none", "onnxruntime"])
def test_a_body_may_only_pass_on_what_it_reads_from_outside(engine):
    """Transposed in the same order, what is from outside of the loop is not computed in it."""
    session = session_of(
        """
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        zero = Const() {dtype=int32, value=int32()[0]}
        twice = AddV2(x, x) {T=float32}
        w = StatelessWhile(zero, x, twice) {T=[int32, float32, float32], cond=@go, body=@turn}
        y = Identity(w:1) {T=float32}
        def go(i: int32, sum: float32, m: float32) -> (c: bool):
          three = Const() {dtype=int32, value=int32()[3]}
          less = Less(i, three) {T=int32}
          return c=less
        def turn(i: int32, sum: float32, m: float32) -> (a: int32, b: float32, c: float32):
          one = Const() {dtype=int32, value=int32()[1]}
          order = Const() {dtype=int32, value=int32(2)[0, 1]}
          j = AddV2(i, one) {T=int32}
          same = Transpose(m, order) {T=float32, Tperm=int32}
          total = AddV2(sum, same) {T=float32}
          return a=j, b=total, c=m
        """,
        engine=engine,
    )
    x = np.array([[1, 2], [3, 4]], np.float32)
    np.testing.assert_array_equal(session.run(["y:0"], {"x:0": x})[0], 7 * x)
