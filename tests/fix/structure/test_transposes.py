"""Pairs of transposes are removed; their other readers do not change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, rewritten_for
from tests.fix.rule_cases import rule_case
from tests.runtime.cases import numbers

import tfport
from tfport.fix.rules.math.arithmetic import as_add
from tfport.fix.structure.transposes import cancel_transposes
from tfport.graph.build import graph_to_def
from tfport.runtime.order import reached

HEAD = """
    to = Const() {dtype=int32, value=int32(4)[0, 2, 3, 1]}
    back = Const() {dtype=int32, value=int32(4)[0, 3, 1, 2]}
    two = Const() {dtype=float32, value=float32()[2.0]}
    axis = Const() {dtype=int32, value=int32()[1]}
    last = Const() {dtype=int32, value=int32()[-1]}
    per_channel = Const() {dtype=float32, value=float32(1, 1, 1, 5)[1.0, 2.0, 3.0, 4.0, 5.0]}
    vector = Const() {dtype=float32, value=float32(5,)[1.0, 2.0, 3.0, 4.0, 5.0]}
    amounts = Const() {dtype=int32, value=int32(4, 2)[0, 0, 0, 1, 2, 3, 1, 0]}
"""
T = "{T=float32, Tperm=int32}"
F = "{T=float32}"
A, R, Y = f"a = Transpose(x, to) {T}", f"r = Relu(a) {F}", f"b = Transpose(r, back) {T}\ny = Neg(b) {F}"
PROGRAMS = {  # and how many are left
    "a pair": (f"{A}\nb = Transpose(a, back) {T}\ny = Relu(b) {F}", 0),
    "an end": (f"{A}\ny = Transpose(a, back) {T}", 0),
    "another order": (f"{A}\ny = Transpose(a, to) {T}", 2),
    "through an activation": (f"{A}\n{R}\n{Y}", 0),
    "a constant number": (f"{A}\nr = Mul(a, two) {F}\n{Y}", 0),
    "a constant for each channel": (f"{A}\nr = Mul(per_channel, a) {F}\n{Y}", 0),
    "a vector of constants": (f"{A}\nr = Mul(vector, a) {F}\n{Y}", 2),
    "joined": (f"{A}\nq = Relu(a) {F}\nr = ConcatV2(q, q, last) {{N=2, T=float32, Tidx=int32}}\n{Y}", 0),
    "padded": (f"{A}\nr = Pad(a, amounts) {{T=float32, Tpaddings=int32}}\n{Y}", 0),
    "a shortcut": (
        f"{A}\n{R}\nb = Transpose(r, back) {T}\nn = Neg(b) {F}\nc = Transpose(n, to) {T}\n"
        f"s = AddV2(c, r) {F}\nd = Transpose(s, back) {T}\ny = Neg(d) {F}", 0,
    ),
    "read by something else": (
        f"{A}\n{R}\nb = Transpose(r, back) {T}\nn = Neg(b) {F}\n"
        f"z = Sum(r, axis) {{T=float32, Tidx=int32}}\ny = Sum(n, axis) {{T=float32, Tidx=int32}}", 1,
    ),
}  # fmt: skip


def answers(model, fetches, x):
    return tfport.Session(model).run(fetches, {"x:0": x})


def cancelled(model, named=()):
    cancel_transposes(model.graph, named)
    return tfport.load(graph_to_def(model.graph).SerializeToString())


def left(model):
    return sum(node.op == "Transpose" for node in model.graph)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pairs_go_and_answers_stay(name):
    text, stay = PROGRAMS[name]
    x = numbers(2, 5, 3, 4)
    c = rule_case(as_add, "\n".join(line.strip() for line in (HEAD + text).splitlines()), x=x)
    fetches = ["y:0", "z:0"] if "z = " in text else ["y:0"]
    before = answers(c.model(), fetches, x)
    after = cancelled(c.model())
    for ours, theirs in zip(answers(after, fetches, x), before, strict=True):
        assert np.array_equal(ours, theirs)
    assert left(after) == stay


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["to", "back", "relu", "mul", "add"]), min_size=1, max_size=12), st.data())
def test_any_line_of_nodes_answers_as_before(line, data):
    """Also those in the middle, which somebody may know by name."""
    text, last, forms = [line.strip() for line in HEAD.splitlines()], "x", {"x": 0}
    for place, what in enumerate(line):
        new = f"v{place}"
        if what in ("to", "back"):
            text.append(f"{new} = Transpose({last}, {what}) {T}")
            forms[new] = forms[last] + (1 if what == "to" else -1)
        elif what == "add":
            alike = sorted(v for v, turned in forms.items() if (turned - forms[last]) % 3 == 0)
            text.append(f"{new} = AddV2({last}, {data.draw(st.sampled_from(alike))}) {{T=float32}}")
        else:
            text.append(
                f"{new} = Relu({last}) {{T=float32}}"
                if what == "relu"
                else f"{new} = Mul(two, {last}) {{T=float32}}"
            )
        forms.setdefault(new, forms[last])
        last = new
    x = numbers(2, 5, 3, 4)
    named = {last, data.draw(st.sampled_from([v for v in forms if v != "x"]))}
    c = rule_case(as_add, "\n".join(text), x=x)
    fetches = [f"{name}:0" for name in sorted(named)]
    before = answers(c.model(), fetches, x)
    model = c.model()
    count = left(model)
    after = cancelled(model, named)
    assert left(after) <= count
    for ours, theirs in zip(answers(after, fetches, x), before, strict=True):
        assert np.array_equal(ours, theirs)


RESIDUAL = """
    s = Const() {dtype=float32, value=float32(4,)[1.0, 0.5, 2.0, 1.5]}
    c1 = Conv2D(x, f) {T=float32, strides=[1, 1, 1, 1], padding="SAME", data_format="NCHW"}
    n1 = FusedBatchNormV3(c1, s, s, s, s) {T=float32, U=float32, is_training=false, data_format="NCHW"}
    r1 = Relu(n1) {T=float32}
    c2 = Conv2D(r1, f) {T=float32, strides=[1, 1, 1, 1], padding="SAME", data_format="NCHW"}
    a2 = AddV2(c2, r1) {T=float32}
    p2 = MaxPool(a2) {T=float32, ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2], padding="SAME", data_format="NCHW"}
    y = Sigmoid(p2) {T=float32}
"""


def test_a_network_with_channels_first_keeps_two():
    """One in front of it and one behind it: it is computed with channels last as a whole."""
    c = chain_case(RESIDUAL, x=numbers(2, 4, 6, 6), f=numbers(3, 3, 4, 4) / 6, rtol=1e-5, atol=1e-5)
    before, rewritten = c.model(), rewritten_for(c, "tensorflow==1.4.1")
    assert left(rewritten) > 2
    after = cancelled(rewritten, ["y"])
    assert sum(node.op == "Transpose" for node in reached([after.graph["y"]])) == 2
    for ours, theirs in zip(outcome(after, c), outcome(before, c), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def outcome(model, c):
    return tfport.Session(model).run(c.fetches, c.fed)
