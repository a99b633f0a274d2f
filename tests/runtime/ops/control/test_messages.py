"""Assert, Print and EditDistance."""

import re

import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    run,
    scalar,
    strings,
)

import tfport

NO, YES = np.array(False), np.array(True)
DATA = [
    strings('a"b\n'),
    strings("x", "y"),
    scalar(3),
    i32([1, 2], [3, 4]),
    boolean([True], [False]),
    np.arange(8, dtype=np.float32).reshape(2, 2, 2),
    np.zeros((0, 2), np.float32),
    f32(1e-8, 1e10, np.nan),
    f64(1 / 3, -np.inf),
    f16(1 / 3),
    bf16(1 / 3),
    i8(-3),
]
WORDS = strings("a", "b", "c", "a", "x", "y")

CASES = [
    case("Assert", YES, DATA, summarize=3),
    *(case("Assert", NO, [data], summarize=n, fails=True) for data in DATA for n in (-1, 1, 2, 3)),
    case("Print", f32(1, 2), DATA, message="so: ", first_n=1),
    case("PrintV2", np.array(b"hello", object), output_stream="stderr", end="!\n"),
    *(
        case(
            "EditDistance",
            i64([0, 0], [0, 1], [2, 0]),
            WORDS[:3],
            i64(3, 2),
            i64([0, 0], [1, 0], [1, 1]),
            WORDS[3:],
            i64(4, 2),
            normalize=normalize,
        )
        for normalize in (True, False)
    ),
    case(
        "EditDistance",
        i64([0, 0, 0], [0, 0, 1], [1, 1, 0]),
        i32(1, 2, 3),
        i64(2, 2, 3),
        i64([0, 0, 0], [0, 0, 1], [0, 0, 2]),
        i32(2, 1, 3),
        i64(1, 1, 3),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_messages(c, ways):
    check("messages", c, ways)


@pytest.mark.parametrize(
    ("data", "limit", "text"),
    [
        (DATA[0], 3, r"[a\"b\n]"),
        (DATA[3], 3, "[[1 2][3...]...]"),
        (DATA[3], 2, "[[1 2]...]"),
        (DATA[4], 1, "[[1]...]"),
        (DATA[5], 3, "[[[0 1][2...]]...]"),
        (DATA[5], -1, "[[[0 1][2 3]][[4 5][6 7]]]"),
        (DATA[6], 3, "[]"),
        (DATA[7], 2, "[1e-08 1e+10...]"),
        (DATA[8], 3, "[0.33333333333333331 -inf]"),
        (DATA[9], 3, "[0.333251953]"),
    ],
)
def test_an_assertion_failure_shows_its_data(data, limit, text):
    with pytest.raises(tfport.Error, match=re.escape(f"assertion failed: {text}")):
        run(case("Assert", NO, [data], summarize=limit), "host")


def test_prints_go_to_stderr(capfd):
    run(case("Print", f32(1), [f32(1.5, 2), strings("a")], message="so: "), "host")
    run(case("PrintV2", np.array(b"hello", object), output_stream="stderr", end="!\n"), "host")
    assert capfd.readouterr().err.endswith("so: [1.5 2][a]\nhello!\n")
