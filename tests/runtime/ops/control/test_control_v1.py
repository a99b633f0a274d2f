"""TF1 control flow: branches and loops made of Switch, Merge, Enter and Exit nodes."""

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.cases import boolean, check, checks, f32, graph_case, numbers, scalar
from tests.runtime.programs import session_of

import tfport
from tfport.errors import Error
from tfport.graph.build import graph_to_def

COND = """
    p = Placeholder() {dtype=bool, shape=()}
    x = Placeholder() {dtype=float32, shape=(?)}
    pred = Identity(p) {T=bool}
    pivot = Switch(p, p) {T=bool}
    yes = Identity(pivot:1) {T=bool}
    no = Identity(pivot) {T=bool}
    sx = Switch(x, pred) {T=float32}
    two = Const(^yes) {dtype=float32, value=float32()[2.0]}
    doubled = Mul(sx:1, two) {T=float32}
    negated = Neg(sx) {T=float32}
    hundred = Const(^no) {dtype=float32, value=float32()[100.0]}
    m = Merge(negated, doubled) {N=2, T=float32}
    n = Merge(hundred, two) {N=2, T=float32}
"""
IN_A_ROW = (
    COND
    + """
    sm = Switch(m, pred) {T=float32}
    one = Const(^yes) {dtype=float32, value=float32()[1.0]}
    more = AddV2(sm:1, one) {T=float32}
    q = Merge(sm, more) {N=2, T=float32}
"""
)
NESTED = """
    p = Placeholder() {dtype=bool, shape=()}
    q = Placeholder() {dtype=bool, shape=()}
    x = Placeholder() {dtype=float32, shape=(?)}
    sx = Switch(x, p) {T=float32}
    sq = Switch(q, p) {T=bool}
    inner = Switch(sx:1, sq:1) {T=float32}
    a = Neg(inner) {T=float32}
    b = Square(inner:1) {T=float32}
    im = Merge(a, b) {N=2, T=float32}
    c = Exp(sx) {T=float32}
    m = Merge(c, im) {N=2, T=float32}
"""
FRAME = 'frame_name="loop", is_constant'
LOOP = f"""
    n = Placeholder() {{dtype=int32, shape=()}}
    x = Placeholder() {{dtype=float32, shape=(?)}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    ei = Enter(zero) {{T=int32, {FRAME}=false}}
    ex = Enter(x) {{T=float32, {FRAME}=false}}
    en = Enter(n) {{T=int32, {FRAME}=true}}
    ew = Enter(x) {{T=float32, {FRAME}=true}}
    mi = Merge(ei, ni) {{N=2, T=int32}}
    mx = Merge(ex, nx) {{N=2, T=float32}}
    less = Less(mi, en) {{T=int32}}
    go = LoopCond(less)
    si = Switch(mi, go) {{T=int32}}
    sx = Switch(mx, go) {{T=float32}}
    i = Identity(si:1) {{T=int32}}
    xx = Identity(sx:1) {{T=float32}}
    one = Const(^i) {{dtype=int32, value=int32()[1]}}
    i1 = AddV2(i, one) {{T=int32}}
    x1 = BODY
    ni = NextIteration(i1) {{T=int32}}
    nx = NextIteration(x1) {{T=float32}}
    xi = Exit(si) {{T=int32}}
    out = Exit(sx) {{T=float32}}
    twice = AddV2(out, out) {{T=float32}}
"""
ADDS = LOOP.replace("BODY", "AddV2(xx, ew) {T=float32}")
CHOOSES = (
    LOOP.replace("BODY", "Merge(odd, even) {N=2, T=float32}")
    + """
    two = Const(^i) {dtype=int32, value=int32()[2]}
    none = Const(^i) {dtype=int32, value=int32()[0]}
    rest = FloorMod(i, two) {T=int32}
    is_even = Equal(rest, none) {T=int32}
    sb = Switch(xx, is_even) {T=float32}
    odd = Neg(sb) {T=float32}
    even = AddV2(sb:1, sb:1) {T=float32}
"""
)
INSIDE = (
    LOOP.replace("BODY", "Identity(out2) {T=float32}")
    + """
    nothing = Const(^i) {dtype=int32, value=int32()[0]}
    most = Const(^i) {dtype=int32, value=int32()[3]}
    ej = Enter(nothing) {T=int32, frame_name="inner", is_constant=false}
    ey = Enter(xx) {T=float32, frame_name="inner", is_constant=false}
    em = Enter(most) {T=int32, frame_name="inner", is_constant=true}
    eo = Enter(one) {T=int32, frame_name="inner", is_constant=true}
    mj = Merge(ej, nj) {N=2, T=int32}
    my = Merge(ey, ny) {N=2, T=float32}
    lessj = Less(mj, em) {T=int32}
    goj = LoopCond(lessj)
    sj = Switch(mj, goj) {T=int32}
    sy = Switch(my, goj) {T=float32}
    j1 = AddV2(sj:1, eo) {T=int32}
    y1 = Square(sy:1) {T=float32}
    nj = NextIteration(j1) {T=int32}
    ny = NextIteration(y1) {T=float32}
    out2 = Exit(sy) {T=float32}
"""
)


def cond(text, fetches, **feeds):
    return graph_case(text, fetches=fetches, name="cond", x=numbers(3), **feeds)


CASES = [
    *(cond(COND, ["m:0", "m:1", "n:0"], p=boolean(p)[0]) for p in (True, False)),
    *(cond(IN_A_ROW, ["q:0", "q:1"], p=boolean(p)[0]) for p in (True, False)),
    *(cond(NESTED, ["m:0"], p=boolean(p)[0], q=boolean(q)[0]) for p in (True, False) for q in (True, False)),
    *(
        graph_case(ADDS, fetches=["xi:0", "twice:0"], name="loop", n=scalar(n), x=f32(1, 2))
        for n in (0, 1, 4)
    ),
    graph_case(INSIDE, fetches=["xi:0", "out:0"], name="inner", n=scalar(2), x=f32(0.9, 1.1)),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_control_v1(c, ways):
    check("control_v1", c, ways)


def session(text):
    return tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))


def test_merges_of_one_condition_are_one_branch():
    program = session(COND).program(["m:0", "n:0"], ["p:0", "x:0"])
    assert [step.op for step in program.steps] == ["If"]
    assert program.steps[0].lowered


def test_loops_are_lowered_to_onnx():
    for text in (ADDS, CHOOSES, INSIDE):
        program = session(text).program(["out:0"], ["n:0", "x:0"])
        assert all(step.lowered for step in program.steps)


def test_a_branch_in_a_loop_is_selected_in_each_iteration():
    # not among the recorded cases: TensorFlow's graph optimizer breaks this model
    turns, out = session(CHOOSES).run(["xi:0", "out:0"], {"n:0": scalar(5), "x:0": f32(1, 2)})
    assert (turns, out.tolist()) == (5, [8, 16])


def test_side_effects_of_a_branch_run_once():
    text = """
        p = Placeholder() {dtype=bool, shape=()}
        v = VarHandleOp() {dtype=float32, shape=(), shared_name="v"}
        zero = Const() {dtype=float32, value=float32()[0.0]}
        init = AssignVariableOp(v, zero) {dtype=float32}
        sv = Switch(v, p) {T=resource}
        yes = Identity(sv:1) {T=resource}
        one = Const(^yes) {dtype=float32, value=float32()[1.0]}
        add = AssignAddVariableOp(yes, one) {dtype=float32}
        r = ReadVariableOp(yes, ^add) {dtype=float32}
        s = ReadVariableOp(sv) {dtype=float32}
        m = Merge(s, r) {N=2, T=float32}
        n = Merge(s, one) {N=2, T=float32}
    """
    counting = session(text)
    counting.run("init")
    answers = [float(counting.run(["m:0", "n:0"], {"p:0": p})[0]) for p in (True, True, False, False)]
    assert answers == [1, 2, 2, 2]


def test_tf1_variables_pass_ref_switch_and_ref_select():
    text = """
        i = Placeholder() {dtype=int32, shape=()}
        p = Placeholder() {dtype=bool, shape=()}
        a = VariableV2() {dtype=float32, shape=()}
        b = VariableV2() {dtype=float32, shape=()}
        one = Const() {dtype=float32, value=float32()[1.0]}
        two = Const() {dtype=float32, value=float32()[2.0]}
        ia = Assign(a, one) {T=float32}
        ib = Assign(b, two) {T=float32}
        init = NoOp(^ia, ^ib)
        v = RefSelect(i, a, b) {T=float32, N=2}
        y = Identity(v) {T=float32}
        sw = RefSwitch(a, p) {T=float32}
        left = Neg(sw) {T=float32}
        right = Square(sw:1) {T=float32}
        m = Merge(left, right) {N=2, T=float32}
    """
    opened = session(text)
    opened.run("init")
    assert [float(opened.run("y:0", {"i:0": scalar(i)})) for i in (0, 1)] == [1, 2]
    assert [float(opened.run("m:0", {"p:0": p})) for p in (True, False)] == [1, -1]


@pytest.mark.parametrize("shape", ["", ", shape=(1)", ", shape=()"])
def test_the_predicate_of_a_switch_is_a_scalar(shape):
    session = session_of(f"""
        p = Placeholder() {{dtype=bool{shape}}}
        x = Placeholder() {{dtype=float32}}
        s = Switch(x, p) {{T=float32}}
        n = Neg(s:0) {{T=float32}}
        y = Merge(n, s:1) {{N=2, T=float32}}
    """)
    feeds = {"x:0": np.float32(3), "p:0": np.array([False])}
    with pytest.raises(Error, match=r"scalar|shape"):
        session.run(["y:0"], feeds)
    if "(1)" not in shape:
        assert session.run(["y:0"], {**feeds, "p:0": np.array(False)})[0] == -3
