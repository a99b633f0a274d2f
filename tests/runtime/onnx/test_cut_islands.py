"""Islands that are too large are cut where few values cross."""

import functools

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

from tfport.runtime import plan
from tfport.runtime.onnx.cut_islands import LARGEST_ISLAND, cut_island

# two branches of four nodes, a neck, and two branches again
TWICE = """
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    a1 = Tanh(x) {T=float32}
    b1 = Exp(x) {T=float32}
    a2 = Sqrt(a1) {T=float32}
    b2 = Neg(b1) {T=float32}
    neck = Add(a2, b2) {T=float32}
    c1 = Tanh(neck) {T=float32}
    d1 = Exp(neck) {T=float32}
    c2 = Sqrt(c1) {T=float32}
    d2 = Neg(d1) {T=float32}
    y = Add(c2, d2) {T=float32}
"""


@pytest.fixture
def at_most_eight(monkeypatch):
    monkeypatch.setattr(plan, "cut_island", functools.partial(cut_island, largest=8))


def island_outputs(fetches):
    return [[info.name for info in island.graph.output] for island in islands_of(TWICE, fetches, ["x:0"])]


def test_a_large_island_is_cut_where_one_value_crosses(at_most_eight):
    first, last = island_outputs(["y:0"])
    assert [name.partition("#")[0] for name in (*first, *last)] == ["neck", "y"]


def test_values_of_earlier_parts_can_be_fetched(at_most_eight):
    x = np.array([[0.25, 0.5, 1.0]], np.float32)
    fetches = ["y:0", "b2:0", "d1:0"]
    cut = session_of(TWICE).run(fetches, {"x:0": x})
    assert len(islands_of(TWICE, fetches, ["x:0"])) == 2
    neck = np.sqrt(np.tanh(x)) - np.exp(x)
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(np.tanh(neck)) - np.exp(neck)
    for answer, value in zip(cut, (expected, -np.exp(x), np.exp(neck)), strict=True):
        np.testing.assert_allclose(answer, value, rtol=1e-5)


def test_a_usual_island_stays_whole():
    assert len(islands_of(TWICE, ["y:0"], ["x:0"])) == 1


def test_a_step_is_never_cut():
    program = session_of(TWICE).program(["y:0"], ["x:0"])
    parts = cut_island(program.steps, functools.partial(plan.reads_of, lowered=True), program.results, 1)
    assert [step for part in parts for step in part] == program.steps
    assert len(parts) == len(program.steps)


def test_parts_have_at_most_the_largest_size():
    lines = [f"n{i} = Tanh({f'n{i - 1}' if i else 'x'}) {{T=float32}}" for i in range(LARGEST_ISLAND + 10)]
    text = "\n".join(["x = Placeholder() {dtype=float32, shape=(?, 3)}", *lines])
    session = session_of(text)
    program = session.program([f"n{LARGEST_ISLAND + 9}:0"], ["x:0"])
    stages = plan.cut_into_stages(program, session.engine)
    sizes = [sum(len(step.lowered) for step in stage.steps) for stage in stages]
    assert sizes == [LARGEST_ISLAND, 10]


def test_unknown_sizes_of_an_island_have_names_of_their_own():
    two = "x = Placeholder() {dtype=float32, shape=(?, 3)}\nz = Placeholder() {dtype=float32, shape=(?, ?)}\n"
    text = two + "s = MatMul(x, z) {T=float32, transpose_a=false, transpose_b=false}\ny = Tanh(s) {T=float32}"
    (island,) = islands_of(text, ["y:0"], ["x:0", "z:0"])
    dims = [dim for info in island.graph.input for dim in info.type.tensor_type.shape.dim]
    named = [dim.dim_param for dim in dims if dim.dim_param]
    assert len(named) == len(set(named)) == 3
    assert [dim.dim_value for dim in dims if not dim.dim_param] == [3]
