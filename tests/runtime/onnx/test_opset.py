"""Exported models in other versions of ONNX's ops: valid, the same answers, or refused with the reason."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.recorded_models import load

import tfport
from tfport.formats.proto import onnx_pb2 as pb
from tfport.graph.dtypes import BOOL, FLOAT32, INT64, DType
from tfport.runtime.export import OnnxOptions, export_signature
from tfport.runtime.onnx.builder import OPSET, Builder
from tfport.runtime.onnx.file import newest_opset
from tfport.runtime.onnx.known_values import index_mask
from tfport.runtime.onnx.model import onnx_model
from tfport.runtime.onnx.opset import OLDEST, check_opset, ir_version, nodes_at
from tfport.runtime.operand import Operand
from tfport.runtime.select_signature import select_signature

OPSETS = range(OLDEST, 27)
X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def answers(nodes, x, outputs, opset):
    model = onnx_model(nodes, [x], outputs, exported=True, version=opset).model
    model.ir_version = ir_version(opset)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: X})


def sizes(b, x):
    return b.Shape(x, start=1, end=3)


def parts(b, x):
    return b.nodes("Split", x, outputs=2, axis=2, num_outputs=2)


def gathered(b, x):
    index = b.const([0, 1, 0], INT64)
    at = b.BitwiseAnd(b.Add(index, b.Shape(b.squeeze(x))), b.const(index_mask(INT64), INT64))
    return b.Cast(at, to=7)


def masked(dtype):
    return lambda b, x: b.BitwiseAnd(b.cast(x, dtype), b.const(index_mask(dtype), dtype))


ONE_NODE = {
    "ReduceMax": lambda b, x: b.ReduceMax(x, b.ints(0, -1), keepdims=0),
    "ReduceMean of all axes": lambda b, x: b.ReduceMean(x, keepdims=1),
    "ReduceMin of no axes": lambda b, x: b.ReduceMin(x, b.ints(), noop_with_empty_axes=1),
    "ReduceSum": lambda b, x: b.ReduceSum(x, b.ints(1)),
    "Shape of some axes": sizes,
    "Split": parts,
    "Reshape": lambda b, x: b.Reshape(x, b.ints(3, -1), allowzero=1),
    "Pad of some axes": lambda b, x: b.Pad(x, b.ints(1, 0, 2, 1), None, b.ints(2, 0)),
    "Gelu": lambda b, x: b.Gelu(x),
    "Gelu by tanh": lambda b, x: b.Gelu(x, approximate="tanh"),
    "HardSwish": lambda b, x: b.HardSwish(x),
    "LayerNormalization": lambda b, x: b.LayerNormalization(
        x, b.const([1, 2, 3, 4], FLOAT32), b.const([4, 3, 2, 1], FLOAT32), axis=-1, epsilon=0.001
    ),
    "LayerNormalization of two axes": lambda b, x: b.LayerNormalization(
        x, b.const(np.ones((3, 4)), FLOAT32), axis=1
    ),
    "Trilu": lambda b, x: b.Trilu(x, b.const(1, INT64), upper=0),
    "BitwiseAnd": gathered,
}


@pytest.mark.parametrize("build", ONE_NODE.values(), ids=ONE_NODE)
def test_a_node_computes_the_same_in_every_opset(build):
    x, b = Operand(FLOAT32, X.shape), Builder("node")
    built = build(b, x)
    outputs = built if isinstance(built, list) else [built]
    expected = answers(b.added, x, outputs, OPSET)
    for opset in OPSETS:
        for actual, wanted in zip(
            answers(nodes_at(b.added, opset), x, outputs, opset), expected, strict=True
        ):
            np.testing.assert_allclose(actual, wanted, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda b, x: b.Reshape(x, b.ints(3, -1), allowzero=1), [("Reshape", {})]),
        (lambda b, x: b.Reshape(x, b.ints(0, 3), allowzero=1), [("Reshape", {"allowzero": 1})]),
        (masked(INT64), [("Cast", {"to": 7}), ("Less", {}), ("Where", {})]),
        # ONNX Runtime has no Less of int16
        (masked(DType.parse("int16")), [("Cast", {"to": 5}), ("BitwiseAnd", {})]),
    ],
)
def test_what_few_readers_know_is_said_otherwise_in_every_opset(build, expected):
    x, b = Operand(FLOAT32, X.shape), Builder("node")
    build(b, x)
    assert [(node.op, dict(node.attrs)) for node in nodes_at(b.added, OPSET)] == expected


@pytest.mark.parametrize("name", ["keras_functional", "keras_lstm", "functional_loops", "tensor_lists"])
def test_a_model_is_valid_in_every_opset(name, tmp_path):
    session = tfport.Session(load(name))
    for opset in OPSETS:
        path = tmp_path / f"{opset}.onnx"
        export_signature(session, select_signature(session.model), path, OnnxOptions(opset=opset))
        written = pb.ModelProto.FromString(path.read_bytes())
        assert {(entry.domain, entry.version) for entry in written.opset_import} == {("", opset)}
        assert written.ir_version == ir_version(opset)


@pytest.mark.parametrize(
    ("build", "opset", "why"),
    [
        (lambda b, x: b.BitwiseNot(b.cast(x, INT64)), 17, "`node` (BitwiseNot): BitwiseNot needs opset 18"),
        (lambda b, x: b.Pad(x, b.ints(*[1] * 6), mode="wrap"), 18, "`node` (Pad): mode=wrap needs opset 19"),
        (
            lambda b, x: b.ReduceMax(b.cast(x, BOOL), b.ints(0)),
            19,
            "`node` (ReduceMax): ReduceMax of bool, int64 needs opset 20",
        ),
    ],
)
def test_what_an_opset_cannot_say_is_refused(build, opset, why):
    x, b = Operand(FLOAT32, X.shape), Builder("node")
    build(b, x)
    with pytest.raises(tfport.CannotRun) as refused:
        nodes_at(b.added, opset)
    assert str(refused.value) == f"not possible with --opset {opset}: {why}"


def test_opsets_are_those_of_onnx_runtime():
    newest = newest_opset()
    assert newest >= 20
    check_opset(OLDEST, newest)
    check_opset(newest, newest)
    for opset in (OLDEST - 1, newest + 1):
        with pytest.raises(tfport.Error, match=f"--opset {opset}: expected 13 to {newest}"):
            check_opset(opset, newest)
