import itertools

import numpy as np
import pytest
from tests.runtime.cases import (
    all_sized,
    bf16,
    boolean,
    c64,
    case,
    check,
    checks,
    f32,
    i32,
    i64,
    numbers,
    same_as,
    scalar,
)

ZERO = np.array(0, np.float32)
NINE = np.array(9, np.float32)
ALIGNS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
BANDS = (i32(-1, 2), i32(0), i32(1), i32(-2, -1), i32(0, 0), i32(1, 2))


def counted(*shape):
    return np.arange(1, np.prod(shape) + 1).reshape(shape).astype(np.float32)


CASES = [
    *(case("MatrixBandPart", numbers(2, 3, 4), scalar(a, np.int64), scalar(z, np.int64))
      for a, z in itertools.product((-1, 0, 1, 3), (-1, 0, 2))),
    case("MatrixBandPart", boolean([True, True], [True, True]), scalar(0), scalar(-1)),
    case("MatrixBandPart", f32([np.nan, np.inf], [np.nan, np.inf]), scalar(0), scalar(0)),
    case("MatrixBandPart", numbers(0, 3), scalar(0), scalar(0)),
    case("MatrixBandPart", numbers(2, 2), scalar(3), scalar(0), fails=True),
    case("MatrixBandPart", numbers(2), scalar(0), scalar(0), fails=True),
    case("Diag", numbers(3)),
    case("Diag", numbers(2, 2)),
    case("Diag", c64(1, 2j)),
    case("DiagPart", numbers(3, 3)),
    case("DiagPart", numbers(2, 3, 2, 3)),
    case("DiagPart", numbers(2, 3), fails=True),
    case("MatrixDiag", numbers(2, 3)),
    case("MatrixDiag", f32(np.nan, np.inf)),
    case("MatrixDiag", boolean(True, False)),
    case("MatrixDiag", bf16(1, 2)),
    case("MatrixDiagPart", numbers(2, 3, 4)),
    case("MatrixDiagPart", numbers(4, 3)),
    case("MatrixSetDiag", numbers(2, 3, 3), numbers(2, 3)),
    case("MatrixSetDiag", numbers(2, 3, 4), numbers(2, 3)),
    case("MatrixSetDiag", numbers(3, 2), numbers(2)),
    case("MatrixSetDiag", numbers(3, 2), numbers(3), fails=True),
    case("MatrixDiagV2", counted(2, 3), scalar(0), scalar(-1), scalar(-1), NINE),
    case("MatrixDiagV2", counted(2, 3), scalar(1), scalar(-1), scalar(-1), ZERO),
    case("MatrixDiagV2", counted(2, 3), scalar(-1), scalar(4), scalar(5), ZERO),
    case("MatrixDiagV2", counted(2, 3), i32(-1, 0), scalar(-1), scalar(-1), NINE),
    *(case("MatrixDiagV3", counted(2, 3, 3), i32(-1, 1), scalar(r), scalar(c), NINE, align=a)
      for a in ALIGNS for r, c in ((-1, -1), (3, 4), (4, 3))),
    case("MatrixDiagV3", counted(2, 3), scalar(0), scalar(3), scalar(5), NINE),
    case("MatrixDiagV3", counted(2, 3), scalar(0), scalar(2), scalar(5), NINE, fails=True),
    case("MatrixDiagV3", counted(2, 3), scalar(0), scalar(4), scalar(5), NINE, fails=True),
    case("MatrixDiagV3", counted(2, 3), i32(1, 0), scalar(-1), scalar(-1), NINE, fails=True),
    case("MatrixDiagV3", counted(2, 3), i32(0, 3), scalar(-1), scalar(-1), NINE, fails=True),
    case("MatrixDiagPartV2", counted(2, 3, 4), i32(-1, 1), NINE),
    *(case("MatrixDiagPartV3", counted(2, 3, 4), k, NINE, align=a) for a in ALIGNS for k in BANDS),
    case("MatrixDiagPartV3", counted(4, 2), i32(-3, 1), NINE),
    case("MatrixDiagPartV3", counted(4, 2), i32(-4), NINE, fails=True),
    case("MatrixDiagPartV3", counted(4, 2), i32(2), NINE, fails=True),
    all_sized("MatrixSetDiagV2", counted(2, 3, 4), -counted(2, 3, 3), i32(-1, 1)),
    *(all_sized("MatrixSetDiagV3", counted(2, 3, 4), -counted(2, 3, 3), i32(-1, 1), align=a) for a in ALIGNS),
    all_sized("MatrixSetDiagV3", counted(2, 3, 3), -counted(2, 3), scalar(0)),
    all_sized("MatrixSetDiagV3", counted(2, 3, 3), -counted(2, 2), scalar(1)),
    all_sized("MatrixSetDiagV3", counted(2, 3, 3), -counted(2, 3), scalar(1), fails=True),
    all_sized("MatrixSetDiagV3", counted(2, 3, 3), -counted(2, 3), scalar(3), fails=True),
    case("MatrixDiagPart", i64([1, 2], [3, 4])),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_diagonals(c, ways):
    check("diagonals", c, ways)


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("MatrixBandPart", (numbers(3, 3), scalar(1, np.int64), scalar(0, np.int64))),
        ("MatrixDiag", (numbers(2, 3),)),
        ("MatrixDiagPart", (numbers(2, 3, 3),)),
        ("MatrixSetDiag", (numbers(3, 3), numbers(3))),
    ],
)
def test_ops_of_old_graphs(op, inputs):
    same_as(case(f"Batch{op}", *inputs), case(op, *inputs))
