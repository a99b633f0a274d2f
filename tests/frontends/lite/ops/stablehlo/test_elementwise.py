"""StableHLO operators on each element, and of shapes."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, out, run
from tests.runtime.cases import f32, i8, i32, numbers

import tfport

FLAGS = np.array([True, True, False, False]), np.array([True, False, True, False])
CASES = [
    *(
        case(
            f"STABLEHLO_{name}",
            numbers(2, 3, kind=kind, low=-9, high=9),
            numbers(2, 3, kind=kind, low=-9, high=9, seed=1),
        )
        for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM")
        for kind in (np.float32, np.int32, np.int64, np.int16)
    ),
    case("STABLEHLO_SHIFT_LEFT", i32(1, 3, -4), i32(2, 30, 1)),
    case("STABLEHLO_AND", *FLAGS),
    case("STABLEHLO_AND", i32(12, -1), i32(10, 7)),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_elementwise(c):
    check("stablehlo_elementwise", c)


def _other(name, *inputs, expected, kind="FLOAT32", **options):
    """An operator that no interpreter registers: its answer follows from the specification of StableHLO."""
    output = out(kind, shape=np.shape(expected))
    return pytest.param(case(f"STABLEHLO_{name}", *inputs, outputs=[output], **options), expected, id=name)


X, P = numbers(2, 3), np.abs(numbers(2, 3)) + 0.1
DIRECTION = "STABLEHLO_COMPARISON_DIRECTION_"
OTHERS = [
    _other("LOGISTIC", X, expected=1 / (1 + np.exp(-X))),
    _other("ABS", X, expected=np.abs(X)),
    _other("COSINE", X, expected=np.cos(X)),
    _other("EXPONENTIAL", X, expected=np.exp(X)),
    _other("CBRT", f32(-8, 0, 27, 0.1), expected=np.cbrt(f32(-8, 0, 27, 0.1))),
    _other("FLOOR", X, expected=np.floor(X)),
    _other("LOG", P, expected=np.log(P)),
    _other("NEGATE", X, expected=-X),
    _other("RSQRT", P, expected=P**-0.5),
    _other("TANH", X, expected=np.tanh(X)),
    _other("POWER", P, X, expected=P**X),
    _other("SUBTRACT", X, P, expected=X - P),
    _other("DIVIDE", X, P, expected=X / P),
    _other("DIVIDE", i32(-7, 7), i32(2, -2), kind="INT32", expected=i32(-3, -3)),
    _other("REMAINDER", i32(-7, 7), i32(3, -3), kind="INT32", expected=i32(-1, 1)),
    _other("REMAINDER", f32(-7.5, 7.5), f32(2, -2), expected=f32(-1.5, 1.5)),
    _other("OR", *FLAGS, kind="BOOL", expected=FLAGS[0] | FLAGS[1]),
    _other("OR", i8(12), i8(10), kind="INT8", expected=i8(14)),
    *(
        _other(
            "COMPARE",
            i32(1, 2, 3),
            i32(2, 2, 2),
            comparison_direction=DIRECTION + name,
            kind="BOOL",
            expected=expected,
        )
        for name, expected in (
            ("EQ", np.array([0, 1, 0], bool)),
            ("NE", np.array([1, 0, 1], bool)),
            ("GE", np.array([0, 1, 1], bool)),
            ("GT", np.array([0, 0, 1], bool)),
            ("LE", np.array([1, 1, 0], bool)),
            ("LT", np.array([1, 0, 0], bool)),
        )
    ),
    _other("SELECT", np.array([True, False]), f32(1, 2), f32(3, 4), expected=f32(1, 4)),
    _other("CLAMP", f32(-1)[0], f32(-5, 0.5, 5), f32(1)[0], expected=f32(-1, 0.5, 1)),
    _other("CONVERT", f32(1.5, -2.5), kind="INT32", expected=i32(1, -2)),
    _other("RESHAPE", X, expected=X.reshape(3, 2)),
    _other(
        "BROADCAST_IN_DIM",
        f32(1, 2),
        broadcast_dimensions=(1,),
        expected=f32(1, 2, 1, 2).reshape(2, 2, 1) * np.ones((2, 2, 3), np.float32),
    ),
    _other("BROADCAST_IN_DIM", f32(5)[0], expected=np.full((2, 3), 5, np.float32)),
    _other("TRANSPOSE", X, permutation=(1, 0), expected=X.T),
    _other("CONCATENATE", X, X, dimension=1, expected=np.concatenate([X, X], axis=1)),
]


@pytest.mark.parametrize("way", ["engine", "host"])
@pytest.mark.parametrize(("c", "expected"), OTHERS)
def test_operators_without_a_kernel_elsewhere(c, expected, way):
    np.testing.assert_allclose(run(c, way)[0], expected, 1e-5, 1e-6)


def test_what_cannot_be_built_says_why():
    total = "STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER"
    ordered = case("STABLEHLO_COMPARE", f32(1), f32(2), compare_type=total, outputs=[out("BOOL")])
    assert "total order is not supported" in tfport.load(ordered.model).no_graph
    flags = case("STABLEHLO_NEGATE", FLAGS[0])
    assert "flags are not supported" in tfport.load(flags.model).no_graph
