"""Nodes of TensorFlow in models of TensorFlow 1.15 to 2.3: configurations as TensorFlow 1.15 saves them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from tests.frontends.keras.node_models import model_of, results

from tfport.atlas.known_ops import known_ops
from tfport.errors import CannotRun
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import FunctionRef, decode_all, encode
from tfport.graph.dtypes import FLOAT32
from tfport.graph.op_signature import OpTable
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.runtime.lower import KERNELS, LOWERINGS, STRUCTURES

X = np.float32([[[0.3, -1.2, 2.0], [0.5, 0.25, -0.75]], [[1.5, -2.5, 0.1], [3.0, -0.2, 0.9]]])
FLOAT, INT = {"type": "DT_FLOAT"}, {"type": "DT_INT32"}


def node(op, inputs=("x",), constants=None, **attrs):
    stored = {"name": "n", "op": op, "input": ["x", "n/y"], "attr": {"T": FLOAT, **attrs}}
    config = {"trainable": True, "dtype": None, "node_def": stored, "constants": constants or {}}
    return {
        "class_name": "TensorFlowOpLayer",
        "config": config,
        "inbound_nodes": [[[name, 0, 0, {}] for name in inputs]],
    }


def any_node(signature):
    """A node of an op with attributes of some values, and inputs that have its types."""
    record = pb.NodeDef(op=signature.name, name="n")
    for attr in known_ops()[signature.name].attr:
        value = record.attr[attr.name]
        count = max(1, attr.minimum)
        if attr.HasField("default_value") and attr.name not in ("Ndense", "Ncontext_dense"):
            value.CopyFrom(attr.default_value)
        elif attr.type in ("type", "list(type)"):
            allowed = list(attr.allowed_values.list.type)
            chosen = pb.DT_FLOAT if not allowed or pb.DT_FLOAT in allowed else allowed[0]
            value.MergeFrom(
                pb.AttrValue(type=chosen)
                if attr.type == "type"
                else pb.AttrValue(list=pb.AttrValue.ListValue(type=[chosen] * count))
            )
        else:
            plain = {
                "int": count, "float": 1.0, "bool": False, "string": "a", "shape": Shape(()),
                "tensor": Tensor.from_numpy(np.float32(0), FLOAT32), "func": FunctionRef("f"),
                "list(int)": [1] * count, "list(float)": [1.0] * count, "list(string)": ["a"] * count,
                "list(shape)": [Shape(())] * count, "list(func)": [FunctionRef("f")] * count,
            }  # fmt: skip
            allowed = [text.decode() for text in attr.allowed_values.list.s]
            value.CopyFrom(encode(allowed[0] if allowed and attr.type == "string" else plain[attr.type]))
    attrs = decode_all(record.attr)
    types = [dtype for arg in signature.inputs for dtype in arg.types(arg.count(attrs), attrs)]
    stored = {"node_def": MessageToDict(record), "constants": {}}
    refs = [[f"x{i}", 0, 0, {}] for i in range(len(types))]
    node = {"class_name": "TensorFlowOpLayer", "config": stored, "inbound_nodes": [refs]}
    return node, {f"x{i}": str(dtype.base) for i, dtype in enumerate(types)}


SLICE = {"Index": INT, "begin_mask": {"i": "3"}, "end_mask": {"i": "1"}, "ellipsis_mask": {"i": "0"}}
CASES = [
    (node("AddV2", constants={"1": 1.0}), X + 1),
    (node("Sub", constants={"0": 1.0}), 1 - X),
    (node("LeakyRelu", alpha={"f": 0.1}), np.where(X > 0, X, X * 0.1)),
    (node("Mean", constants={"1": [1, 2]}, Tidx=INT, keep_dims={"b": False}), X.mean((1, 2))),
    (node("Sum", constants={"1": -1}, Tidx=INT, keep_dims={"b": True}), X.sum(-1, keepdims=True)),
    (node("Reshape", constants={"1": [-1, 6]}), X.reshape(-1, 6)),
    (node("Transpose", constants={"1": [0, 2, 1]}), X.transpose(0, 2, 1)),
    (node("ExpandDims", constants={"1": 1}), X[:, None]),
    (node("ConcatV2", ("x", "x"), {"2": -1}, N={"i": "2"}), np.concatenate([X, X], -1)),
    (node("Pack", ("x", "x"), axis={"i": "1"}, N={"i": "2"}), np.stack([X, X], 1)),
    (node("Cast", SrcT=FLOAT, DstT=INT), X.astype("i4")),
    (node("BatchMatMulV2", constants={"1": np.eye(3).tolist()}), X),
    (node("GatherV2", constants={"1": [2, 0], "2": 2}), X[..., [2, 0]]),
    (node("StridedSlice", constants={"1": [0, 0, -1], "2": [0, 1, 0], "3": [1, 1, 1]},
          **SLICE, shrink_axis_mask={"i": "4"}), X[:, :1, -1]),
    (node("TopKV2", constants={"1": 2}), -np.sort(-X)[..., :2]),
    (node("Einsum", ("x", "x"), N={"i": "2"}, equation={"s": "YWJjLGFiZC0+YWNk"}),
     np.einsum("abc,abd->acd", X, X)),
    (node("MatrixBandPart", constants={"1": 0, "2": -1}), np.triu(X)),
    (node("Where"), np.argwhere(X)),
    (node("Softmax"), np.exp(X) / np.exp(X).sum(-1, keepdims=True)),
]  # fmt: skip


def test_nodes_compute_what_numpy_computes():
    for (stored, expected), result in zip(
        CASES, results([n for n, _ in CASES], {"x": X}, "2.2.4-tf"), strict=True
    ):
        op = stored["config"]["node_def"]["op"]
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6, err_msg=op)


def test_a_node_may_be_stored_as_text():
    stored = node("AddV2", constants={"1": 1.0})
    stored["config"]["node_def"] = json.dumps(stored["config"]["node_def"])
    np.testing.assert_allclose(results([stored], {"x": X}, "2.4.0")[0], X + 1)


def test_every_op_of_the_runtime_with_inputs_and_outputs_is_built():
    table = OpTable(known_ops())
    ops = {op for catalog in (LOWERINGS, KERNELS, STRUCTURES) for op in catalog.names()}
    signatures = [s for op in sorted(ops) if (s := table.get(op)) is not None and s.inputs and s.outputs]
    assert len(signatures) > 950
    for signature in signatures:
        stored, types = any_node(signature)
        if signature.output_count(decode_all(ParseDict(stored["config"]["node_def"], pb.NodeDef()).attr)):
            model_of([stored], types, "2.2.4-tf")


def test_sizes_that_are_computed_reach_the_shapes():
    """`tf.reshape(x, [tf.shape(x)[0], 6])` has six columns, so that Dense knows its weights."""
    scalar = {"Index": INT, "shrink_axis_mask": {"i": "1"}}
    nodes = [
        node("Shape", out_type=INT),
        node("StridedSlice", ("n000",), {"1": [0], "2": [1], "3": [1]}, **{**scalar, "T": INT}),
        node("Pack", ("n001",), {"1": 6}, T=INT, N={"i": "2"}, axis={"i": "0"}),
        node("Reshape", ("x", "n002"), Tshape=INT),
        {**node("", ("n003",)), "class_name": "Dense", "config": {"units": 2, "use_bias": False}},
    ]
    model = model_of(nodes, {"x": X}, "2.2.4-tf", {"n004": [np.ones((6, 2), "f")]})
    assert str(model.signatures["serving_default"].outputs["n004"].shape) == "(?, 2)"


def test_only_what_needs_the_rank_of_a_tensor_is_refused_where_it_is_unknown():
    parsed = node("ParseTensor", ("s",), out_type=FLOAT)
    inputs = {"s": np.array([b""], object)}
    model = model_of([parsed, node("Neg", ("n000",))], inputs, "2.2.4-tf")
    assert str(model.signatures["serving_default"].outputs["n001"].shape) == "(...)"
    dense = {**node("", ("n000",)), "class_name": "Dense", "config": {"units": 2}}
    with pytest.raises(CannotRun, match="the rank of `n000/ParseTensor` is unknown"):
        model_of([parsed, dense], inputs, "2.2.4-tf")


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (node("Acme>Twice"), "it computes the op `Acme>Twice`, which tfport does not build"),
        ({**node("AddV2"), "config": {"node_def": {}, "constants": {}}}, "its node is not in the file"),
    ],
)
def test_what_cannot_be_built_is_named(stored, message):
    with pytest.raises(CannotRun, match=message):
        results([stored], {"x": X}, "2.2.4-tf")
