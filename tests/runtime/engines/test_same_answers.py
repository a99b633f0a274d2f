"""For which islands, inputs and answers OpenVINO may take the place of ONNX Runtime."""

import numpy as np
import pytest
from tests.runtime.programs import islands_of

from tfport.runtime.engines.same_answers import agree, are_ordinary, may_run_elsewhere

INPUT = "x = Placeholder() {dtype=float32, shape=(2, 3)}\nn = Placeholder() {dtype=int32, shape=(2)}"


@pytest.mark.parametrize(
    ("nodes", "alike"),
    [
        ("y = Relu(x) {T=float32}", True),
        ("y = Sigmoid(x) {T=float32}", True),
        ("y = Sqrt(x) {T=float32}", False),
        ("y = Exp(x) {T=float32}", False),
        ("y = Reciprocal(x) {T=float32}", False),
        ("y = RealDiv(x, x) {T=float32}", False),
        ("c = Const() {dtype=float32, value=float32()[2]}\ny = RealDiv(x, c) {T=float32}", True),
        ("y = Cast(x) {SrcT=float32, DstT=int32, Truncate=false}", False),
        (
            "a = Const() {dtype=int32, value=int32()[0]}\n"
            "y = ArgMax(x, a) {T=float32, Tidx=int32, output_type=int64}",
            False,
        ),
        (
            "a = Const() {dtype=int32, value=int32()[0]}\n"
            "y = GatherV2(x, n, a) {Tparams=float32, Tindices=int32, Taxis=int32, batch_dims=0}",
            False,
        ),
    ],
)
def test_which_islands_mean_the_same(nodes, alike):
    product = "m = MatMul(x, x) {T=float32, transpose_a=true, transpose_b=false}"
    feeds = ["x:0", "n:0"] if "GatherV2" in nodes else ["x:0"]
    (island,) = islands_of(f"{INPUT}\n{product}\n{nodes}", ["y:0", "m:0"], feeds)
    assert may_run_elsewhere(island.graph) == alike


@pytest.mark.parametrize(
    ("array", "ordinary"),
    [
        (np.float32([1, -2]), True),
        (np.int32([2**24 - 1]), True),
        (np.int32([2**24]), False),
        (np.uint32([2**31]), False),
        (np.float32([]), False),
        (np.zeros((0, 3), np.int32), False),
        (np.float32([1, np.nan]), False),
        (np.float32([1, np.inf]), False),
        (np.float32([-np.inf, 1]), False),
        (np.float32([1e30]), False),
        (np.float16([1, np.nan]), False),
    ],
)
def test_which_inputs_are_ordinary(array, ordinary):
    assert are_ordinary([np.float32([0]), array]) == ordinary


@pytest.mark.parametrize(
    ("expected", "answer", "same"),
    [
        (np.float32([1, 1e-9]), np.float32([1 + 5e-6, 0]), True),
        (np.float32([1, 2]), np.float32([1, 2.0001]), False),
        (np.float32([1, np.nan]), np.float32([1, np.nan]), True),
        (np.float32([1, np.nan]), np.float32([1, 0]), False),
        (np.float32([1, 0]), np.float32([1, np.nan]), False),
        (np.float32([1, np.inf]), np.float32([1, -np.inf]), False),
        (np.float64([1]), np.float64([1 + 1e-7]), False),
        (np.float16([1]), np.float16([1.001]), True),
        (np.int64([3]), np.int64([4]), False),
        (np.int64([3]), np.int32([3]), False),
        (np.float32([[1]]), np.float32([1]), False),
        (np.float32([]), np.float32([]), True),
        (np.array([True]), np.array([True]), True),
    ],
)
def test_which_answers_are_the_same(expected, answer, same):
    assert agree([np.int32(0), expected], [np.int32(0), answer]) == same
    assert not agree([expected], [])
