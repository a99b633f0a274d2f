import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, i32, i64, strings

from tfport.graph.dtypes import INT32, INT64, STRING

INDICES = i64([0, 0], [0, 1], [2, 0])
WORDS = strings("a", "bb", "a much longer word than the others, longer than sixty-four bytes in fact: indeed")
NUMBERS = i64(1, -2, 1 << 40)
SHAPE = i64(3, 2)
OTHER = i64([0, 0], [1, 0], [2, 0], [2, 1])
OTHER_WORDS = strings("x", "y", "z", "w")
DENSE, DENSE_WORDS = i64([1, 2], [3, 4], [5, 6]), strings(["p"], ["q"], ["r"])
EMPTY, NOTHING = np.zeros((0, 2), np.int64), strings()
TWO = ([INDICES, OTHER], [SHAPE, SHAPE])
JOINED = {
    "hashed_output": False,
    "num_buckets": 0,
    "hash_key": 7,
    "out_type": STRING,
    "internal_type": STRING,
}
HASHED = {"hashed_output": True, "hash_key": 956888297470, "out_type": INT64, "internal_type": INT64}


def cross(op, values, dense, *more, indices=TWO[0], shapes=TWO[1], **options):
    types = {"sparse_types": [STRING if v.dtype == object else INT64 for v in values]}
    types["dense_types"] = [STRING if v.dtype == object else INT64 for v in dense]
    return case(op, list(indices), list(values), list(shapes), list(dense), *more, **types, **options)


def ragged(order, rag, sparse=(), dense=(), buckets=0, hashed=False, splits=INT64, **options):
    return case(
        "RaggedCross",
        [v for v, _ in rag],
        [s for _, s in rag],
        [i for i, _ in sparse],
        [v for _, v in sparse],
        [SHAPE for _ in sparse],
        list(dense),
        Nsparse=len(sparse),
        input_order=order,
        hashed_output=hashed,
        num_buckets=buckets,
        hash_key=99,
        out_values_type=INT64 if hashed else STRING,
        out_row_splits_type=splits,
        **options,
    )


SEP = np.array(b"-x-", object)
SALT = i64(137, 173)


def salted(values, dense, buckets, strong, salt=SALT, **options):
    return cross("SparseCrossHashed", values, dense, np.int64(buckets), np.array(strong), salt, **options)


CASES = [
    cross("SparseCross", [WORDS, OTHER_WORDS], [], **JOINED),
    cross("SparseCross", [WORDS, OTHER_WORDS], [DENSE_WORDS], **JOINED),
    cross("SparseCross", [NUMBERS, OTHER_WORDS], [DENSE], **JOINED, fails=True),
    cross("SparseCross", [WORDS, OTHER_WORDS], [DENSE], num_buckets=100, **HASHED),
    cross("SparseCross", [NUMBERS, OTHER_WORDS], [], num_buckets=0, **HASHED),
    cross("SparseCross", [], [DENSE, DENSE_WORDS], indices=[], shapes=[], num_buckets=1000, **HASHED),
    cross("SparseCross", [NOTHING, OTHER_WORDS], [], indices=[EMPTY, OTHER], num_buckets=10, **HASHED),
    cross("SparseCross", [WORDS, OTHER_WORDS], [], shapes=[SHAPE, i64(4, 2)], **JOINED, fails=True),
    cross("SparseCross", [WORDS], [i64(1, 2, 3)], indices=[INDICES], shapes=[SHAPE], **JOINED, fails=True),
    cross("SparseCrossV2", [WORDS, OTHER_WORDS], [DENSE], SEP),
    cross("SparseCrossV2", [NUMBERS, OTHER_WORDS], [DENSE_WORDS], SEP),
    salted([WORDS, OTHER_WORDS], [], 0, False),
    salted([NUMBERS, OTHER_WORDS], [DENSE], 1000, False),
    salted([WORDS, OTHER_WORDS], [DENSE_WORDS], 1000, True),
    salted([NUMBERS, OTHER_WORDS], [], 0, True),
    salted([NUMBERS, OTHER_WORDS], [], 0, True, i64(1), fails=True),
    ragged("RR", [(WORDS, i64(0, 2, 2, 3)), (OTHER_WORDS, i64(0, 1, 2, 4))]),
    ragged("RR", [(WORDS, i64(0, 2, 2, 3)), (NUMBERS, i64(0, 1, 2, 3))], hashed=True, buckets=77),
    ragged("DRS", [(NUMBERS, i32(0, 2, 2, 3))], [(OTHER, OTHER_WORDS)], [DENSE], splits=INT32),
    ragged("SD", [], [(OTHER, OTHER_WORDS)], [DENSE_WORDS], hashed=True),
    ragged("RR", [(WORDS, i64(0, 2, 3)), (NUMBERS, i64(0, 1, 2, 3))], fails=True),
    ragged("RD", [(WORDS, i64(0, 2, 2, 9))], dense=[DENSE], fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_crosses(c, ways):
    check("crosses", c, ways)
