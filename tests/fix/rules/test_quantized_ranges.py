"""Quantization with a range for each channel."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, numbers

from tfport.fix.rules.quantized_ranges import (
    dequantized_by_channel,
    quantized_by_channel,
    round_trip_by_channel,
)

X = (numbers(6, 3, 4) * 3).astype(np.float32)
X[0, 0] = (0.5, -0.5, 1.5, np.inf)
LOW, HIGH = f32(-1.5, 0, -3), f32(1.7, 2.5, -0.1)
ONE = {"a": np.float32(-1.5), "b": np.float32(1.7)}
CHANNELS = {"a": LOW, "b": HIGH}
QUANTIZE = "q = QuantizeV2(x, a, b) {T=%s, mode=%s, round_mode=%s, narrow_range=%s, axis=%d}"
READ = "\nr = Bitcast(q) {T=%s, type=%s}\ny = Identity(r) {T=%s}"


def quantized(kind, plain, mode, rounding, narrow, axis, **ranges):
    text = QUANTIZE % (kind, mode, rounding, narrow, axis) + READ % (kind, plain, plain)
    return rule_case(quantized_by_channel, text, fetches=["y:0", "q:1", "q:2"], x=X, **ranges)


def dequantized(kind, plain, mode, narrow, axis, **ranges):
    x = np.arange(-40, 216).astype(plain).reshape(-1, 1) * np.ones((1, 3), plain)
    text = f"y = Dequantize(x, a, b) {{T={kind}, mode={mode}, narrow_range={narrow}, axis={axis}}}"
    return rule_case(dequantized_by_channel, text, x=x, types={"x": kind}, **ranges)


def round_trip(op, more, x=X, **ranges):
    text = f"y = {op}(x, a, b) {{T={x.dtype}, {more}}}"
    # TensorFlow 2.21 itself fails with ranges by channel, which earlier releases take
    runner = "tfport" if "range_given=true, axis=1" in more else "tensorflow"
    return rule_case(round_trip_by_channel, text, x=x, answers=runner, **ranges)


AWAY, EVEN = "HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"
TRIPS = ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")
CASES = [
    quantized("qint8", "int8", "SCALED", EVEN, "true", 1, **CHANNELS),
    quantized("qint8", "int8", "SCALED", AWAY, "false", 1, **CHANNELS),
    quantized("quint8", "uint8", "SCALED", AWAY, "false", 1, **CHANNELS),
    quantized("qint8", "int8", "SCALED", EVEN, "true", -1, **ONE),
    quantized("quint8", "uint8", "MIN_COMBINED", AWAY, "false", 1, **CHANNELS),
    quantized("qint8", "int8", "MIN_COMBINED", AWAY, "false", 1, **CHANNELS),
    quantized("qint16", "int16", "SCALED", AWAY, "false", 1, **CHANNELS),
    *(
        dequantized(kind, plain, mode, narrow, axis, **(CHANNELS if axis == 1 else ONE))
        for kind, plain in (("qint8", "int8"), ("quint8", "uint8"))
        for mode, narrow, axis in (
            ("MIN_COMBINED", "false", 1),
            ("SCALED", "false", 1),
            ("SCALED", "true", 1),
        )
    ),
    dequantized("qint8", "int8", "SCALED", "true", -1, **ONE),
    *(round_trip(op, "range_given=true, axis=1, narrow_range=true", **CHANNELS) for op in TRIPS),
    round_trip(TRIPS[0], "range_given=false, axis=1", x=X[1:], **CHANNELS),
    round_trip(TRIPS[1], "range_given=true, axis=1, round_mode=HALF_UP, num_bits=5", **CHANNELS),
    round_trip(TRIPS[1], "range_given=true, axis=1, signed_input=false", **CHANNELS),
    round_trip(
        TRIPS[0],
        "range_given=true, narrow_range=true",
        x=X.astype(np.float64),
        a=np.float64(-1),
        b=np.float64(2),
    ),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES[::4], ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, fetches=c.fetches, types=c.types, **c.feeds))


def test_what_older_releases_do_stays():
    same = "its axis and narrow_range are those of older releases"
    text = QUANTIZE % ("qint8", "SCALED", AWAY, "false", -1)
    assert_refuses(quantized_by_channel, text, because=same, x=X, **ONE)
    wide = QUANTIZE % ("qint32", "SCALED", AWAY, "false", 1)
    assert_refuses(quantized_by_channel, wide, because="limits of qint32", x=X, **CHANNELS)
    first = QUANTIZE % ("qint8", "MIN_FIRST", AWAY, "false", 1)
    assert_refuses(quantized_by_channel, first, because="mode MIN_FIRST", x=X, **CHANNELS)
