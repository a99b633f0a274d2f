"""StableHLO operators of windows, indices and products."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, graph_case, out, run
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import f32, i8, i32, i64, numbers, scalar, u64

KINDS = (np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16)
STARTS = {
    "STABLEHLO_ADD": 0,
    "STABLEHLO_MULTIPLY": 1,
    "STABLEHLO_MAXIMUM": -np.inf,
    "STABLEHLO_MINIMUM": np.inf,
}
PAD = ("edge_padding_low", "edge_padding_high", "interior_padding")


def _body(name, kind):
    return graph("a b -> c", op(name, "a b", "c"), a=kind, b=kind, c=kind)


def _second(kind):
    """A computation that takes the update."""
    return graph("a b -> b", a=kind, b=kind)


def _with_body(name, body, options, /, **tensors):
    ends = [n for n, v in tensors.items() if isinstance(v, str) and n != "y"]
    names = " ".join(n for n in tensors if n != "y")
    return lite_file(graph(f"{' '.join(ends)} -> y", op(name, names, "y", **options), **tensors), body)


def _window(name, **options):
    options = {"window_dimensions": (2, 3), "body_subgraph_index": 1, **options}
    tensors = {"x": "FLOAT32 5 6", "start": f32(STARTS[name])[0], "y": "FLOAT32 1 1"}
    return _with_body("STABLEHLO_REDUCE_WINDOW", _body(name, "FLOAT32"), options, **tensors)


def _window_options(strides, base, window, padding):
    dilations = {"base_dilations": base, "window_dilations": window}
    return {"window_strides": strides, **dilations, "padding": padding}


def _scatter(body, **options):
    options = {
        "update_window_dims": (1,),
        "inserted_window_dims": (0,),
        "scatter_dims_to_operand_dims": (0,),
        "index_vector_dim": 1,
        "update_computation_subgraph_index": 1,
        **options,
    }
    return _with_body(
        "STABLEHLO_SCATTER", body, options, x="FLOAT32 4 3", i="INT32 2 1", u="FLOAT32 2 3", y="FLOAT32 4 3"
    )


COMPOSITE = lite_file(
    graph(
        "x -> y",
        op("STABLEHLO_COMPOSITE", "x", "y", name="acme.double", decomposition_subgraph_index=1),
        x="FLOAT32 2",
        y="FLOAT32 2",
    ),
    graph("x -> y", op("ADD", "x x", "y"), x="FLOAT32 2", y="FLOAT32 2"),
)

CASES = [
    *(
        case("STABLEHLO_PAD", numbers(2, 3, kind=kind, low=0, high=9), scalar(7, kind), **sizes)
        for kind in KINDS
        for sizes in (
            dict(zip(PAD, ((1, 0), (0, 2), (0, 1)), strict=True)),
            dict(zip(PAD, ((-1, 1), (2, -1), (2, 0)), strict=True)),
        )
    ),
    case(
        "STABLEHLO_GATHER",
        numbers(3, 4, 2),
        i64(0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9).reshape(2, 3, 2),
        offset_dims=(2, 3),
        collapsed_slice_dims=(0,),
        start_index_map=(1, 0),
        index_vector_dim=2,
        slice_sizes=(1, 2, 2),
        outputs=[out("FLOAT32", shape=(2, 3, 2, 2))],
    ),
    *(
        graph_case(
            "STABLEHLO_SCATTER", _scatter(body), numbers(4, 3), i32(2, 0).reshape(2, 1), numbers(2, 3, seed=1)
        )
        for body in (
            _body("STABLEHLO_ADD", "FLOAT32"),
            _body("STABLEHLO_MAXIMUM", "FLOAT32"),
            _second("FLOAT32"),
        )
    ),
    graph_case(
        "STABLEHLO_SCATTER",
        _scatter(_body("STABLEHLO_MULTIPLY", "FLOAT32")),
        numbers(4, 3),
        i32(1, 1).reshape(2, 1),
        numbers(2, 3, seed=1),
    ),
    *(
        graph_case("STABLEHLO_REDUCE_WINDOW", _window(name, **options), numbers(5, 6))
        for name in STARTS
        for options in (
            _window_options((1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
            _window_options((2, 1), (2, 1), (1, 2), (1, 0, 0, 2)),
        )
    ),
    *(
        case(
            "REDUCE_WINDOW",
            numbers(5, 6, kind=kind, low=-5, high=5),
            const(scalar(start, kind)),
            const(i64(2, 3)),
            const(i64(2, 1)),
            const(i64(1, 2)),
            reduce_function=name,
        )
        for name, start in (("ADD", 0), ("MUL", 1), ("MAXIMUM", -99), ("MINIMUM", 99))
        for kind in (np.float32, np.int32)
    ),
    case(
        "REDUCE_WINDOW",
        np.array([True, False, False, True]),
        const(np.array(False)),
        const(i64(2)),
        const(i64(1)),
        const(i64(1)),
        reduce_function="ANY",
    ),
    graph_case("STABLEHLO_COMPOSITE", COMPOSITE, f32(1, 2)),
    *(
        case(
            "STABLEHLO_RNG_BIT_GENERATOR",
            state,
            algorithm=algorithm,
            outputs=[out("UINT64", shape=state.shape), out(kind, shape=(3, 5))],
        )
        for algorithm, state in (("PHILOX", u64(1, 2, 3)), ("THREEFRY", u64(1, 2)), ("DEFAULT", u64(5, 6, 7)))
        for kind in ("INT32", "UINT64")
    ),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_windows(c):
    check("stablehlo", c)


def _other(name, *inputs, expected, kind="FLOAT32", **options):
    """An operator that no interpreter registers: its answer follows from the specification of StableHLO."""
    output = out(kind, shape=np.shape(expected))
    return pytest.param(case(name, *inputs, outputs=[output], **options), expected, id=name)


X, Y = numbers(2, 3), numbers(3, 4, seed=1)
IMAGE, KERNEL = numbers(1, 4, 4, 2), numbers(2, 2, 2, 3, seed=1)
OTHERS = [
    _other(
        "STABLEHLO_SLICE", X, start_indices=(0, 1), limit_indices=(2, 3), strides=(1, 2), expected=X[:, 1::2]
    ),
    _other("STABLEHLO_DYNAMIC_SLICE", X, scalar(5), scalar(1), slice_sizes=(1, 2), expected=X[1:, 1:]),
    _other(
        "STABLEHLO_DYNAMIC_UPDATE_SLICE", i8(1, 2, 3), i8(9), scalar(1), kind="INT8", expected=i8(1, 9, 3)
    ),
    _other(
        "STABLEHLO_DOT_GENERAL",
        X,
        Y,
        lhs_contracting_dimensions=(1,),
        rhs_contracting_dimensions=(0,),
        expected=X @ Y,
    ),
    _other(
        "STABLEHLO_CONVOLUTION",
        IMAGE,
        KERNEL,
        window_strides=(1, 1),
        padding=(0, 0, 0, 0),
        lhs_dilation=(1, 1),
        rhs_dilation=(1, 1),
        input_feature_dimension=3,
        input_spatial_dimensions=(1, 2),
        kernel_input_feature_dimension=2,
        kernel_output_feature_dimension=3,
        kernel_spatial_dimensions=(0, 1),
        output_feature_dimension=3,
        output_spatial_dimensions=(1, 2),
        feature_group_count=1,
        batch_group_count=1,
        expected=sum(IMAGE[:, i : i + 3, j : j + 3] @ KERNEL[i, j] for i in (0, 1) for j in (0, 1)),
    ),
]


@pytest.mark.parametrize("way", ["engine", "host"])
@pytest.mark.parametrize(("c", "expected"), OTHERS)
def test_operators_without_a_kernel_elsewhere(c, expected, way):
    np.testing.assert_allclose(run(c, way)[0], expected, 1e-5, 1e-6)


@pytest.mark.parametrize("way", ["engine", "host"])
def test_reductions_and_sorts_by_a_subgraph(way):
    total = _with_body(
        "STABLEHLO_REDUCE",
        _body("ADD", "FLOAT32"),
        {"dimensions": (0,), "body_subgraph_index": 1},
        x="FLOAT32 2 3",
        start=f32(1)[0],
        y="FLOAT32 3",
    )
    np.testing.assert_allclose(run(graph_case("STABLEHLO_REDUCE", total, X), way)[0], X.sum(axis=0) + 1, 1e-5)
    larger = graph("a b -> c", op("GREATER", "a b", "c"), a="FLOAT32", b="FLOAT32", c="BOOL")
    ordered = _with_body(
        "STABLEHLO_SORT",
        larger,
        {"dimension": 1, "comparator_subgraph_index": 1},
        x="FLOAT32 2 3",
        y="FLOAT32 2 3",
    )
    answer = run(graph_case("STABLEHLO_SORT", ordered, X), way)[0]
    np.testing.assert_array_equal(answer, -np.sort(-X, axis=1))
