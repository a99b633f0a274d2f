import itertools

import numpy as np
import pytest
from tests.runtime.baked import baked
from tests.runtime.cases import case, check, checks, f32, numbers, run, scalar

from tfport.graph.dtypes import DType

QUINT8, QINT8, QINT32, QUINT16, QINT16, BFLOAT16 = (
    DType.parse(name) for name in ("quint8", "qint8", "qint32", "quint16", "qint16", "bfloat16")
)
X = f32(-3, -1.5, -1, -0.5, -0.004, 0, 0.0039, 0.25, 0.5, 1, 1.2, 2, 2.5, 7, -9).reshape(3, 5)


def single(value):
    return np.array(value, np.float32)


def quantize(x, low, high, **more):
    ends = (single(low), single(high)) if np.isscalar(low) else (f32(*low), f32(*high))
    return case("QuantizeV2", x, *ends, **more)


def dequantize(x, low, high, kind, **more):
    ends = (single(low), single(high)) if np.isscalar(low) else (f32(*low), f32(*high))
    return case("Dequantize", x, *ends, types=[kind], **more)


def integers(kind):
    info = np.iinfo(kind)
    return np.array(
        [info.min, info.min + 1, -1 if info.min else 1, 0, 1, 7, 100, info.max - 1, info.max], kind
    ).reshape(3, 3)


NUMPY = {QUINT8: np.uint8, QINT8: np.int8, QUINT16: np.uint16, QINT16: np.int16, QINT32: np.int32}
PER_AXIS = ((-1.0, 0.0, -3.0), (2.0, 1.0, 0.5))
NARROW = {"MIN_COMBINED": (False,), "MIN_FIRST": (False,), "SCALED": (False, True)}
CASES = [
    *(
        quantize(X, low, high, T=kind, mode=mode)
        for kind in (QUINT8, QINT8)
        for mode in NARROW
        for low, high in (
            (-2.0, 2.0),
            (0.0, 2.5),
            (-1.0, 0.0),
            (0.5, 3.0),
            (-3.0, -1.0),
            (0.0, 0.0),
            (-1.0, 3.0),
        )
    ),
    *(
        quantize(X, -1.0, 1.3, T=kind, mode=mode)
        for kind in (QUINT16, QINT16)
        for mode in ("MIN_COMBINED", "MIN_FIRST")
    ),
    quantize(X, -2.0, 2.0, T=QINT32, mode="MIN_FIRST"),
    *(
        quantize(X, low, high, T=kind, mode="SCALED", round_mode=how, narrow_range=narrow)
        for kind in (QUINT8, QINT8)
        for low, high in ((-1.0, 1.3), (-3.0, 1.0), (0.0, 1.7))
        for how in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN")
        for narrow in (False, True)
    ),
    *(quantize(X, *PER_AXIS, T=QINT8, mode=mode, axis=0) for mode in ("MIN_COMBINED", "SCALED")),
    quantize(X, *PER_AXIS, T=QINT8, mode="SCALED", axis=0, round_mode="HALF_TO_EVEN"),
    quantize(X, *PER_AXIS, T=QINT8, mode="MIN_FIRST", axis=0, fails=True),
    quantize(X.T, *PER_AXIS, T=QUINT8, mode="SCALED", axis=1),
    quantize(X, 0.0, 0.001, T=QUINT8, ensure_minimum_range=0.5),
    quantize(X, 2.0, 1.0, T=QUINT8, fails=True),
    quantize(X, *PER_AXIS, T=QUINT8, fails=True),
    quantize(X, 0.0, 1.0, T=QUINT8, axis=2, fails=True),
    *(
        dequantize(integers(NUMPY[kind]), low, high, kind, mode=mode, narrow_range=narrow)
        for kind in (QUINT8, QINT8, QUINT16, QINT16, QINT32)
        for mode in NARROW
        for narrow in NARROW[mode]
        for low, high in ((-1.0, 3.0), (0.0, 2.5), (0.3, 0.3))
        if (kind, mode) != (QINT32, "SCALED")  # which this TensorFlow has on paper only
    ),
    *(
        dequantize(integers(np.int8), *PER_AXIS, QINT8, mode=mode, axis=0)
        for mode in ("MIN_COMBINED", "SCALED")
    ),
    dequantize(integers(np.int8), *PER_AXIS, QINT8, mode="MIN_FIRST", axis=0, fails=True),
    dequantize(integers(np.uint8), *PER_AXIS, QUINT8, mode="SCALED", axis=1),
    *(
        dequantize(integers(np.uint8), -1.0, 3.0, QUINT8, mode=mode, dtype=BFLOAT16)
        for mode in ("MIN_COMBINED", "SCALED")
    ),
    dequantize(np.zeros((0, 3), np.uint8), -1.0, 3.0, QUINT8),
    *(
        baked(
            op,
            X.astype(kind),
            np.array(low, kind),
            np.array(high, kind),
            signed_input=signed,
            num_bits=bits,
            range_given=range_given,
            round_mode=how,
            narrow_range=narrow,
        )
        for op, kind in (("QuantizeAndDequantizeV2", np.float32), ("QuantizeAndDequantizeV4", np.float64))
        for (low, high), signed, bits, range_given, how, narrow in (
            ((-1.5, 1), True, 8, True, "HALF_TO_EVEN", False),
            ((-1.5, 1), True, 8, False, "HALF_UP", False),
            ((-1.5, 1), True, 3, True, "HALF_UP", True),
            ((0, 2), False, 8, True, "HALF_TO_EVEN", False),
            ((0, 2), False, 4, False, "HALF_TO_EVEN", False),
            ((-0.1, 2), True, 5, True, "HALF_TO_EVEN", True),
            ((0, 0), True, 8, True, "HALF_TO_EVEN", False),
        )
    ),
    *(
        case(
            op,
            X,
            f32(*PER_AXIS[0]),
            f32(*PER_AXIS[1]),
            signed_input=True,
            num_bits=6,
            range_given=False,
            round_mode="HALF_TO_EVEN",
            narrow_range=False,
            axis=0,
        )
        for op, range_given in itertools.product(
            ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"), (False,)
        )
    ),
    baked("QuantizeAndDequantizeV2", X, single(1), single(-1), range_given=True, fails=True),
    baked(
        "QuantizeAndDequantizeV3", X, single(-1), single(2), scalar(7), signed_input=True, range_given=True
    ),
    baked(
        "QuantizeAndDequantizeV3",
        X,
        single(-1),
        single(2),
        scalar(4),
        signed_input=True,
        range_given=False,
        narrow_range=True,
    ),
    baked(
        "QuantizeAndDequantizeV3",
        X,
        f32(*PER_AXIS[0]),
        f32(*PER_AXIS[1]),
        scalar(4),
        signed_input=True,
        range_given=True,
        axis=0,
    ),
    *(
        baked("FakeQuantWithMinMaxArgs", X, min=low, max=high, num_bits=bits, narrow_range=narrow)
        for low, high in ((-2.0, 2.0), (0.0, 6.0), (-0.1, 2.5), (-3.0, 0.0))
        for bits, narrow in ((8, False), (8, True), (4, False), (16, False), (2, True))
    ),
    *(
        baked("FakeQuantWithMinMaxVars", X, single(low), single(high), num_bits=bits, narrow_range=narrow)
        for low, high in ((-2.0, 2.0), (0.5, 6.0), (-2.5, -0.3), (0.0, 0.0))
        for bits, narrow in ((8, False), (5, True))
    ),
    *(
        baked("FakeQuantWithMinMaxVars", f32(*np.arange(-1, 12) / 510, 0.5), single(0), single(high))
        for high in (1, 1.1, 3)
    ),
    *(
        baked("FakeQuantWithMinMaxArgs", f32(*np.arange(-1, 12) / 510, 0.5), min=0.0, max=high)
        for high in (1.0, 1.1, 3.0)
    ),
    baked(
        "FakeQuantWithMinMaxVarsPerChannel",
        numbers(40, 3, low=-3, high=3),
        f32(-2, -1.3, -0.7),
        f32(1.9, 2.2, 0.4),
    ),
    baked("FakeQuantWithMinMaxVars", f32(np.nan, np.inf, -np.inf, 1), single(-1), single(1)),
    baked("FakeQuantWithMinMaxVarsPerChannel", X.T, f32(*PER_AXIS[0]), f32(*PER_AXIS[1])),
    baked(
        "FakeQuantWithMinMaxVarsPerChannel",
        f32(1, 2, -3),
        f32(*PER_AXIS[0]),
        f32(*PER_AXIS[1]),
        num_bits=4,
        narrow_range=True,
    ),
    baked("FakeQuantWithMinMaxVarsPerChannel", numbers(2, 2, 2, 3), f32(*PER_AXIS[0]), f32(*PER_AXIS[1])),
    baked("FakeQuantWithMinMaxVarsPerChannel", X, f32(*PER_AXIS[0]), f32(*PER_AXIS[1]), fails=True),
    case("FakeQuantWithMinMaxArgsGradient", numbers(3, 5), X, min=-1.0, max=2.0),
    case("FakeQuantWithMinMaxVarsGradient", numbers(3, 5), X, single(-1), single(2)),
    case("FakeQuantWithMinMaxVarsGradient", numbers(3, 5), X, single(0), single(0)),
    case(
        "FakeQuantWithMinMaxVarsPerChannelGradient", numbers(5, 3), X.T, f32(*PER_AXIS[0]), f32(*PER_AXIS[1])
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_quantize(c, ways):
    check("quantize", c, ways)


@pytest.mark.parametrize("range_given", [True, False])
def test_the_first_version_is_the_second_with_its_range_in_attributes(range_given):
    """TensorFlow removed it from new graphs in 2017, so it has no recorded answers."""
    attrs = {"signed_input": True, "num_bits": 5, "range_given": range_given}
    first = case("QuantizeAndDequantize", X, **attrs, input_min=-1.0, input_max=2.0)
    second = case("QuantizeAndDequantizeV2", X, single(-1), single(2), **attrs, round_mode="HALF_TO_EVEN")
    np.testing.assert_array_equal(run(first, "host")[0], run(second, "host")[0])
