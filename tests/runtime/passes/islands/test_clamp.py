"""Bounds written as a chain of Maximum, Minimum and Relu become one node."""

import numpy as np
import pytest
from tests.runtime.cases import check, checks, graph_case
from tests.runtime.programs import islands_of

X = np.array([-np.inf, -3.5, -0.0, 0, 0.5, 5.5, 7, np.inf, np.nan], np.float32)
START = """
    input = Placeholder() {dtype=float32, shape=(?,)}
    minus_x = Neg(input) {T=float32}
    x = Neg(minus_x) {T=float32}
    zero = Const() {dtype=float32, value=float32()[0]}
    six = Const() {dtype=float32, value=float32()[6]}
"""
RELU6 = f"""{START}
    above = Relu(x) {{T=float32}}
    below = Minimum(above, six) {{T=float32}}
    y = Maximum(below, zero) {{T=float32}}
"""
BETWEEN = f"""{START}
    above = Maximum(zero, x) {{T=float32}}
    y = Minimum(six, above) {{T=float32}}
"""
CROSSED = f"""{START}
    above = Maximum(x, six) {{T=float32}}
    y = Minimum(above, zero) {{T=float32}}
"""
RELU = f"""{START}
    y = Maximum(x, zero) {{T=float32}}
    z = Neg(y) {{T=float32}}
"""
AT_MOST = f"""{START}
    y = Minimum(x, six) {{T=float32}}
    z = Neg(y) {{T=float32}}
"""
INTEGERS = BETWEEN.replace("float32", "int32")
CHAINS = {
    "relu6": (RELU6, ["Clip"]),
    "between": (BETWEEN, ["Clip"]),
    "crossed": (CROSSED, ["Clip"]),
    "relu": (RELU, ["Relu", "Neg"]),
    "at_most": (AT_MOST, ["Min", "Neg"]),
}
CASES = [
    *(graph_case(graph, fetches="y:0", input=X, name=name) for name, (graph, _) in CHAINS.items()),
    graph_case(INTEGERS, fetches="y:0", input=np.array([-5, 0, 3, 9], np.int32), name="integers"),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_answers(c, ways):
    check("clamp", c, ways)


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_of_bounds_is_one_node(name):
    graph, ops = CHAINS[name]
    (island,) = islands_of(graph, ["z:0" if "z =" in graph else "y:0"], ["input:0"])
    assert [node.op_type for node in island.graph.node] == ["Neg", "Neg", *ops]
