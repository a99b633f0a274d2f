"""Functions are as accurate as `accuracy.toml` says for all of float32, in the engine and in NumPy."""

import numpy as np
import pytest
from tests.runtime.accurate_functions import (
    BOUNDS,
    EXACT,
    OF_ROWS,
    bound_of,
    errors,
    float32_values,
    graph_of,
    rows,
)
from tests.runtime.programs import session_of

ENGINES = ("onnxruntime", "none")
OF_ELEMENTS = sorted(set(BOUNDS) - set(OF_ROWS))
AT_ODDS = {"Gelu": (np.inf, -np.inf), "GeluTanh": (np.inf, -np.inf), "Swish": (np.inf, -np.inf)}
"""Inputs where kernels of one product may return 0 instead of 0·∞."""
LOSES_NAN = {("CudnnGRU", "onnxruntime"), ("CudnnLSTM", "onnxruntime")}
"""ONNX Runtime's recurrent ops clamp the gates, which makes a number of NaN."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", OF_ELEMENTS)
def test_errors_are_within_their_bound(name, engine):
    x = float32_values()
    answer = session_of(graph_of(name), engine=engine).run(["y:0"], {"x:0": x})[0]
    ignored = np.isin(x, AT_ODDS.get(name, ())) | (np.isnan(x) & ((name, engine) in LOSES_NAN))
    error = np.where(ignored, 0, errors(name, x, answer))
    worst = int(error.argmax())
    assert error[worst] <= bound_of(name), f"{name}({x[worst]}) = {answer[worst]}"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", OF_ELEMENTS)
def test_the_length_of_a_tensor_changes_no_answer_beyond_the_bound(name, engine):
    """Vectorized kernels compute the last elements of a tensor separately."""
    session = session_of(graph_of(name), engine=engine)
    x = np.random.default_rng(0).normal(0, 9, 64).astype(np.float32)
    for length in range(65):
        part = x[64 - length :]
        answer = session.run(["y:0"], {"x:0": part})[0]
        assert (errors(name, part, answer) <= bound_of(name)).all(), (name, length)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("length", [*range(1, 65), 91, 1001, 32_000])
def test_errors_of_rows_are_within_their_bound(name, engine, length):
    x = rows(length, max(2, 4000 // length))
    answer = session_of(graph_of(name), engine=engine).run(["y:0"], {"x:0": x})[0]
    assert errors(name, x, answer).max() <= bound_of(name)


def test_every_function_has_a_bound():
    assert set(BOUNDS) == set(EXACT)
