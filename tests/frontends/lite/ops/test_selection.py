"""Elements chosen by conditions."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, out, q
from tests.runtime.cases import f32, i8, numbers, scalar

KINDS = (np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16, np.bool_, np.uint32)
FLAGS = np.array([[True, False, True], [False, False, True]])


def _counted(*shape, kind=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


CASES = [
    case("WHERE", FLAGS, outputs=[out("INT64")]),
    *(case("WHERE", np.array([0, 1, 2, 0, 3], kind), outputs=[out("INT64")]) for kind in KINDS[:5]),
    case("WHERE", f32(0, -0.0, np.nan, -1), outputs=[out("INT64")]),
    *(
        case(op, FLAGS, _counted(2, 3, kind=kind), np.flip(_counted(2, 3, kind=kind)), outputs=[out(name)])
        for op in ("SELECT", "SELECT_V2")
        for kind, name in zip(
            KINDS, ("FLOAT32", "INT32", "INT64", "INT8", "UINT8", "INT16", "BOOL", "UINT32"), strict=True
        )
    ),
    case("SELECT", FLAGS[:, 0], numbers(2, 3), numbers(2, 3, seed=1), outputs=[out("FLOAT32")]),
    case("SELECT", np.array(True), numbers(2, 3), numbers(2, 3, seed=1), outputs=[out("FLOAT32")]),
    case("SELECT", FLAGS[:, :1], numbers(2, 3), numbers(2, 3, seed=1), outputs=[out("FLOAT32")], fails=True),
    case("SELECT_V2", FLAGS[:, :1], numbers(2, 3), numbers(3, seed=1), outputs=[out("FLOAT32")]),
    case("SELECT_V2", np.array(False), numbers(2, 1, 3), numbers(2, 1), outputs=[out("FLOAT32")]),
    case("SELECT_V2", FLAGS, f32(7)[0], numbers(2, 3), outputs=[out("FLOAT32")]),
    case("SELECT_V2", FLAGS[0], q(i8(1, 2, 3), 0.5), q(i8(4, 5, 6), 0.5), outputs=[out("INT8", 0.5)]),
    case("LOGICAL_AND", FLAGS, FLAGS[1:]),
    case("LOGICAL_OR", FLAGS, np.array(False)),
    case("LOGICAL_AND", FLAGS, FLAGS[::-1].copy()),
    case("LOGICAL_OR", FLAGS, FLAGS[::-1].copy()),
    case("LOGICAL_NOT", FLAGS),
    case("LOGICAL_NOT", np.zeros((0, 2), bool)),
    case("SELECT", np.array(True), scalar(1), scalar(2), outputs=[out("INT32")]),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_selection(c):
    check("selection", c)
