"""Cells that a model repeats for each step of time become one node with TensorFlow's outputs."""

import numpy as np
import pytest
from tests.runtime.cases import check, checks, graph_case, numbers
from tests.runtime.programs import session_of

from tfport.runtime.plan import Plan

INPUTS, UNITS, STEPS = 3, 2, 5


def const(name, array):
    values = ", ".join(repr(float(v)) for v in np.reshape(array, -1))
    dims = "".join(f"{n}, " for n in np.shape(array)).removesuffix(" ")
    return f"{name} = Const() {{dtype=float32, value=float32({dims})[{values}]}}"


def cell(t, x, h, c, weights="w", *, gates="concat"):
    """The steps of one cell, with the states `h{t}` and `c{t}`."""
    product = [
        f"in{t} = ConcatV2({x}, {h}, axis) {{N=2, T=float32, Tidx=int32}}",
        f"sum{t} = MatMul(in{t}, {weights}) {{T=float32}}",
    ]
    if gates == "separate":
        product = [
            f"a{t} = MatMul({x}, {weights}_x) {{T=float32}}",
            f"b{t} = MatMul({h}, {weights}_h) {{T=float32}}",
            f"sum{t} = AddV2(a{t}, b{t}) {{T=float32}}",
        ]
    return [
        *product,
        f"all{t} = BiasAdd(sum{t}, bias) {{T=float32}}",
        f"s{t} = Split(axis, all{t}) {{T=float32, num_split=4}}",
        f"late{t} = AddV2(s{t}:2, one) {{T=float32}}",
        f"f{t} = Sigmoid(late{t}) {{T=float32}}",
        f"kept{t} = Mul({c}, f{t}) {{T=float32}}",
        f"i{t} = Sigmoid(s{t}:0) {{T=float32}}",
        f"j{t} = Tanh(s{t}:1) {{T=float32}}",
        f"new{t} = Mul(i{t}, j{t}) {{T=float32}}",
        f"c{t} = AddV2(kept{t}, new{t}) {{T=float32}}",
        f"shown{t} = Tanh(c{t}) {{T=float32}}",
        f"o{t} = Sigmoid(s{t}:3) {{T=float32}}",
        f"h{t} = Mul(shown{t}, o{t}) {{T=float32}}",
    ]


def unrolled(*, steps=STEPS, gates="concat", x="x{t}", weights="w", layers=1):
    """A graph of cells; `x` and `weights` are names of what each reads, by step of time."""
    w = numbers(INPUTS + UNITS, 4 * UNITS, seed=5)
    lines = [
        *(f"x{t} = Placeholder() {{dtype=float32, shape=(?, {INPUTS})}}" for t in range(steps)),
        f"h = Placeholder() {{dtype=float32, shape=(?, {UNITS})}}",
        f"c = Placeholder() {{dtype=float32, shape=(?, {UNITS})}}",
        "axis = Const() {dtype=int32, value=int32()[1]}",
        const("one", 1.0), const("w", w), const("w_x", w[:INPUTS]), const("w_h", w[INPUTS:]),
        const("other", w * 2), const("bias", numbers(4 * UNITS, seed=6)),
        const("wide", numbers(UNITS, INPUTS, seed=7)), const("next", numbers(2 * UNITS, 4 * UNITS, seed=8)),
    ]  # fmt: skip
    for t in range(steps):
        before = ("h", "c") if t == 0 else (f"h{t - 1}", f"c{t - 1}")
        if t and "back" in x:
            lines.append(f"back{t} = MatMul(h{t - 1}, wide) {{T=float32}}")
        read = x.format(t=t) if t else "x0"
        lines += cell(t, read, *before, "other" if weights != "w" and t == 3 else "w", gates=gates)
    if layers == 2:
        for t in range(steps):
            before = ("h", "c") if t == 0 else (f"h{t + 9}", f"c{t + 9}")
            lines += cell(t + 10, f"h{t}", *before, "next")
    return "".join(f"    {line}\n" for line in lines)


FEEDS = {f"x{t}": numbers(2, INPUTS, seed=t) for t in range(STEPS)} | {
    "h": numbers(2, UNITS, seed=11), "c": numbers(2, UNITS, seed=12)
}  # fmt: skip
ENDS = ["h0:0", "h2:0", "h4:0", "c4:0"]


def case_of(text, fetches=ENDS, name="unrolled", **feeds):
    return graph_case(text, fetches=fetches, name=name, **(FEEDS | feeds))


CASES = [
    case_of(unrolled()),
    case_of(unrolled(gates="separate"), name="separate"),
    case_of(unrolled(layers=2), ["h14:0", "c14:0", "h12:0", "h1:0"], "stacked"),
    case_of(unrolled(x="back{t}"), name="back"),
    case_of(unrolled(weights="mixed"), name="mixed"),
    case_of(unrolled(), [*ENDS, "c1:0"], "inner"),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_unrolled(c, ways):
    check("unrolled_rnn", c, ways)


def layers_of(text, fetches=ENDS):
    session = session_of(text)
    feeds = [f"{name}:0" for name in FEEDS if f" {name} = " in text]
    return Plan(session.program(fetches, feeds), session.engine).ops.count("LSTM")


@pytest.mark.parametrize("gates", ["concat", "separate"])
def test_cells_become_a_layer(gates):
    assert layers_of(unrolled(gates=gates)) == 1


def test_cells_over_cells_become_two_layers():
    assert layers_of(unrolled(layers=2), ["h14:0", "h1:0"]) == 2


def test_a_cell_that_reads_what_the_one_before_showed_stays():
    assert layers_of(unrolled(x="back{t}")) == 0


def test_cells_with_other_weights_stay():
    assert layers_of(unrolled(weights="mixed")) == 0


def test_cells_whose_inner_states_are_read_stay():
    assert layers_of(unrolled(), [*ENDS, "c1:0"]) == 0


def test_few_cells_stay():
    assert layers_of(unrolled(steps=3), ["h2:0"]) == 0
