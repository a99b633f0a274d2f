"""A model that rounds otherwise: weights change by few last bits, means are computed in another order."""

import numpy as np
import pytest

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.engines.rounded_model import LAST_BIT, PART_OF_ROOT, rounded_model
from tfport.runtime.program import ONNX_TYPES

INTS, INT = pb.AttributeProto.INTS, pb.AttributeProto.INT


def model_of(*nodes, constants=None):
    """A model from x to the output of the last node."""
    model = pb.ModelProto(ir_version=9)
    model.opset_import.add(domain="", version=20)
    for name, array in (constants or {}).items():
        model.graph.initializer.add(
            name=name, dims=array.shape, data_type=ONNX_TYPES[array.dtype.name], raw_data=array.tobytes()
        )
    model.graph.name = "graph"
    for into, name in ((model.graph.input, "x"), (model.graph.output, nodes[-1].output[0])):
        into.add(name=name).type.tensor_type.elem_type = ONNX_TYPES["float32"]
    model.graph.node.extend(nodes)
    return model.SerializeToString()


def node(op, inputs, **attrs):
    made = pb.NodeProto(op_type=op, name="y", input=inputs, output=["y"])
    for name, value in attrs.items():
        if isinstance(value, list):
            made.attribute.add(name=name, type=INTS, ints=value)
        else:
            made.attribute.add(name=name, type=INT, i=value)
    return made


def constants_of(model):
    graph = pb.ModelProto.FromString(model).graph
    return {tensor.name: tensor.raw_data for tensor in graph.initializer}


def answer(model, x, weights=None):
    return OnnxRuntime(1).compile(model, weights or {}, ["x"], ["y"])([x])[0]


@pytest.mark.parametrize(
    ("op", "shape", "length"),
    [("MatMul", (400, 3), 400), ("Conv", (3, 100, 2, 2), 400), ("ConvTranspose", (100, 3, 2, 2), 400),
     ("Add", (400, 3), 1)],
)  # fmt: skip
def test_weights_change_with_the_root_of_the_products_in_a_sum(op, shape, length):
    weights = {"w": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    model = model_of(node(op, ["x", "w"]))
    pb_model = pb.ModelProto.FromString(model)
    pb_model.graph.initializer.add(name="w", dims=shape, data_type=ONNX_TYPES["float32"])
    _, changed = rounded_model(pb_model.SerializeToString(), weights, 0)
    parts = np.abs(changed["w"] / weights["w"].astype(np.float64) - 1)
    expected = LAST_BIT * max(1, PART_OF_ROOT * length**0.5)
    assert parts.mean() == pytest.approx(expected, rel=0.1)


def test_small_constants_stay_unless_they_are_factors():
    constants = {"w": np.ones((2, 2), np.float32), "limit": np.float32(6)}
    product = node("MatMul", ["x", "w"])
    product.output[0] = "p"
    model = model_of(product, node("Min", ["p", "limit"]), constants=constants)
    before, after = constants_of(model), constants_of(rounded_model(model, {}, 0)[0])
    assert before["limit"] == after["limit"]
    assert before["w"] != after["w"]


MEANS = {
    "global": (node("GlobalAveragePool", ["x"]), {}),
    "windows": (node("AveragePool", ["x"], kernel_shape=[32, 64], strides=[32, 64], pads=[0] * 4), {}),
    "axes": (node("ReduceMean", ["x", "axes"], keepdims=0), {"axes": np.int64([2, 3])}),
}


@pytest.mark.parametrize("name", MEANS)
def test_means_have_another_order(name):
    mean, constants = MEANS[name]
    x = np.random.default_rng(0).random((1, 4, 64, 64), np.float32)
    model = model_of(mean, constants=constants)
    right, other = answer(model, x), answer(rounded_model(model, {}, 0)[0], x)
    assert right.shape == other.shape
    assert np.allclose(right, other, rtol=1e-5)
    assert not np.array_equal(right, other)


UNCHANGED = {
    "padded": (node("AveragePool", ["x"], kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4), {}),
    "one axis": (node("ReduceMean", ["x", "axes"]), {"axes": np.int64([3])}),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_other_means_stay(name):
    mean, constants = UNCHANGED[name]
    model = model_of(mean, constants=constants)
    graphs = [pb.ModelProto.FromString(content).graph for content in (model, rounded_model(model, {}, 0)[0])]
    assert graphs[0] == graphs[1]


def test_each_seed_changes_otherwise():
    constants = {"w": np.ones((8, 8), np.float32)}
    model = model_of(node("MatMul", ["x", "w"]), constants=constants)
    first, second = (constants_of(rounded_model(model, {}, seed)[0])["w"] for seed in (0, 1))
    assert first != second
