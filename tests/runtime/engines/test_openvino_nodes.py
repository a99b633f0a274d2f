"""Which nodes OpenVINO may compute: those that mean the same there."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.graph.dtypes import DType
from tfport.runtime.engines.openvino_nodes import may_run_elsewhere
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

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
        ("c = Const() {dtype=float32, value=float32(3)[1, 0, 2]}\ny = RealDiv(x, c) {T=float32}", False),
        ("y = Cast(x) {SrcT=float32, DstT=int32, Truncate=false}", False),
        ("y = Cast(n) {SrcT=int32, DstT=float32, Truncate=false}", True),
        ("y = Cast(n) {SrcT=int32, DstT=int64, Truncate=false}", True),
        ("y = Cast(n) {SrcT=int32, DstT=uint8, Truncate=false}", False),
        ("y = Cast(x) {SrcT=float32, DstT=float64, Truncate=false}", False),
        ("y = AddV2(n, n) {T=int32}", False),
        ("y = Maximum(n, n) {T=int32}", False),
        ("y = Equal(n, n) {T=int32}", False),
        ("y = Greater(x, x) {T=float32}", False),
        ("y = Floor(x) {T=float32}", False),
        ("y = Softplus(x) {T=float32}", False),
        ("a = Const() {dtype=int32, value=int32()[0]}\ny = ExpandDims(n, a) {T=int32, Tdim=int32}", True),
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
def test_which_nodes_mean_the_same(nodes, alike):
    session = session_of(f"{INPUT}\n{nodes}")
    (*_, step) = session.program(["y:0"], ["x:0", "n:0"]).steps
    assert all(map(may_run_elsewhere, step.lowered)) == alike


def operand(name, shape=None, value=None):
    return Operand(DType.parse(name), shape, value=value)


@pytest.mark.parametrize(
    ("size", "indices", "alike"),
    [
        (3, [0, 2], True),
        (3, [-3], True),
        (3, [3], False),
        (3, [-4], False),
        (3, [], False),
        (None, [0], False),
    ],
)
def test_indices_must_be_in_range_of_a_known_size(size, indices, alike):
    inputs = operand("float32", [2, size]), operand("int64", value=np.int64(indices))
    node = OnnxNode("Gather", inputs, (operand("float32"),), {"axis": 1})
    assert may_run_elsewhere(node) == alike


@pytest.mark.parametrize(("number", "alike"), [(1000, True), (2**24 + 1, False), (-(2**40), False)])
def test_large_integers_among_the_constants_stay(number, alike):
    inputs = operand("int64", [2]), operand("int64", value=np.int64([number]))
    assert may_run_elsewhere(OnnxNode("Concat", inputs, (operand("int64"),), {"axis": 0})) == alike


@pytest.mark.parametrize(("number", "alike"), [(-1e9, True), (-np.inf, False), (np.nan, False)])
def test_constants_must_be_finite(number, alike):
    inputs = operand("float32", [2]), operand("float32", value=np.float32([number]))
    assert may_run_elsewhere(OnnxNode("Add", inputs, (operand("float32"),), {})) == alike


@pytest.mark.parametrize(("padding", "alike"), [({}, True), ({"output_padding": [0, 1]}, False)])
def test_a_transposed_convolution_without_padding_of_its_output_may_go(padding, alike):
    weights = operand("float32", value=np.ones((2, 3, 3, 3), np.float32))
    inputs = operand("float32", [1, 2, 4, 4]), weights
    node = OnnxNode("ConvTranspose", inputs, (operand("float32"),), {"strides": [2, 2], **padding})
    assert may_run_elsewhere(node) == alike


@pytest.mark.parametrize(
    ("lengths", "attrs", "alike"),
    [
        (None, {}, True),
        (None, {"direction": "reverse"}, True),
        (None, {"clip": 3.0}, False),
        (operand("int32", [2]), {}, False),
    ],
)
@pytest.mark.parametrize("op", ["LSTM", "GRU"])
def test_recurrent_nodes_without_lengths_of_rows_may_go(op, lengths, attrs, alike):
    floats = [operand("float32") for _ in range(4)]
    node = OnnxNode(op, (*floats, lengths, floats[0]), (operand("float32"),), {"hidden_size": 2, **attrs})
    assert may_run_elsewhere(node) == alike


@pytest.mark.parametrize(("dtype", "alike"), [("float32", True), ("float16", False), ("float64", False)])
def test_other_floats_than_float32_stay(dtype, alike):
    node = OnnxNode("Add", (operand(dtype), operand(dtype)), (operand(dtype),), {})
    assert may_run_elsewhere(node) == alike
