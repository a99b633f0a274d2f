"""Draws of several runs at once are the draws of one run after another."""

import numpy as np
import pytest

from tfport.graph.dtypes import DType
from tfport.runtime.lower import KERNELS, Context
from tfport.runtime.ops.random.draw_rows import DRAWS, RowDraw, draw_rows
from tfport.runtime.state import State


@pytest.mark.parametrize("op", DRAWS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dims", [(), (1,), (3, 5), (33,), (2, 0)])
@pytest.mark.parametrize("seeds", [(5, 1), (-1, -1)])
def test_rows_are_the_draws_one_after_another(op, dtype, dims, seeds):
    kind = DType.parse(dtype)
    contexts = [Context(State(), "draw", op, (kind,)) for _ in range(2)]
    (kernel,) = KERNELS.of(op)
    shape = np.array(dims, np.int32)
    expected = [
        kernel.function(shape, seed=seeds[0], seed2=seeds[1], dtype=kind, context=contexts[0])
        for _ in range(9)
    ]
    rows = [draw_rows([RowDraw(contexts[1], seeds, dims)], count)[0] for count in (2, 6, 1)]
    assert np.concatenate(rows).tobytes() == np.stack(expected).astype(kind.numpy).tobytes()


@pytest.mark.parametrize("seeds", [[(5, 1), (5, 2), (5, -3)], [(5, 1), (6, 1), (5, 2)], [(-1, -1), (-1, 7)]])
def test_nodes_that_are_drawn_together_draw_what_each_draws_alone(seeds):
    kinds = [DType.parse(name) for name in ("float32", "float64", "float16")]
    ops = ["RandomUniform", "RandomStandardNormal", "RandomUniform"]
    shapes = [(2, 33), (0, 4), (7,)]
    together, alone = (
        [
            RowDraw(Context(state, f"draw{i}", ops[i], (kinds[i],)), pair, shapes[i])
            for i, pair in enumerate(seeds)
        ]
        for state in (State(), State())
    )
    for rows in (1, 4):
        for drawn, draw in zip(draw_rows(together, rows), alone, strict=True):
            assert drawn.tobytes() == draw_rows([draw], rows)[0].tobytes()
            assert drawn.shape == (rows, *draw.dims)
            assert drawn.dtype == draw.dtype
