"""Attributes unknown to an older definition are removed if that changes nothing."""

import numpy as np
import pytest
from tests.fix.rule_cases import PRODUCER, apply, assert_refuses, check, rule_case
from tests.recorded_models import graph
from tests.runtime.cases import f32, i32, numbers

from tfport.atlas.atlas import atlas
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.attribute_hints import HINTS
from tfport.fix.engine import RuleEngine
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rule import ANY, Rulebook
from tfport.fix.rules.general.attributes import (
    failing_where_shapes_do_not_fit,
    without_attributes_that_change_nothing,
)
from tfport.graph.dtypes import INT64
from tfport.registry.unresolved import Question

OLD = "tensorflow==1.4.1"
CONV = 'y = Conv2D(x, f) {T=float32, strides=[1, 1, 1, 1], padding="SAME"%s}'
IMAGE = {"x": numbers(1, 4, 4, 2), "f": numbers(3, 3, 2, 2)}


def case(text, target=OLD, **options):
    return rule_case(without_attributes_that_change_nothing, text, target=target, **options)


CASES = [
    case(CONV % ", dilations=[1, 1, 1, 1], explicit_paddings=[]", **IMAGE),
    case("y = MatMul(a, b) {T=float32, grad_a=true, grad_b=true}", a=numbers(2, 3), b=numbers(3, 2)),
    case("y = Cast(a) {SrcT=float32, DstT=int32, Truncate=true}", a=f32(1.5, -2.5)),
    case("y = Equal(a, b) {T=float32, incompatible_shape_error=false}", a=f32(1, 2), b=f32(1, 3)),
    case("y = NotEqual(a, b) {T=float32, incompatible_shape_error=false}",
         a=f32(1, 2), b=np.float32(1), open=("a",)),
    case("y = Equal(a, b) {T=float32, incompatible_shape_error=false}", a=numbers(3, 1), b=numbers(1, 4)),
    case("y = FusedBatchNorm(x, s, s, s, s) {T=float32, is_training=false, exponential_avg_factor=0.5}",
         x=numbers(1, 2, 2, 3), s=f32(1, 2, 3)),
    case('y = GatherNd(a, i) {Tparams=float32, Tindices=int32, bad_indices_policy="ERROR"}',
         a=f32(1, 2, 3), i=np.array([[2], [0]], np.int32)),
    case("y = ResizeBilinear(x, s) {T=float32, half_pixel_centers=false}", x=IMAGE["x"], s=i32(3, 5)),
    rule_case(failing_where_shapes_do_not_fit, "y = Equal(a, b) {T=float32, incompatible_shape_error=false}",
              a=f32(1, 2), b=f32(1, 3), open=("a", "b"), target=OLD),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_target_takes_what_is_left(c):
    model, checker = c.model(), NodeChecker(resolve_targets(c.target)[0], PRODUCER)
    assert checker.unresolved(model.graph["y"])
    apply(c.rule, model, c.target)
    assert not checker.unresolved(model.graph["y"])


@pytest.mark.parametrize(
    ("text", "fed", "because"),
    [
        ("y = GatherV2(x, s, z) {Tparams=float32, Tindices=int32, Taxis=int32, batch_dims=1}",
         {"x": numbers(2, 3), "s": np.zeros((2, 1), np.int32), "z": np.int32(1)},
         "batch_dims=1 changes the outputs"),
        ("y = ResizeBilinear(x, s) {T=float32, half_pixel_centers=true}", {"x": IMAGE["x"], "s": i32(3, 5)},
         "half_pixel_centers=True changes the outputs"),
        ("y = FusedBatchNorm(x, s, s, s, s) {T=float32, exponential_avg_factor=0.5}",
         {"x": numbers(1, 2, 2, 3), "s": f32(1, 2, 3)}, "exponential_avg_factor=0.5 changes the outputs"),
        ('y = GatherNd(x, s) {Tparams=float32, Tindices=int32, bad_indices_policy="IGNORE"}',
         {"x": f32(1, 2), "s": np.array([[5]], np.int32)}, "bad_indices_policy=IGNORE changes the outputs"),
        ("y = AddV2(x, x) {T=float32}", {"x": f32(1)},
         "its attributes are not the only problem (is the op registered?)"),
        ("y = Cast(x) {SrcT=float32, DstT=bfloat16, Truncate=true}", {"x": f32(1)},
         "Truncate=True changes the outputs"),
    ],
)  # fmt: skip
def test_what_means_something_stays(text, fed, because):
    assert_refuses(without_attributes_that_change_nothing, text, because=because, target=OLD, **fed)


def test_shapes_that_may_not_fit_stay():
    assert_refuses(
        without_attributes_that_change_nothing, "y = Equal(a, b) {T=float32, incompatible_shape_error=false}",
        because="incompatible_shape_error=False changes the outputs", target=OLD,
        a=f32(1, 2), b=f32(1, 2), open=("a", "b"),
    )  # fmt: skip


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: f"{hint.ops[:20]}-{hint.attrs[:20]}")
def test_every_hint_is_an_attribute_that_some_release_added(hint):
    ops = hint.ops.split() if hint.ops != ANY else ["MapDataset"]
    definitions = [
        [{attr.name for attr in row.read().attr} for row in atlas().definition_rows(op)] for op in ops
    ]
    assert all(definitions)
    for attr in hint.attrs.split():
        had = [[attr in names for names in releases] for releases in definitions]
        assert any(any(releases_with) and not all(releases_with) for releases_with in had), attr


def test_functions_state_defaults_that_the_target_does_not_fill_in():
    model = graph("""
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        y = f(x)
        def f(a: float32) -> (b: float32):
          m = MatMul(a, a) {T=float32}
          return b=m
    """)
    function = model.library.functions["f"]
    checker = NodeChecker(resolve_targets("tensorflow==1.8.0")[0], PRODUCER)
    (node,) = function
    assert {p.question for p in checker.unresolved(node)} == {Question.DEFAULT_ATTR}
    rules = Rulebook([without_attributes_that_change_nothing])
    assert not RuleEngine(checker, rules, Facts(), Journal()).rewrite(function)
    (node,) = function
    assert node.attrs["transpose_a"] is False
    assert not checker.unresolved(node)


def test_required_attributes_are_written_and_marks_stay():
    program = graph("""
        v = Placeholder() {dtype=variant, shape=()}
        y = RaggedTensorFromVariant(v) {input_ragged_rank=1, output_ragged_rank=1, Tvalues=float32, _mark="x"}
    """)
    checker = NodeChecker(resolve_targets("tensorflow==2.0.4")[0], PRODUCER)
    assert {p.question for p in checker.unresolved(program["y"])} == {Question.MISSING_ATTR}
    rules = Rulebook([without_attributes_that_change_nothing])
    RuleEngine(checker, rules, Facts(), Journal()).rewrite(program)
    assert program["y"].attrs["Tsplits"] == INT64
    assert program["y"].attrs["_mark"] == "x"
