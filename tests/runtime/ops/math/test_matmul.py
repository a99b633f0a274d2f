import pytest
from tests.runtime.cases import case, check, checks, f32, f64, numbers

from tfport.graph.dtypes import FLOAT32

CASES = [
    case("MatMul", numbers(2, 3), numbers(3, 4), transpose_a=False, transpose_b=False),
    case("MatMul", numbers(3, 2), numbers(4, 3), transpose_a=True, transpose_b=True),
    case("MatMul", f64([1, 2]), f64([1], [3])),
    case("MatMul", f32([1, 2]), f32([1], [3], [3]), fails=True),
    case("BatchMatMulV2", numbers(2, 1, 2, 3), numbers(5, 4, 3), adj_x=False, adj_y=True),
    case("BatchMatMulV3", numbers(2, 2, 3), numbers(2, 2, 4), adj_x=True, adj_y=False, Tout=FLOAT32),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_products(c, ways):
    check("matmul", c, ways)
