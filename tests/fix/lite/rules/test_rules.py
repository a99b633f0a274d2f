"""Each rule writes operators that compute what the replaced one does, or refuses with a reason."""

from dataclasses import replace

import pytest
from tests.lite.cases import case, const, out
from tests.runtime.cases import f32, i32, numbers

import tfport
from tfport.atlas.lite.releases import lite_release
from tfport.fix.certify.verify import verify
from tfport.fix.lite.rewrite import LiteRewrite
from tfport.fix.lite.rule import LITE_RULES
from tfport.formats.lite.write import lite_bytes

NEWEST = lite_release("ai-edge-litert", "2.3.0")
X = numbers(2, 3)


def flex(op, *inputs, **options):
    return case("CUSTOM", *inputs, custom=f"Flex{op}", **options)


REPLACED = [
    case("SQUARED_DIFFERENCE", X, numbers(2, 3, seed=1)),
    case("SQUARE", X),
    case("NEG", X),
    case("ABS", X),
    case("RELU_0_TO_1", X),
    case("LEAKY_RELU", X, alpha=0.25),
    case("HARD_SWISH", numbers(2, 3, low=-5, high=5)),
    case("GELU", X, approximate=True),
    case("SIGN", f32(-2, 0, 3)),
    case("EXPAND_DIMS", X, const(i32(1)[0]), outputs=[out("FLOAT32", shape=(2, 1, 3))]),
    case("SQUEEZE", numbers(2, 1, 3), squeeze_dims=(1,), outputs=[out("FLOAT32", shape=(2, 3))]),
    case("BROADCAST_TO", numbers(1, 3), const(i32(2, 3)), version=2, outputs=[out("FLOAT32", shape=(2, 3))]),
    case("ADD_N", X, X, X),
    case(
        "BATCH_MATMUL", numbers(2, 4, 3), const(numbers(3, 5)), adj_x=False,
        outputs=[out("FLOAT32", shape=(2, 4, 5))],
    ),
]  # fmt: skip
LOWERED = [
    (
        case(
            "FULLY_CONNECTED", numbers(2, 4, 3), const(numbers(5, 3)), keep_num_dims=True, version=6,
            outputs=[out("FLOAT32", shape=(2, 4, 5))],
        ),
        {1, 2},
    ),
    (
        case("FULLY_CONNECTED", X, const(numbers(5, 3)), version=6, outputs=[out("FLOAT32", shape=(2, 5))]),
        {1, 2},
    ),
    (
        case(
            "TRANSPOSE", numbers(2, 3, 4, 5, 6), const(i32(0, 3, 4, 1, 2)), version=4,
            outputs=[out("FLOAT32", shape=(2, 5, 6, 3, 4))],
        ),
        {1, 2, 3},
    ),
    (case("ADD", X, X, version=3), {1, 2}),
]  # fmt: skip


def rewritten(c, ops, **options):
    model = tfport.load(c.model)
    rewrite = LiteRewrite(model.lite, replace(NEWEST, ops={**NEWEST.ops, **ops}), **options)
    return model, rewrite


@pytest.mark.parametrize("c", REPLACED, ids=str)
def test_an_op_that_is_missing_is_replaced(c):
    model, rewrite = rewritten(c, {c.op: frozenset()})
    assert rewrite.reasons == []
    assert c.op not in {node.code.op for graph in rewrite.file.subgraphs for node in graph.operators}
    assert_alike(model, rewrite)


@pytest.mark.parametrize(("c", "versions"), LOWERED, ids=str)
def test_a_version_that_is_missing_is_lowered_or_replaced(c, versions):
    model, rewrite = rewritten(c, {c.op: frozenset(versions)})
    assert rewrite.reasons == []
    nodes = [node for graph in rewrite.file.subgraphs for node in graph.operators]
    assert all(node.code.version in versions for node in nodes if node.code.op == c.op)
    assert_alike(model, rewrite)


def assert_alike(model, rewrite):
    verification = verify(model, tfport.load(lite_bytes(rewrite.file)))
    assert verification.verdict == "alike", verification.statement


@pytest.mark.parametrize(
    ("c", "ops", "because"),
    [
        (case("LEAKY_RELU", X, alpha=2.0), {"LEAKY_RELU": frozenset()}, "its slope is 2.0"),
        (case("GELU", X), {"GELU": frozenset()}, "the exact form"),
        (case("CEIL", X), {"CEIL": frozenset()}, "no rule replaces it"),
        (
            case("HARD_SWISH", X),
            {"HARD_SWISH": frozenset(), "MUL": frozenset()},
            "it needs MUL",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_replaced_has_a_reason(c, ops, because):
    model, rewrite = rewritten(c, ops)
    (reason,) = rewrite.reasons
    assert because in reason
    assert rewrite.file.subgraphs[0].tensors == model.lite.subgraphs[0].tensors  # nothing half-made is left


def test_every_rule_says_what_it_does():
    rules = {rule.name: rule for entries in LITE_RULES.all().values() for rule in entries}
    assert all(rule.says.endswith(".") and len(rule.says) > 20 for rule in rules.values())
