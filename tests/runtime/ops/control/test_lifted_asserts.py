"""Assertions inside loops and branches do not keep these out of the engine, and fail with their message."""

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.cases import check, checks, f32, graph_case, scalar

import tfport
from tfport.graph.build import graph_to_def

SMALL = """
      limit = Const() {dtype=float32, value=float32()[100.0]}
      zero = Const() {dtype=int32, value=int32()[0]}
      text = Const() {dtype=string, value=string()["too large"]}
      below = Less(s, limit) {T=float32}
      all = All(below, zero) {Tidx=int32}
      checked = Assert(all, text, s) {T=[string, float32], summarize=3}
"""
LOOP = f"""
    n = Placeholder() {{dtype=int32, shape=()}}
    x = Placeholder() {{dtype=float32, shape=(?)}}
    start = Const() {{dtype=int32, value=int32()[0]}}
    w = While(start, n, x) {{T=[int32, int32, float32], cond=@go, body=@turn}}
    y = Neg(w:2) {{T=float32}}
    def go(i: int32, n: int32, s: float32) -> (c: bool):
      less = Less(i, n) {{T=int32}}
      return c=less
    def turn(i: int32, n: int32, s: float32) -> (r0: int32, r1: int32, r2: float32):
      one = Const() {{dtype=int32, value=int32()[1]}}
{SMALL}
      j = AddV2(i, one) {{T=int32}}
      twice = AddV2(s, s, ^checked) {{T=float32}}
      return r0=j, r1=n, r2=twice
"""
UNTIL_LARGE = LOOP.replace("less = Less(i, n) {T=int32}", "less = NotEqual(i, n) {T=int32}")
BRANCH = f"""
    p = Placeholder() {{dtype=bool, shape=()}}
    x = Placeholder() {{dtype=float32, shape=(?)}}
    b = If(p, x) {{Tcond=bool, Tin=[float32], Tout=[float32], then_branch=@yes, else_branch=@no}}
    y = Neg(b) {{T=float32}}
    def yes(s: float32) -> (r: float32):
{SMALL}
      twice = AddV2(s, s, ^checked) {{T=float32}}
      return r=twice
    def no(s: float32) -> (r: float32):
      root = Sqrt(s) {{T=float32}}
      return r=root
"""
ASSERTED = "Assert(all, text, s) {T=[string, float32], summarize=3}"
GUARDED = (
    "If(all, all, s) {Tcond=bool, Tin=[bool, float32], Tout=[bool], then_branch=@fine, else_branch=@bad}"
)
GUARD = (
    LOOP.replace(ASSERTED, GUARDED)
    + """
    def fine(ok: bool, s: float32) -> (r: bool):
      same = Identity(ok) {T=bool}
      return r=same
    def bad(ok: bool, s: float32) -> (r: bool):
      text = Const() {dtype=string, value=string()["too large"]}
      checked = Assert(ok, text, s) {T=[string, float32], summarize=3}
      same = Identity(ok, ^checked) {T=bool}
      return r=same
"""
)
FEW, MANY = scalar(3, np.int32), scalar(30, np.int32)
CASES = [
    graph_case(text, fetches="y:0", name=name, x=x, fails=fails, **{fed: decides})
    for name, text, fed, passes, rejects in (
        ("loop", LOOP, "n", FEW, MANY),
        ("until", UNTIL_LARGE, "n", FEW, MANY),
        ("guard", GUARD, "n", FEW, MANY),
        ("branch", BRANCH, "p", scalar(False, bool), scalar(True, bool)),
    )
    for x, decides, fails in (
        (f32(1, 2), passes, False),
        (f32(), passes, False),
        (f32(1, 200), rejects, True),
    )
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_lifted_asserts(c, ways):
    check("lifted_asserts", c, ways)


def session_of(text):
    return tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))


@pytest.mark.parametrize(
    ("text", "feeds"), [(LOOP, "nx"), (UNTIL_LARGE, "nx"), (GUARD, "nx"), (BRANCH, "px")]
)
def test_only_the_final_assertion_runs_on_the_host(text, feeds):
    steps = session_of(text).program(["y:0"], [f"{name}:0" for name in feeds]).steps
    assert [step.op for step in steps if step.lowered is None] == ["Assert"]


def test_the_message_is_that_of_the_assertion():
    session = session_of(LOOP)
    with pytest.raises(tfport.Error, match=r"assertion failed: \[too large\] \[128 16\]"):
        session.run("y:0", {"n:0": np.int32(30), "x:0": np.array([8, 1], np.float32)})
    assert session.run("y:0", {"n:0": np.int32(1), "x:0": np.array([8, 1], np.float32)}).tolist() == [-16, -2]
