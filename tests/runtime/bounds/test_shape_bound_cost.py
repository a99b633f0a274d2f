"""Programs whose work is decided by shapes, and those where values decide."""

import numpy as np
import pytest
from tests.recorded_models import graph, path_of

import tfport
from tfport.graph.build import graph_to_def

X = "x = Placeholder() {dtype=float32, shape=(?, ?)}\n"
N = "n = Placeholder() {dtype=int32, shape=(2)}\n"
FILLED_BY_SHAPE = (
    X
    + """
    s = Shape(x) {T=float32, out_type=int32}
    one = Const() {dtype=float32, value=float32()[1]}
    f = Fill(s, one) {T=float32, index_type=int32}
    y = AddV2(f, x) {T=float32}
"""
)
FILLED_BY_VALUE = (
    N
    + """
    one = Const() {dtype=float32, value=float32()[1]}
    f = Fill(n, one) {T=float32, index_type=int32}
    y = Exp(f) {T=float32}
"""
)
FILLED_BY_BOTH = (
    X
    + N
    + """
    s = Shape(x) {T=float32, out_type=int32}
    m = Mul(s, n) {T=int32}
    one = Const() {dtype=float32, value=float32()[1]}
    f = Fill(m, one) {T=float32, index_type=int32}
    y = Exp(f) {T=float32}
"""
)
TILED = X + N + "y = Tile(x, n) {T=float32, Tmultiples=int32}"


@pytest.mark.parametrize(
    ("text", "steady"),
    [(FILLED_BY_SHAPE, True), (FILLED_BY_VALUE, False), (FILLED_BY_BOTH, False), (TILED, False)],
    ids=["by shape", "by value", "by both", "tiled"],
)
def test_what_values_decide(text, steady):
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))
    feeds = {"x:0": np.ones((2, 3), np.float32), "n:0": np.int32([2, 1])}
    session.run(["y:0"], {name: value for name, value in feeds.items() if f"{name[0]} = Pl" in text})
    (plan,) = session.plans.plans
    assert plan.is_steady is steady


def test_recurrent_layers_are_steady_and_that_is_known_after_the_first_call():
    session = tfport.Session(path_of("keras_lstm"))
    signature = session.model.signatures["serving_default"]
    assert session.is_steady(signature) is None
    session.signature("serving_default")(x=np.ones((1, 3, 2), np.float32))
    assert session.is_steady(signature) is True
    # the plan for inputs that the engine refused does not count
    session.signature("serving_default")(x=np.full((1, 3, 2), np.nan, np.float32))
    assert session.is_steady(signature) is True
