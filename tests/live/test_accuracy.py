"""TensorFlow's functions are as accurate as `tests/runtime/accuracy.toml` says."""

import numpy as np
import pytest
import tensorflow as tf
from tests.recorded_models import graph
from tests.runtime.accurate_functions import BOUNDS, OF_ROWS, errors, float32_values, graph_of, rows

from tfport.graph.build import graph_to_def

ON_CPU = [name for name, bound in BOUNDS.items() if "tensorflow" in bound]


@pytest.mark.parametrize("name", sorted(set(ON_CPU) - set(OF_ROWS)))
def test_errors_are_within_their_bound(name):
    x = float32_values()
    x = x[np.isfinite(x)] if BOUNDS[name].get("scale") == "input" else x  # these are products: 0·∞
    answer = answer_of(name, x)
    error = errors(name, x, answer)
    worst = int(error.argmax())
    assert error[worst] <= BOUNDS[name]["tensorflow"], f"{name}({x[worst]}) = {answer[worst]}"


@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("length", [1, 2, 7, 16, 33, 64, 1001, 32_000])
def test_errors_of_rows_are_within_their_bound(name, length):
    x = rows(length, max(2, 4000 // length))
    assert errors(name, x, answer_of(name, x)).max() <= BOUNDS[name]["tensorflow"]


def answer_of(name, x):
    graph_def = tf.compat.v1.GraphDef.FromString(graph_to_def(graph(graph_of(name))).SerializeToString())
    with tf.Graph().as_default() as theirs:
        tf.import_graph_def(graph_def, name="")
        with tf.compat.v1.Session(graph=theirs) as session:
            return session.run("y:0", {"x:0": x})
