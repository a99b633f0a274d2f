"""Profiles: which islands and host steps ran, how often, and why a node runs on the host."""

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.programs import session_of

import tfport
from tfport.graph.build import graph_to_def
from tfport.runtime import plan
from tfport.runtime.profile.profile import profile_calls, profile_model
from tfport.runtime.profile.recorder import current_recorder

TO_TEXT = '{T=float32, precision=2, scientific=false, shortest=false, width=-1, fill=""}'
MATRICES = f"""
x = Placeholder() {{dtype=float32, shape=(?, 4)}}
w = Const() {{dtype=float32, value=float32(4, 4)[1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]}}
y = MatMul(x, w) {{T=float32, transpose_a=false, transpose_b=false}}
z = MatMul(y, w) {{T=float32, transpose_a=false, transpose_b=false}}
text = AsString(z) {TO_TEXT}
n = StringLength(text) {{unit="BYTE"}}
"""
ROWS = np.ones((2, 4), np.float32)


def profile(text, fetch, **options):
    feeds = {"x:0": ROWS}
    return profile_calls(lambda: session_of(text), lambda s: s.run(fetch, feeds), seconds=0, **options)


def test_islands_and_host_steps_are_counted():
    result = profile(MATRICES, "n:0")
    assert [(island.ops, island.onnx_nodes, island.calls) for island in result.islands] == [
        ({"MatMul": 2}, 2, 1)
    ]
    assert {(step.op, step.calls) for step in result.host} == {("AsString", 1), ("StringLength", 1)}
    assert result.runs == 3
    assert result.threads >= 1
    assert all(seconds >= 0 for seconds in result.parts.values())
    assert sum(result.shares.values()) == pytest.approx(1)
    assert list(result.parts) == ["islands", "host", "copies", "other"]


def test_an_op_without_lowering_is_not_reported():
    result = profile(MATRICES, "n:0")
    assert "StringLength" in {step.op for step in result.host}
    assert [node.op for node in result.host_nodes] == ["AsString"]  # ONNX has it for integers


def test_the_engine_profiles_its_ops_if_asked():
    assert profile(MATRICES, "n:0").islands[0].engine_ops == ()
    ops = profile(MATRICES, "n:0", engine_ops=True).islands[0].engine_ops
    assert sum(time.calls for time in ops if time.op in ("MatMul", "Gemm", "FusedMatMul")) == 2


def reasons(lines, **feeds):
    """The nodes on the host for `y:0`: op, reason, and the loop or branch that they are in."""
    text = f"x = Placeholder() {{dtype=float32, shape=(?, 4)}}\n{lines}"
    fed = {"x:0": ROWS, **{f"{name}:0": value for name, value in feeds.items()}}
    result = profile_calls(lambda: session_of(text), lambda s: s.run("y:0", fed), seconds=0)
    return [(node.op, node.reason, node.inside) for node in result.host_nodes]


def test_an_island_may_be_too_small(monkeypatch):
    monkeypatch.setattr(plan, "MIN_ISLAND", 3)
    assert reasons("y = AddV2(x, x) {T=float32}") == [("AddV2", "its island would be too small", "")]


def test_the_engine_may_have_no_kernel_for_a_type():
    lines = f"s = AsString(x) {TO_TEXT}\ny = Shape(s) {{T=string, out_type=int32}}"
    assert ("Shape", "ONNX Runtime has no Shape for string", "") in reasons(lines)


def test_a_value_may_have_to_be_constant():
    lines = """
    dims = Placeholder() {dtype=bool, shape=(2)}
    y = Reverse(x, dims) {T=float32}
    """
    assert reasons(lines, dims=np.array([True, False])) == [("Reverse", "dims is not constant", "")]


def test_a_branch_names_what_keeps_it_on_the_host():
    lines = f"""
    axes = Const() {{dtype=int32, value=int32(2,)[0, 1]}}
    zero = Const() {{dtype=float32, value=float32()[0]}}
    sum = Sum(x, axes) {{T=float32, Tidx=int32, keep_dims=false}}
    p = Less(sum, zero) {{T=float32}}
    s = Switch(x, p) {{T=float32}}
    text = AsString(s:1) {TO_TEXT}
    n = StringLength(text) {{unit="BYTE"}}
    m = Cast(s:0) {{SrcT=float32, DstT=int32}}
    y = Merge(m, n) {{T=int32, N=2}}
    """
    why = "its body has `text` (AsString): ONNX writes other numbers than integers in another form"
    assert ("If", why, "") in reasons(lines)


def test_a_graph_without_signatures_has_a_profile():
    model = tfport.load(graph_to_def(graph(MATRICES)).SerializeToString())
    result = profile_model(model, {"x": ROWS}, seconds=0)
    assert [dict(island.ops) for island in result.islands] == [{"MatMul": 2}]


def test_plans_made_later_are_not_recorded():
    profile(MATRICES, "n:0")
    assert current_recorder() is None


def test_without_an_engine_there_are_no_islands():
    feeds = {"x:0": ROWS}
    result = profile_calls(
        lambda: session_of(MATRICES, engine="none"), lambda s: s.run("n:0", feeds), seconds=0
    )
    assert result.islands == []
    assert result.parts["islands"] == result.parts["copies"] == 0
    assert {node.op for node in result.host_nodes} == {"MatMul", "AsString"}
