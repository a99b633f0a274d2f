import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    c64,
    c128,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    numbers,
    u8,
    u16,
    u32,
    u64,
)

from tfport.graph.dtypes import INT32, DType

FLOATS = (f32, f64, f16, bf16)
INTEGERS = (i32, i64)
COMPLEX = (c64, c128)
BOTH = [(False, False), (False, True), (True, False), (True, True)]
BFLOAT16 = DType.parse("bfloat16")


def es(equation, *shapes, kind=np.float32, **options):
    return case(
        "Einsum",
        [numbers(*s, kind=kind, seed=i, low=-3, high=3) for i, s in enumerate(shapes)],
        equation=equation,
        **options,
    )


def fused(ops, *args, **options):
    epsilon = {"epsilon": 0.0001, "leakyrelu_alpha": 0.3}
    return case(
        "_FusedMatMul",
        f32([1, -2], [3, 0.5]),
        f32([1, 2], [-3, 4]),
        list(args),
        fused_ops=ops,
        **epsilon,
        **options,
    )


CASES = [
    *(
        case("MatMul", kind([1, 2], [3, 4]), kind([5, 6], [7, 9]), transpose_a=a, transpose_b=b)
        for kind in (*FLOATS, *INTEGERS, *COMPLEX)
        for a, b in BOTH
    ),
    case("MatMul", c64([1 + 2j]), c64([1 + 1j]), transpose_a=True),
    case("MatMul", np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)),
    case("MatMul", np.zeros((0, 2), np.float32), np.zeros((2, 3), np.float32)),
    case(
        "MatMul",
        np.zeros((0, 2), np.float32),
        np.zeros((3, 0), np.float32),
        transpose_a=True,
        transpose_b=True,
    ),
    case("MatMul", numbers(1, 2, 2), numbers(1, 2, 2), fails=True),
    case("MatMul", i32([2**30, 5]), i32([4], [3])),
    *(
        case(op, kind([[1, 2], [3, 4]]), kind([[5, 6], [7, 9]]), adj_x=a, adj_y=b)
        for op in ("BatchMatMul", "BatchMatMulV2")
        for kind in (*FLOATS, *INTEGERS)
        for a, b in BOTH
    ),
    *(
        case("BatchMatMulV2", kind([[1 + 2j, 3], [0, 1j]]), kind([[1j, 1 + 1j], [2, 3]]), adj_x=a, adj_y=b)
        for kind in COMPLEX
        for a, b in BOTH
    ),
    case("BatchMatMul", numbers(2, 2, 2), numbers(1, 2, 2), fails=True, ways=("host",)),
    case("BatchMatMul", numbers(2, 2), numbers(2, 2)),
    case("BatchMatMulV2", numbers(2), numbers(2, 2), fails=True),
    case("BatchMatMulV2", numbers(2, 3), numbers(4, 1, 3, 2)),
    case("BatchMatMulV2", numbers(0, 2, 3), numbers(0, 3, 2)),
    case("BatchMatMulV2", numbers(2, 2, 0), numbers(2, 0, 2)),
    case("BatchMatMulV2", numbers(3, 2, 2), numbers(2, 2, 2), fails=True),
    *(
        case("BatchMatMulV3", x([[100, 100]]), y([[100], [50]]), Tout=INT32)
        for x in (i8, u8)
        for y in (i8, u8)
    ),
    case("BatchMatMulV3", bf16([[1, 2]]), i8([[3], [4]]), Tout=BFLOAT16),
    case("BatchMatMulV3", u8([[1, 2]]), bf16([[3], [4]]), Tout=BFLOAT16),
    *(
        case(
            "SparseMatMul",
            x([0, 2], [3, 0]),
            y([1, 0], [0, 4]),
            transpose_a=a,
            transpose_b=b,
            a_is_sparse=a,
            b_is_sparse=not a,
        )
        for x in (f32, bf16)
        for y in (f32, bf16)
        for a, b in BOTH
    ),
    *(
        fused(ops, f32(0.5, -1))
        for ops in (
            ["BiasAdd"],
            ["BiasAdd", "Relu"],
            ["BiasAdd", "Relu6"],
            ["BiasAdd", "Elu"],
            ["BiasAdd", "LeakyRelu"],
            ["BiasAdd", "Tanh"],
            ["BiasAdd", "Sigmoid"],
            ["BiasAdd", "GeluApproximate"],
            ["BiasAdd", "GeluExact"],
        )
    ),
    fused(["BiasAdd", "Relu"], f32(0.5, -1), transpose_a=True, transpose_b=True),
    es("ij,jk->ik", (2, 3), (3, 4)),
    *(
        es("ij,jk->ki", (2, 3), (3, 4), kind=kind)
        for kind in (np.float64, np.float16, np.int32, np.int64, np.complex64)
    ),
    es("abc,cd->abd", (2, 3, 4), (4, 5)),
    es("abc,cde->abde", (2, 3, 4), (4, 2, 3)),
    es("abcd,cde->abe", (2, 3, 2, 3), (2, 3, 4)),
    es("aecd,abcd->acbe", (2, 3, 2, 4), (2, 5, 2, 4)),
    es("acbe,aecd->abcd", (2, 2, 5, 3), (2, 3, 2, 4)),
    es("bij,bjkl->bikl", (2, 3, 4), (2, 4, 2, 2)),
    es("bijk,bkl->bijl", (2, 3, 2, 4), (2, 4, 2)),
    es("bi,bi->b", (2, 3), (2, 3)),
    es("bi,bij->bj", (2, 3), (2, 3, 4)),
    es("bij,bj->bi", (2, 3, 4), (2, 4)),
    es("i,i->", (3,), (3,)),
    es("i,j->ij", (2,), (3,)),
    es("bi,bj->bij", (2, 3), (2, 4)),
    es("ij,ij->ij", (2, 3), (2, 3)),
    es("ijk,jk->i", (2, 3, 4), (3, 4)),
    es("ij,jk->", (2, 3), (3, 2)),
    es("ij,jk->k", (2, 3), (3, 2)),
    es("ii->i", (3, 3)),
    es("ii->", (3, 3)),
    es("i->ii", (2,)),
    es("ij,jk->iik", (2, 3), (3, 2)),
    es("iij,jk->ik", (2, 2, 3), (3, 2)),
    es("abc->cb", (2, 3, 4)),
    es("abc->cab", (2, 3, 4)),
    es("i->", (0,)),
    es("->", ()),
    es(",->", (), ()),
    es("Aa,ab->Ab", (2, 3), (3, 2)),
    es("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    es("...ij,...jk->...ik", (2, 1, 2, 3), (5, 3, 2)),
    es("...i->...", (2, 2)),
    es("i...->...", (2, 3, 4)),
    es("i...,...i->...", (2, 3), (3, 2)),
    es("...,...->...", (1, 3), (2, 1)),
    es("...a,...a->...", (0, 3), (0, 3)),
    es("ab,bc->ac", (2, 0), (0, 2)),
    es("abc,cde->abde", (0, 3, 4), (4, 2, 3)),
    es("...->", (2, 2), fails=True),
    es("ij,jk->ik", (2, 3), (2, 2), fails=True),
    es("ij,ij->ij", (1, 3), (2, 3), fails=True, ways=("host",)),
    es("ij->i", (2, 3, 4), fails=True),
    *(
        case("Cross", kind([1, 2, 3], [0, 1, 0]), kind([4, 5, 7], [1, 0, 0]))
        for kind in (*FLOATS, i8, i16, i32, i64, u8, u16, u32, u64)
    ),
    case("Cross", f32(1, 2), f32(1, 2), fails=True),
    case("Cross", f32(1, 2, 3), f32([1, 2, 3]), fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_products(c, ways):
    check("products", c, ways)
