"""Branches and loop bodies inside an island get the same passes as the island."""

from tests.runtime.programs import islands_of

BRANCH = """
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    limit = Placeholder() {dtype=float32, shape=()}
    grown = Exp(limit) {T=float32}
    shrunk = Neg(limit) {T=float32}
    less = Exp(shrunk) {T=float32}
    choice = Less(less, grown) {T=float32}
    switch = Switch(x, choice) {T=float32}
    zero = Const() {dtype=float32, value=float32()[0]}
    six = Const() {dtype=float32, value=float32()[6]}
    above = Maximum(switch:1, zero) {T=float32}
    below = Minimum(above, six) {T=float32}
    y = Merge(switch:0, below) {T=float32, N=2}
"""


def test_bounds_in_a_branch_are_one_node():
    (island,) = islands_of(BRANCH, ["y:0"], ["x:0", "limit:0"])
    (choice,) = (node for node in island.graph.node if node.op_type == "If")
    branches = {attribute.name: [node.op_type for node in attribute.g.node] for attribute in choice.attribute}
    assert branches["then_branch"][0] == "Clip"
    assert not {"Max", "Min"} & {op for ops in branches.values() for op in ops}
