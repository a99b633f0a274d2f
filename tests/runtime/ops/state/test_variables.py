"""Reference and resource variables, and ops that pass a value through."""

import pytest
from tests.runtime.cases import case, check, checks, f32, graph_case, i32

REF = """
    v = VariableV2() {{dtype=float32, shape=(2,), shared_name="v"}}
    start = Const() {{dtype=float32, value=float32(2,)[1, 2]}}
    set = Assign(v, start) {{T=float32}}
    by = Placeholder() {{dtype=float32, shape=(2,)}}
    changed = {op}(v, by, ^set) {{T=float32}}
    y = Identity(changed) {{T=float32}}
"""
RESOURCE = """
    v = VarHandleOp() {{dtype=float32, shape=(2,), shared_name="v"}}
    start = Const() {{dtype=float32, value=float32(2,)[1, 2]}}
    set = AssignVariableOp(v, start) {{dtype=float32}}
    by = Placeholder() {{dtype=float32, shape=(2,)}}
    changed = {op}(v, by, ^set) {{dtype=float32}}
    y = ReadVariableOp(v, ^changed) {{dtype=float32}}
"""
ASKED = """
    v = VarHandleOp() {dtype=float32, shape=(2, 3), shared_name="v"}
    before = VarIsInitializedOp(v)
    start = Const(^before) {dtype=float32, value=float32(2, 3)[1, 2, 3, 4, 5, 6]}
    set = AssignVariableOp(v, start) {dtype=float32}
    after = VarIsInitializedOp(v, ^set)
    shape = VariableShape(v, ^set) {out_type=int64}
"""
ASKED_REF = """
    v = VariableV2() {dtype=float32, shape=(2,), shared_name="v"}
    before = IsVariableInitialized(v) {dtype=float32}
    start = Const(^before) {dtype=float32, value=float32(2,)[1, 2]}
    set = Assign(v, start) {T=float32}
    after = IsVariableInitialized(v, ^set) {dtype=float32}
"""
CASES = [
    *(
        graph_case(REF.format(op=op), fetches="y:0", by=f32(3, 4), name=op)
        for op in ("AssignAdd", "AssignSub")
    ),
    *(
        graph_case(RESOURCE.format(op=op), fetches="y:0", by=f32(3, 4), name=op)
        for op in ("AssignAddVariableOp", "AssignSubVariableOp")
    ),
    graph_case(ASKED, fetches=["before:0", "after:0", "shape:0"], name="VariableShape"),
    graph_case(ASKED_REF, fetches=["before:0", "after:0"], name="IsVariableInitialized"),
    *(case(op, f32(1, -2)) for op in ("Snapshot", "StopGradient", "PreventGradient")),
    case("IdentityN", [f32(1), i32(2)]),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_variables(c, ways):
    check("variables", c, ways)
