import numpy as np
import pytest
from tests.runtime.cases import bf16, case, check, checks, f16, f32, f64, scalar

NAN, INF = np.nan, np.inf
EDGES = (INF, NAN, 0.0, 1, -1, 2, 0.5, -0.5, -1.5, -2, -3, 1e-3, 30, -30, -INF, 5, 9, 12.5, 0.1, 3.3, 7.7)
GAMMA_A = (1.0, 2, 0, 1, 0, -1, 1, NAN, 1, INF, 1, INF, 0.5, 100, 1e-3, 5, 3, 50, 2.5)
GAMMA_X = (1.0, 3, 1, 0, 0, 1, -1, 1, NAN, 1, INF, INF, 2, 120, 0.5, 0.1, 0.01, 20, 30)
HALF = (
    "BesselI0e BesselI1e BesselI0 BesselI1 BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e Lgamma "
    "Digamma"
)
FULL = f"{HALF} BesselY0 BesselY1 Erf Erfc Erfinv Ndtri FresnelCos FresnelSin Dawsn Expint Spence"
# TensorFlow's float32 series are good to a few 1e-6 of the largest value around, not to 1e-5 of each
LOOSE = {"rtol": 2e-5, "atol": 2e-6}

CASES = [
    *(case(op, f32(*EDGES), **LOOSE) for op in FULL.split()),
    # the error function of an infinite double is NaN to TensorFlow, where a whole packet is computed at once
    *(case(op, f64(*(x for x in EDGES if op != "Erf" or not np.isinf(x)))) for op in FULL.split()),
    *(case(op, f16(0.0, 1, 2, 0.5, 5, 9)) for op in HALF.split()),
    *(case(op, kind(0.0, 1, -2, 0.5, 3)) for op in ("Erf", "Erfc") for kind in (f16, bf16)),
    *(
        case(op, kind(*GAMMA_A), kind(*GAMMA_X), **LOOSE)
        for op in ("Igamma", "Igammac", "IgammaGradA")
        for kind in (f32,)
    ),
    # where x is far above a, TensorFlow's own derivative is good to 1e-8
    *(case(op, f64(*GAMMA_A), f64(*GAMMA_X), rtol=1e-7) for op in ("Igamma", "Igammac", "IgammaGradA")),
    case("Igamma", f32(0.5, 1), f32([1], [2])),
    *(
        case(
            "Zeta",
            kind(2, 1, 0.5, 3, 3, 2, NAN, 2, 1.5, 4, 2.5, 2, 4),
            kind(1, 1, 1, 0, -1, -0.5, 1, NAN, 30, -1.5, -1.5, -1, 0),
        )
        for kind in (f32, f64)
    ),
    *(
        case("Polygamma", kind(0, 1, 2, 0.5, -1, 1, 1, 3, 0), kind(1, 1, 2.5, 1, 1, 0, -1, -0.5, -1))
        for kind in (f32, f64)
    ),
    *(
        case(
            "Betainc",
            kind(0.0, -1, 1, NAN, 1, 1, INF, 1, 2, 0.5),
            kind(1.0, 1, 0, 1, 1, 1, 1, INF, 3, 7),
            kind(0.5, 0.5, 0.5, 0.5, -0.1, 1.1, 0.5, 0.5, 1, 0.2),
        )
        for kind in (f32, f64)
    ),
    case("Betainc", f32(1, 2), scalar(2, np.float32), f32(0.3, 0.4)),
    case("Betainc", f32(1, 2), f32([2], [1]), scalar(0.3, np.float32), fails=True),
]


# what is constant in the way `engine` is folded, which the way `host` tells as well
@pytest.mark.parametrize(("c", "ways"), checks(CASES, without="engine"))
def test_special(c, ways):
    check("special", c, ways)
