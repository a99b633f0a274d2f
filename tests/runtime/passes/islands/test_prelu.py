"""Slopes for negative values become one activation, however they are written."""

import numpy as np
import pytest
from tests.runtime.cases import check, checks, graph_case
from tests.runtime.programs import WatchedEngine, islands_of, session_of

from tfport.runtime.engines.engine import IslandForm
from tfport.runtime.plan import Plan

X = np.array([[-np.inf, -3.5, -1e-40], [-0.0, 0, 1e-40], [2.5, np.inf, np.nan]], np.float32)
START = """
    input = Placeholder() {dtype=float32, shape=(?, 3)}
    minus_x = Neg(input) {T=float32}
    x = Neg(minus_x) {T=float32}
    zero = Const() {dtype=float32, value=float32()[0]}
    slope = Const() {dtype=float32, value=float32(3)[0.5, -0.25, 3]}
    slopes = Const() {dtype=float32, value=float32(3)[0.5, 0.25, 1]}
    tenth = Const() {dtype=float32, value=float32()[0.1]}
"""
SELECTED = f"""{START}
    is_positive = Greater(x, zero) {{T=float32}}
    scaled = Mul(x, slope) {{T=float32}}
    y = Select(is_positive, x, scaled) {{T=float32}}
"""
NEGATIVE = f"""{START}
    is_negative = Less(x, zero) {{T=float32}}
    scaled = Mul(slopes, x) {{T=float32}}
    y = SelectV2(is_negative, scaled, x) {{T=float32}}
"""
HALVES = f"""{START}
    above = Relu(x) {{T=float32}}
    minus = Neg(x) {{T=float32}}
    below = Relu(minus) {{T=float32}}
    scaled = Mul(slope, below) {{T=float32}}
    y = Sub(above, scaled) {{T=float32}}
"""
LIMITS = f"""{START}
    above = Maximum(zero, x) {{T=float32}}
    below = Minimum(zero, x) {{T=float32}}
    scaled = Mul(slope, below) {{T=float32}}
    y = AddV2(scaled, above) {{T=float32}}
"""
LEAKY = f"""{START}
    scaled = Mul(tenth, x) {{T=float32}}
    y = Maximum(scaled, x) {{T=float32}}
"""
SCALED_HALF = f"""{START}
    half = Const() {{dtype=float32, value=float32()[-0.5]}}
    above = Relu(x) {{T=float32}}
    minus = Mul(half, x) {{T=float32}}
    below = Relu(minus) {{T=float32}}
    scaled = Mul(tenth, below) {{T=float32}}
    y = Sub(above, scaled) {{T=float32}}
"""
BROADCAST = HALVES.replace("shape=(?, 3)", "shape=(?, 1)")
NEGATIVE_AT_ZERO = NEGATIVE.replace("Mul(slopes", "Mul(slope")
ABOVE_ONE = LEAKY.replace("[0.1]", "[1.5]")
ANY_SLOPE, SMALL_SLOPES = ["Max", "Min", "Mul", "Add"], ["Mul", "Max"]
PATTERNS = {
    "selected": (SELECTED, ANY_SLOPE),
    "negative": (NEGATIVE, SMALL_SLOPES),
    "halves": (HALVES, ANY_SLOPE),
    "limits": (LIMITS, ANY_SLOPE),
    "leaky": (LEAKY, ["LeakyRelu"]),
    "scaled_half": (SCALED_HALF, ["LeakyRelu"]),
}
OTHERS = {"broadcast": BROADCAST, "negative_at_zero": NEGATIVE_AT_ZERO, "slope_above_one": ABOVE_ONE}
CASES = [
    *(graph_case(graph, fetches="y:0", input=X, name=name) for name, (graph, _) in PATTERNS.items()),
    graph_case(BROADCAST, fetches="y:0", input=X[:, :1], name="broadcast"),
    graph_case(NEGATIVE_AT_ZERO, fetches="y:0", input=X, name="negative_at_zero"),
    graph_case(ABOVE_ONE, fetches="y:0", input=X, name="slope_above_one"),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_answers(c, ways):
    check("prelu", c, ways)


@pytest.mark.parametrize("name", PATTERNS)
def test_a_slope_is_one_activation(name):
    graph, ops = PATTERNS[name]
    assert _ops_of(graph) == ["Neg", "Neg", *ops]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_something_else_at_zero_or_broadcasts_stays(name):
    assert not {"PRelu", "LeakyRelu"} & set(_ops_of(OTHERS[name]))


def _ops_of(graph):
    (island,) = islands_of(graph, ["y:0"], ["input:0"])
    return [node.op_type for node in island.graph.node]


def test_an_engine_may_take_the_island_with_prelu(monkeypatch):
    """OpenVINO computes it together with the convolution before it."""
    monkeypatch.setattr("tfport.runtime.passes.islands.fast_activations.FUSES_PRELU", True)
    session = session_of(SELECTED)
    usual, other = WatchedEngine(session.engine), WatchedEngine(session.engine)
    other.form = IslandForm(for_openvino=True)
    for engine in (usual, other):
        Plan(session.program(["y:0"], ["input:0"]), engine)
    assert "PRelu" not in {node.op_type for node in usual.compiled[0].graph.node}
    assert "PRelu" in {node.op_type for node in other.compiled[0].graph.node}
