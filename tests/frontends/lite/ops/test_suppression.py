"""Non-maximum suppression, embeddings, Fourier transforms and random numbers."""

from functools import partial

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out, q, run
from tests.runtime.cases import f32, i32, numbers

BOXES = f32(
    0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, -0.1, 1, 0.9, 0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100, 1, 101
).reshape(6, 4)
SCORES = f32(0.9, 0.75, 0.6, 0.95, 0.5, 0.3)
INDICES, NUMBER, FLOAT = out("INT32"), out("INT32"), out("FLOAT32")
scalar = lambda value, kind=np.float32: const(np.array(value, kind))  # noqa: E731
random = partial(case, options_type="RandomOptions", outputs=[FLOAT])


def sparse_rows(rows, places, shape, combiner, **more):
    weights = numbers(len(rows), low=0.5, high=2)
    inputs = (rows, places, shape, weights, const(numbers(4, 3, seed=1)))
    return case("EMBEDDING_LOOKUP_SPARSE", *inputs, combiner=combiner, outputs=[FLOAT], **more)


CASES = [
    *(
        case(
            "NON_MAX_SUPPRESSION_V4",
            BOXES,
            SCORES,
            scalar(most, np.int32),
            scalar(overlap),
            scalar(lowest),
            outputs=[INDICES, NUMBER],
        )
        for most, overlap, lowest in ((6, 0.5, 0.0), (2, 0.5, 0.4), (3, 0.1, 0.99), (6, 0.9, 0.0))
    ),
    *(
        case(
            "NON_MAX_SUPPRESSION_V5",
            BOXES,
            SCORES,
            scalar(6, np.int32),
            scalar(0.5),
            scalar(lowest),
            scalar(sigma),
            outputs=[INDICES, FLOAT, NUMBER],
        )
        for lowest, sigma in ((0.0, 0.0), (0.4, 0.0), (0.0, 0.5), (0.4, 0.1))
    ),
    case(
        "NON_MAX_SUPPRESSION_V5",
        BOXES,
        SCORES,
        scalar(6, np.int32),
        scalar(0.95),
        scalar(0.1),
        scalar(0.5),
        outputs=[INDICES, FLOAT, NUMBER],
    ),
    *(
        sparse_rows(i32(*rows), i32(*places).reshape(-1, axes), i32(*shape), combiner)
        for combiner in ("SUM", "MEAN", "SQRTN")
        for rows, places, shape, axes in (
            ((1, 3, 0), (0, 0, 2, 0, 2, 1), (3, 2), 2),
            ((1, 3, 0, 2), (0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1), (2, 3, 2), 3),
            ((2, 1, 0), (1, 0, 0, 0, 1, 1), (2, 2), 2),  # a place that comes back
        )
    ),
    sparse_rows(i32(1, 4), i32(0, 0, 1, 0).reshape(2, 2), i32(2, 2), "SUM", fails=True),
    sparse_rows(i32(1, 0), i32(0, 0, 1, 0).reshape(2, 2), i32(2, 2, 2), "SUM", fails=True),
    case("EMBEDDING_LOOKUP", i32(1, 0, 2), const(numbers(3, 2)), outputs=[FLOAT]),
    case("EMBEDDING_LOOKUP", i32(2), const(numbers(3, 2, 4)), outputs=[FLOAT]),
    case("EMBEDDING_LOOKUP", i32(1, 3), const(numbers(3, 2)), outputs=[FLOAT], fails=True),
    case(
        "EMBEDDING_LOOKUP",
        i32(1, 0),
        const(q(np.arange(-3, 3, dtype=np.int8).reshape(3, 2), 0.5)),
        outputs=[FLOAT],
        version=2,
    ),
    *(
        case(
            "RFFT2D",
            numbers(*shape),
            const(i32(*length)),
            options_type="Rfft2dOptions",
            outputs=[out("COMPLEX64")],
            atol=1e-5,
        )
        for shape, length in (
            ((4, 8), (4, 8)),
            ((2, 1, 16), (1, 16)),
            ((3, 4, 4), (2, 4)),
            ((1, 2, 2), (4, 4)),
        )
    ),
    random("MULTINOMIAL", numbers(2, 3), scalar(4, np.int32), seed=7, seed2=11, outputs=[out("INT64")]),
    random("MULTINOMIAL", numbers(2, 3), scalar(4, np.int32), seed=7, seed2=11, outputs=[out("INT32")]),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_suppression(c):
    check("suppression", c)


FIRST_DRAWS = {
    "RANDOM_UNIFORM": f32(0.02318633, 0.09948754, 0.5691265, 0.58422816, 0.46582305),
    "RANDOM_STANDARD_NORMAL": f32(1.6056037, 2.2249544, -0.53603446, -0.9164999, 1.2182597),
}
"""Of the real interpreter with the seeds 7 and 11; its next ones differ from TensorFlow's."""


@pytest.mark.parametrize("op", FIRST_DRAWS)
def test_first_draws_are_those_of_the_interpreter(op):
    (drawn,) = run(random(op, const(i32(5)), seed=7, seed2=11), "host")
    np.testing.assert_allclose(drawn, FIRST_DRAWS[op], rtol=1e-6)
