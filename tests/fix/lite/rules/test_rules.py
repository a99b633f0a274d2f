"""Each rule writes operators that compute what the replaced one does, or refuses with a reason."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from flatbuffers import flexbuffers
from tests.frontends.lite.cases import case, const, graph_case, out, q, run
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import f32, i8, i32, numbers

import tfport
from tfport.atlas.lite.releases import lite_release
from tfport.fix.certify.verify import verify
from tfport.fix.lite.rewrite import LiteRewrite
from tfport.fix.lite.rule import LITE_RULES
from tfport.formats.lite.schema import lite_schema
from tfport.formats.lite.write import lite_bytes
from tfport.formats.proto.graph_pb2 import NodeDef
from tfport.graph.attrs import encode
from tfport.graph.dtypes import FLOAT32

NEWEST = replace(lite_release("ai-edge-litert", "2.3.0"), delegated=frozenset())
X = numbers(2, 3)


SMALL = q(i8(-128, -3, 0, 5, 127), 0.05, 3)
IMAGE, CHANNELS = numbers(1, 5, 6, 4), numbers(8, 3, 3, 2)


def custom(name, *inputs, **options):
    return case("CUSTOM", *inputs, custom=name, **options)


def flex(name, x):
    record = NodeDef(op=name, name="node")
    record.attr["T"].CopyFrom(encode(FLOAT32))
    stored = bytes(flexbuffers.Dumps([name, record.SerializeToString()]))
    return custom(f"Flex{name}", x, custom_options=stored, outputs=[out("FLOAT32", shape=x.shape)])


def body(name):
    """A scalar function, as reductions call it."""
    return graph("a b -> c", op(name, "a b", "c"), a="FLOAT32", b="FLOAT32", c="FLOAT32")


def reducing(name, function, start, shape, /, **options):
    main = graph(
        "x -> y", op(name, "x start", "y", body_subgraph_index=1, **options),
        x="FLOAT32 1 5 6 4", start=np.float32(start), y=f"FLOAT32 {' '.join(map(str, shape))}",
    )  # fmt: skip
    return graph_case(name, lite_file(main, body(function)), IMAGE)


def sparse():
    """A model that adds a sparse constant, 0 0 5."""
    ops = op("DENSIFY", "c", "d"), op("ADD", "x d", "y")
    file = lite_file(graph("x -> y", *ops, c=f32(5), x="FLOAT32 3", y="FLOAT32 3", d="FLOAT32 3"))
    tensor = file.subgraphs[0].tensors[0]
    tensor.shape = (3,)
    level = {
        "format": "SPARSE_CSR", "array_segments_type": "Int32Vector", "array_segments": {"values": (0, 1)},
        "array_indices_type": "Uint8Vector", "array_indices": {"values": bytes([2])},
    }  # fmt: skip
    tensor.sparsity = {"traversal_order": (0,), "dim_metadata": [level]}
    return graph_case("DENSIFY", file, f32(1, 2, 3))


def composite():
    """A function with a constant, by its name and its parts, called twice."""
    attributes = memoryview(bytes(flexbuffers.Dumps({"epsilon": 0.5})))
    call = {"name": "acme.shift", "decomposition_subgraph_index": 1, "composite_attributes": attributes}
    calls = op("STABLEHLO_COMPOSITE", "x", "m", **call), op("STABLEHLO_COMPOSITE", "m", "y", **call)
    parts = op("ADD", "a c", "b"), op("MUL", "b a", "d")
    file = lite_file(
        graph("x -> y", *calls, x="FLOAT32 3", m="FLOAT32 3", y="FLOAT32 3"),
        graph("a -> d", *parts, a="FLOAT32 3", b="FLOAT32 3", c=f32(5), d="FLOAT32 3"),
    )
    return graph_case("STABLEHLO_COMPOSITE", file, f32(1, 2, 3))


WINDOWS = {"base_dilations": (1, 1, 1, 1), "window_dilations": (1, 1, 1, 1)}
CONVOLUTION = {
    "padding": (1, 1, 0, 1), "lhs_dilation": (1, 1), "window_reversal": (False, False),
    "input_batch_dimension": 0, "input_feature_dimension": 3, "input_spatial_dimensions": (1, 2),
    "kernel_input_feature_dimension": 2, "kernel_output_feature_dimension": 3,
    "kernel_spatial_dimensions": (0, 1), "output_batch_dimension": 0, "output_feature_dimension": 3,
    "output_spatial_dimensions": (1, 2), "feature_group_count": 1, "batch_group_count": 1,
}  # fmt: skip


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
    sparse(),
    composite(),
    *(
        case(
            "DYNAMIC_UPDATE_SLICE", numbers(2, 4, 3), numbers(2, 1, 3, seed=1), i32(0, start, 0),
            outputs=[out("FLOAT32", shape=(2, 4, 3))],
        )
        for start in (2, -1, 9)
    ),
    graph_case(
        "DYNAMIC_UPDATE_SLICE",
        lite_file(
            graph(
                "x update start -> y", op("DYNAMIC_UPDATE_SLICE", "x update start", "y"),
                x="FLOAT32 ? 3", update="FLOAT32 1 3", start="INT32 2", y="FLOAT32 ? 3",
            )
        ),
        numbers(4, 3), numbers(1, 3, seed=1), i32(2, 0),
    ),
    case("DYNAMIC_UPDATE_SLICE", X, X + 1, i32(0, 0), outputs=[out("FLOAT32", shape=(2, 3))]),
    case("SELECT_V2", X > 0, X, const(f32(9)), outputs=[out("FLOAT32", shape=(2, 3))]),
    case(
        "BATCH_MATMUL", numbers(2, 4, 3), const(numbers(3, 5)), adj_x=False,
        outputs=[out("FLOAT32", shape=(2, 4, 5))],
    ),
    case("GELU", numbers(2, 30, low=-6, high=6), outputs=[out("FLOAT32", shape=(2, 30))]),
    case("GELU", SMALL, version=2),
    case("SQUARED_DIFFERENCE", SMALL, SMALL, version=2, outputs=[out("INT8", 0.3, -128)]),
    case("STABLEHLO_ADD", X, numbers(2, 3, seed=1)),
    case("STABLEHLO_DIVIDE", X, numbers(2, 3, seed=1)),
    case(
        "STABLEHLO_COMPARE", X, numbers(2, 3, seed=1), outputs=[out("BOOL", shape=(2, 3))],
        comparison_direction="STABLEHLO_COMPARISON_DIRECTION_LT",
    ),
    case("STABLEHLO_RESHAPE", X, outputs=[out("FLOAT32", shape=(3, 2))]),
    case("STABLEHLO_TRANSPOSE", X, permutation=(1, 0), outputs=[out("FLOAT32", shape=(3, 2))]),
    case(
        "STABLEHLO_BROADCAST_IN_DIM", X, broadcast_dimensions=(1, 2),
        outputs=[out("FLOAT32", shape=(4, 2, 3))],
    ),
    case("STABLEHLO_CONCATENATE", X, X, dimension=1, outputs=[out("FLOAT32", shape=(2, 6))]),
    case(
        "STABLEHLO_SLICE", X, start_indices=(0, 1), limit_indices=(2, 3), strides=(1, 2),
        outputs=[out("FLOAT32", shape=(2, 1))],
    ),
    case(
        "STABLEHLO_DOT_GENERAL", numbers(2, 4, 3), numbers(2, 3, 5, seed=1),
        lhs_batching_dimensions=(0,), rhs_batching_dimensions=(0,), lhs_contracting_dimensions=(2,),
        rhs_contracting_dimensions=(1,), outputs=[out("FLOAT32", shape=(2, 4, 5))],
    ),
    case(
        "STABLEHLO_CONVOLUTION", IMAGE, const(numbers(3, 3, 4, 2, seed=1)), window_strides=(2, 1),
        rhs_dilation=(1, 1), **CONVOLUTION, outputs=[out("FLOAT32", shape=(1, 3, 5, 2))],
    ),
    reducing("STABLEHLO_REDUCE", "STABLEHLO_ADD", 0, (1, 4), dimensions=(1, 2)),
    reducing("STABLEHLO_REDUCE", "STABLEHLO_MAXIMUM", -np.inf, (1, 5, 6), dimensions=(3,)),
    reducing(
        "STABLEHLO_REDUCE_WINDOW", "STABLEHLO_MAXIMUM", -np.inf, (1, 2, 3, 4), window_dimensions=(1, 3, 2, 1),
        window_strides=(1, 2, 2, 1), padding=(0,) * 8, **WINDOWS,
    ),
    reducing(
        "STABLEHLO_REDUCE_WINDOW", "STABLEHLO_ADD", 0, (1, 5, 6, 4), window_dimensions=(1, 1, 1, 3),
        window_strides=(1, 1, 1, 1), padding=(0, 0, 0, 0, 0, 0, 1, 1), **WINDOWS,
    ),
]  # fmt: skip
UNKNOWN = [
    flex("Erf", numbers(2, 30, low=-5, high=5)),
    flex("Erfc", X),
    flex("Softplus", X),
    flex("Reciprocal", f32(0.5, -2)),
    flex("Tan", X),
    flex("Exp", X),
    custom(
        "Convolution2DTransposeBias", numbers(1, 2, 4, 2), const(numbers(3, 2, 2, 2, seed=1)),
        const(f32(1, 2, 3)), custom_options=struct.pack("<3i", 1, 2, 2),
        outputs=[out("FLOAT32", shape=(1, 4, 8, 3))],
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
    (case("EXP", SMALL, version=2, outputs=[out("INT8", 3.0, -128)]), {1}),
    (case("TILE", SMALL, const(i32(2)), version=3, outputs=[out("INT8", 0.05, 3, shape=(10,))]), {1, 2}),
    (
        case(
            "CONV_2D", IMAGE, const(CHANNELS), const(numbers(8, seed=2)), version=6, padding="VALID",
            stride_h=1, stride_w=1, outputs=[out("FLOAT32", shape=(1, 3, 4, 8))],
        ),
        {1, 2, 3},
    ),
    (
        case(
            "FULLY_CONNECTED", X, const(q(i8(1, -2, 3, 4, 5, -6).reshape(2, 3), (0.5, 0.25))),
            const(f32(1, -1)), version=12, asymmetric_quantize_inputs=True,
            fused_activation_function="RELU", outputs=[out("FLOAT32", shape=(2, 2))],
        ),
        set(range(1, 10)),
    ),
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


@pytest.mark.parametrize("c", UNKNOWN, ids=str)
def test_a_custom_op_that_is_missing_is_replaced(c):
    model, rewrite = rewritten(c, {})
    assert rewrite.reasons == []
    assert "CUSTOM" not in {node.code.op for graph in rewrite.file.subgraphs for node in graph.operators}
    assert_alike(model, rewrite)


def test_real_weights_are_lossy_and_need_permission():
    c = case(
        "CONV_2D", IMAGE, const(q(i8(*range(-16, 16)).reshape(8, 1, 1, 4), (0.5,) * 8)),
        const(numbers(8, seed=2)), version=5, padding="VALID", stride_h=1, stride_w=1,
        outputs=[out("FLOAT32", shape=(1, 5, 6, 8))],
    )  # fmt: skip
    _, refused = rewritten(c, {"CONV_2D": frozenset({1})})
    assert "--allow-lossy permits it" in refused.reasons[0]
    _, rewrite = rewritten(c, {"CONV_2D": frozenset({1})}, allow_lossy=True)
    assert rewrite.journal.keeps.value == "lossy"
    after = graph_case("CONV_2D", rewrite.file, IMAGE)
    np.testing.assert_allclose(run(after, "host")[0], run(c, "host")[0], atol=0.2)


@pytest.mark.parametrize(("c", "versions"), LOWERED, ids=str)
def test_a_version_that_is_missing_is_lowered_or_replaced(c, versions):
    model, rewrite = rewritten(c, {c.op: frozenset(versions)})
    assert rewrite.reasons == []
    nodes = [node for graph in rewrite.file.subgraphs for node in graph.operators]
    assert all(node.code.version in versions for node in nodes if node.code.op == c.op)
    assert_alike(model, rewrite)


def assert_alike(model, rewrite):
    verification = verify(model, tfport.load(lite_bytes(rewrite.file)), steps=1)
    assert verification.verdict == "alike", verification.statement


@pytest.mark.parametrize(
    ("c", "ops", "because"),
    [
        (case("LEAKY_RELU", X, alpha=2.0), {"LEAKY_RELU": frozenset()}, "its slope is 2.0"),
        (case("GELU", X), {"GELU": frozenset(), "DIV": frozenset()}, "it needs DIV"),
        (case("CEIL", X), {"CEIL": frozenset()}, "no rule replaces it"),
        (
            case(
                "DYNAMIC_UPDATE_SLICE",
                numbers(4, 3),
                numbers(2, 3),
                i32(0, 0),
                outputs=[out("FLOAT32", shape=(4, 3))],
            ),
            {"DYNAMIC_UPDATE_SLICE": frozenset()},
            "its update is not one row",
        ),
        (
            case("STABLEHLO_COMPOSITE", X),
            {"STABLEHLO_COMPOSITE": frozenset()},
            "the file has no subgraph None for it",
        ),
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


def test_constants_of_less_than_8_bits_are_widened():
    weights = q(np.arange(-8, 8).reshape(2, 8), (0.5, 0.25), type="INT4")
    c = case("FULLY_CONNECTED", numbers(3, 8), const(weights), None, version=12, outputs=[out("FLOAT32")])
    types = frozenset(NEWEST.types or ()) - {lite_schema().enums["TensorType"].numbers["INT4"]}
    model = tfport.load(c.model)
    rewrite = LiteRewrite(model.lite, replace(NEWEST, types=types))
    assert [tensor.type for tensor in rewrite.file.subgraphs[0].tensors] == ["FLOAT32", "INT8", "FLOAT32"]
    assert [entry.name for entry in rewrite.journal.entries] == ["constants of 8 bits"]
    assert_alike(model, rewrite)


def test_every_rule_says_what_it_does():
    rules = {rule.name: rule for entries in LITE_RULES.all().values() for rule in entries}
    assert all(rule.says.endswith(".") and len(rule.says) > 20 for rule in rules.values())
