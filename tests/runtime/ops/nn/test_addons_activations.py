"""Ops that newer TensorFlow Addons lacks, compared with release 0.11.2 (`record_old_ops`)."""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, i32

EDGES = [
    -np.inf,
    -88,
    -20,
    -3,
    -1,
    -0.5,
    -0.3,
    -1e-6,
    -0.0,
    0,
    1e-6,
    0.2,
    0.5,
    0.7,
    1,
    4,
    20,
    88,
    np.inf,
    np.nan,
]
NAMES = ("Gelu", "Mish", "Lisht", "Tanhshrink", "Hardshrink", "Softshrink")
IMAGE = np.arange(24, dtype=np.float32).reshape(1, 4, 3, 2)
TURN = np.array([[0.8, 0.3, -0.5, -0.2, 0.9, 0.7, 0.01, -0.02]], np.float32)


def activation(name, kind, values=EDGES, **attrs):
    close = {"rtol": 4e-3, "atol": 4e-3} if kind is np.float16 else {"rtol": 2e-6, "atol": 5e-7}
    return case(f"Addons>{name}", np.array(values, kind), **attrs, **close)


OLD_CASES = [
    *(activation(name, kind) for name in NAMES for kind in (np.float32, np.float64, np.float16)),
    *(activation(name, np.float32, []) for name in NAMES),
    activation("Gelu", np.float32, approximate=False),
    activation("Gelu", np.float64, approximate=False),
    *(activation(name, np.float32, lower=-0.25, upper=1.0) for name in ("Hardshrink", "Softshrink")),
    *(case("Addons>ImageProjectiveTransformV2", IMAGE, TURN, i32(5, 3), interpolation=how)
      for how in ("NEAREST", "BILINEAR")),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(OLD_CASES))
def test_addons_activations(c, ways):
    check("addons_activations", c, ways)
