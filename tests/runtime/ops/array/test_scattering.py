import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    c64,
    case,
    check,
    checks,
    f16,
    f32,
    graph_case,
    i8,
    i32,
    i64,
    numbers,
    strings,
)

NAN = np.nan
KINDS = ("Update", "Add", "Sub", "Max", "Min")


def tensor_scatters(*inputs, kinds=KINDS, **options):
    return [case(f"TensorScatter{kind}", *inputs, **options) for kind in kinds]


def on_variable(op, values, indices, updates, kind="float32", more="", handle=True):
    """An update of a variable of four rows."""
    flat = ", ".join(map(str, values))
    n, u = len(indices), len(updates)
    places = f"int32({n},1)" if "Nd" in op else f"int32({n},)"
    if handle:
        lines = f"""
        v = VarHandleOp() {{dtype={kind}, shape=(4,)}}
        start = Const() {{dtype={kind}, value={kind}(4,)[{flat}]}}
        init = AssignVariableOp(v, start) {{dtype={kind}}}
        i = Const(^init) {{dtype=int32, value={places}{list(indices)}}}
        u = Const() {{dtype={kind}, value={kind}({u},){list(updates)}}}
        write = {op}(v, i, u) {{{"T" if "Nd" in op else "dtype"}={kind}, Tindices=int32{more}}}
        y = ReadVariableOp(v, ^write) {{dtype={kind}}}
        """
    else:
        lines = f"""
        v = VariableV2() {{dtype={kind}, shape=(4,)}}
        start = Const() {{dtype={kind}, value={kind}(4,)[{flat}]}}
        init = Assign(v, start) {{T={kind}}}
        i = Const() {{dtype=int32, value={places}{list(indices)}}}
        u = Const() {{dtype={kind}, value={kind}({u},){list(updates)}}}
        y = {op}(init, i, u) {{T={kind}, Tindices=int32{more}}}
        """
    return graph_case(lines, fetches="y:0", name=op, fails=any(not 0 <= i < 4 for i in indices))


ROWS = [*KINDS, "Mul", "Div"]
CASES = [
    case("ScatterNd", i32([4], [3], [1], [4]), f32(9, 10, 11, 12), i32(8)),
    case("ScatterNd", i64([0], [2]), numbers(2, 3, 2), i64(4, 3, 2)),
    case("ScatterNd", i32([0, 1], [2, 2], [0, 1]), numbers(3, 2), i32(3, 3, 2)),
    case("ScatterNd", i32([[0], [1]], [[0], [2]]), numbers(2, 2, 2), i32(3, 2)),
    case("ScatterNd", i32(1), numbers(2), i32(3, 2), fails=True),
    case("ScatterNd", np.zeros((0, 1), np.int32), numbers(0, 2), i32(3, 2)),
    case("ScatterNd", np.zeros((0, 1), np.int32), numbers(0), i32(0)),
    case("ScatterNd", i32([0], [0]), i8(100, 100), i32(2)),
    case("ScatterNd", i32([0]), boolean(True), i32(2)),
    case("ScatterNd", i32([0]), strings("a"), i32(2)),
    case("ScatterNd", i32([0], [0]), c64(1, 2j), i32(2)),
    case("ScatterNd", i32([0], [0]), f16(1, 2), i32(2)),
    case("ScatterNd", i32([0], [0]), bf16(1, 2), i32(2)),
    case("ScatterNd", i32([0], [5]), f32(1, 2), i32(3), bad_indices_policy="IGNORE"),
    case("ScatterNd", i32([0], [5]), f32(1, 2), i32(3), fails=True),
    case("ScatterNd", i32([0], [-1]), f32(1, 2), i32(3), fails=True),
    case("ScatterNd", i32([0, 3], [1, 1]), f32(1, 2), i32(3, 3), fails=True),
    case("ScatterNd", i32([0], [1]), f32(1, 2, 3), i32(3), fails=True),
    case("ScatterNd", i32([0], [1]), numbers(2, 3), i32(3, 2), fails=True),
    case("ScatterNd", np.zeros((2, 0), np.int32), numbers(2, 3), i32(3), fails=True),
    case("ScatterNd", i32([0]), f32(1), i32(0), fails=True),
    case("ScatterNdNonAliasingAdd", f32(1, 2, 3), i32([0], [0]), f32(4, 5)),
    *tensor_scatters(f32(1, 2, 3, 4), i32([1], [3], [1]), f32(9, -1, 2)),
    *tensor_scatters(i32(1, 2, 3, 4), i32([1], [3], [1]), i32(9, -1, 2)),
    *tensor_scatters(numbers(3, 2), i64([2], [0]), numbers(2, 2, seed=1)),
    *tensor_scatters(numbers(3, 2, 2), i32([2, 1], [0, 0]), numbers(2, 2, seed=1)),
    *tensor_scatters(f32(1, NAN, NAN), i32([0], [1]), f32(NAN, 2)),
    *tensor_scatters(f32(1, 2), i32([0], [2]), f32(NAN, 2), fails=True),
    *tensor_scatters(f32(1, 2), i32([0], [-1]), f32(NAN, 2), fails=True, kinds=KINDS[:2]),
    *tensor_scatters(f32(1, 2), np.zeros((0, 1), np.int32), np.zeros(0, np.float32)),
    *tensor_scatters(f32(1, 2), i32([0], [9]), f32(5, 6), bad_indices_policy="IGNORE"),
    case("TensorScatterUpdate", strings("a", "b"), i32([1]), strings("c")),
    case("TensorScatterUpdate", boolean(True, True), i32([1]), boolean(False)),
    case("TensorScatterUpdate", f32(1, 2, 3), i32([0], [0], [0]), f32(8, 9, 10)),
    case("TensorScatterUpdate", f32(1, 2), i32([0]), np.array(5, np.float32), fails=True),
    case("TensorScatterUpdate", f32(1, 2), i32([0, 0]), f32(5), fails=True),
    *(on_variable(f"ResourceScatter{k}", (8, -9, 10, 7), (2, 0, 2), (3, -2, 4)) for k in ROWS),
    *(on_variable(f"Scatter{k}", (8, -9, 10, 7), (2, 1, 2), (3, -2, 4), "int32", handle=False) for k in ROWS),
    *(on_variable(f"ResourceScatterNd{k}", (8, -9, 10, 7), (2, 0, 2), (3, -2, 4)) for k in KINDS),
    *(on_variable(f"ScatterNd{k}", (8, -9, 10, 7), (2, 0, 2), (3, -2, 4), handle=False) for k in KINDS),
    on_variable("ResourceScatterAdd", (8, -9, 10, 7), (2, 4, 2), (3, -2, 4)),
    on_variable("ResourceScatterNdUpdate", (8, -9, 10, 7), (2, -1, 2), (3, -2, 4)),
    on_variable("ScatterUpdate", (8, -9, 10, 7), (2, 4, 2), (3, -2, 4), handle=False),
    case("InplaceAdd", numbers(3, 2), i32(0, 0), numbers(2, 2, seed=1)),
    case("InplaceSub", numbers(3, 2), i32(1, 2), numbers(2, 2, seed=1)),
    case("InplaceUpdate", i32([1, 2], [3, 4]), i32(-1), i32([7, 7])),
    case("InplaceUpdate", i32([1, 2], [3, 4]), i32(3), i32([7, 7])),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_scattering(c, ways):
    check("scattering", c, ways)
