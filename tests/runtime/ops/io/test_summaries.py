import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, f64, i32, numbers, scalar, strings

SCALAR = strings("loss").reshape(())
A, B = strings(b"\n\x08\n\x01a\x15\x00\x00\x00?"), strings(b"\n\x08\n\x01b\x15\x00\x00\x00?")
CASES = [
    case("ScalarSummary", SCALAR, scalar(0.5, np.float32)),
    case("ScalarSummary", SCALAR, scalar(0, np.int64)),
    case("ScalarSummary", strings("a", "b"), f64(1.25, np.nan)),
    case("ScalarSummary", strings("a", "b"), f32(1), fails=True),
    case("HistogramSummary", SCALAR, numbers(20)),
    case("HistogramSummary", SCALAR, i32(0, 0, 5, -3)),
    case("HistogramSummary", SCALAR, f32()),
    case("HistogramSummary", SCALAR, f64(0, 1e-13, -1e30, 1e30)),
    case("HistogramSummary", SCALAR, f32(np.inf), fails=True),
    case("MergeSummary", [A, B]),
    case("MergeSummary", [A, strings(b"")]),
    case("MergeSummary", [A, B, A], fails=True),
    case("MergeSummary", [A, strings(b"\n\x7f")], fails=True),
    case("TensorSummaryV2", SCALAR, numbers(3), strings(b"\n\x03\n\x01x").reshape(())),
    case("TensorSummaryV2", SCALAR, i32([1, 2], [3, 4]), strings(b"").reshape(())),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_summaries(c, ways):
    check("summaries", c, ways)
