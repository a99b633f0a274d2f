"""Chains of rules: the cheapest complete one is applied; an incomplete one changes nothing."""

import pytest
from tests.fix.rule_cases import PRODUCER
from tests.recorded_models import graph

from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.engine import RuleEngine
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rule import EXACT, LOSSY, ROUNDING, Rulebook, refuse, rule
from tfport.graph.build import graph_to_def
from tfport.graph.text import graph_text

OLD = resolve_targets("tensorflow==1.4.1")[0]
X = "x = Placeholder() {dtype=float32, shape=(2,)}\n"


@rule("LeakyRelu", keeps=EXACT)
def by_add_v2(op, n):
    """Something that 1.4.1 does not take either."""
    return op.AddV2(*n.inputs, *n.inputs)


@rule("AddV2", keeps=EXACT)
def by_add(op, n):
    """What it does take."""
    return op.Add(*n.inputs)


@rule("AddV2", keeps=EXACT)
def by_many(op, n):
    """The same with more nodes."""
    return op.Identity(op.Identity(op.Add(*n.inputs)))


@rule("LeakyRelu", keeps=ROUNDING)
def by_relu(op, n):
    """Cheaper in nodes, but it rounds."""
    return op.Relu(*n.inputs)


@rule("LeakyRelu", keeps=LOSSY)
def by_nothing(op, n):
    """Loses the slope."""
    return op.Identity(*n.inputs)


@rule("LeakyRelu", keeps=EXACT)
def never(op, n):
    """Does not apply."""
    op.Neg(*n.inputs)
    return refuse("it is never right")


@rule("AddV2", keeps=EXACT)
def back_again(op, n):
    """Leads back to where it came from."""
    return op.LeakyRelu(n.inputs[0])


def rewrite(text, *rules, named=(), allow_lossy=False):
    made = graph(X + text)
    journal = Journal()
    engine = RuleEngine(
        NodeChecker(OLD, PRODUCER), Rulebook(rules), Facts(), journal, allow_lossy=allow_lossy
    )
    return made, journal, engine.rewrite(made, named)


def ops(made):
    return {node.name: node.op for node in made}


def test_a_chain_goes_on_until_the_target_takes_all():
    made, journal, stuck = rewrite("y = LeakyRelu(x) {T=float32}", by_add_v2, by_add)
    assert not stuck
    assert ops(made) == {"x": "Placeholder", "y": "Add"}
    assert [(e.name, e.count, dict(e.ops)) for e in journal.entries] == [
        ("by_add_v2", 1, {"LeakyRelu": 1}),
        ("by_add", 1, {"AddV2": 1}),
    ]


@pytest.mark.parametrize("order", [(by_add, by_many), (by_many, by_add)])
def test_the_fewest_nodes_are_taken_whatever_the_order(order):
    made, journal, _ = rewrite("y = AddV2(x, x) {T=float32}", *order)
    assert len(made) == 2
    assert [entry.name for entry in journal.entries] == ["by_add"]


def test_a_node_that_does_not_state_its_type_is_refused():
    _, _, (stuck,) = rewrite("y = AddV2(x, x) {}", by_add)
    assert [why for _, why in stuck.refusals] == ["`y` does not state T"]


def test_what_is_exact_comes_before_what_rounds():
    _, journal, _ = rewrite("y = LeakyRelu(x) {T=float32}", by_relu, by_add_v2, by_add)
    assert journal.keeps is EXACT
    _, journal, _ = rewrite("y = LeakyRelu(x) {T=float32}", by_relu, by_add_v2)
    assert journal.keeps is ROUNDING


@rule("AddV2", keeps=ROUNDING)
def too_dear(op, n):
    """Cannot be cheaper than what is exact."""
    raise AssertionError("it is not tried")


def test_a_rule_that_cannot_be_cheaper_is_not_tried():
    _, journal, _ = rewrite("y = AddV2(x, x) {T=float32}", by_add, too_dear)
    assert [entry.name for entry in journal.entries] == ["by_add"]


def test_what_loses_something_is_used_only_where_that_is_allowed():
    _, _, stuck = rewrite("y = LeakyRelu(x) {T=float32}", by_nothing)
    assert "is lossy" in stuck[0].refusals[0][1]
    made, journal, stuck = rewrite("y = LeakyRelu(x) {T=float32}", by_nothing, allow_lossy=True)
    assert not stuck
    assert journal.keeps is LOSSY
    assert ops(made)["y"] == "Identity"


def test_a_node_that_no_chain_helps_stays_as_it_was_with_every_reason():
    text = "y = LeakyRelu(x) {T=float32, alpha=0.25}"
    made, journal, stuck = rewrite(text, never, by_add_v2, back_again)
    assert graph_text(made) == graph_text(graph(X + text))
    assert not journal.entries
    (step,) = stuck
    assert (step.node.op, [rule.name for rule, _ in step.refusals]) == (
        "LeakyRelu",
        ["never", "never", "back_again", "by_add_v2"],
    )


def test_names_and_users_stay():
    made, _, _ = rewrite(
        """
        a = AddV2(x, x) {T=float32}
        b = Neg(a) {T=float32}
        c = NoOp(^a)
        """.replace("        ", ""),
        by_add,
        named=["a"],
    )
    assert made["b"].inputs[0].node is made["a"]
    assert made["c"].controls == (made["a"],)


def test_what_a_node_waits_for_its_heirs_wait_for():
    made, _, _ = rewrite("w = NoOp()\ny = LeakyRelu(x, ^w) {T=float32}", by_add_v2, by_many)
    first = next(node for node in made if node.op == "Add")
    assert made["w"] in first.controls
    graph_to_def(made)


def test_constants_in_a_branch_wait_for_it():
    @rule("AddV2", keeps=EXACT)
    def with_constant(op, n):
        """Adds with a constant."""
        return op.Add(n.inputs[0], 1.0)

    made, _, _ = rewrite(
        """
        p = Placeholder() {dtype=bool, shape=()}
        s = Switch(x, p) {T=float32}
        a = AddV2(s:1, s:1) {T=float32}
        m = Merge(s:0, a) {N=2, T=float32}
        """.replace("        ", ""),
        with_constant,
    )
    constant = next(node for node in made if node.op == "Const")
    (waited,) = constant.controls
    assert (waited.op, waited.inputs[0].name) == ("Identity", "s:1")
