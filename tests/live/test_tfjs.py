"""A TensorFlow.js model that was rewritten for TensorFlow answers there as in tfport."""

import numpy as np
import pytest
import tensorflow as tf
from tests.graph.test_load_tfjs import FLOATS, LOOP_WEIGHTS, const, loop, write

import tfport

F4 = np.float32
SIZES = {"dim": [{"size": size} for size in ("-1", "5", "6", "2")]}
IMAGE = {"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}, "shape": {"shape": SIZES}}}
NAMES = {"Qmlhc0FkZA==": "BiasAdd", "UHJlbHU=": "Prelu", "Tm9PcA==": "NoOp", "UmVsdTY=": "Relu6"}
BASE64 = {name: code for code, name in NAMES.items()}


def convolution(name, op, inputs, fused):
    attrs = FLOATS | {
        "strides": {"list": {"i": ["1", "1", "1", "1"]}},
        "padding": {"s": "U0FNRQ=="},
        "fused_ops": {"list": {"s": [BASE64[name] for name in fused]}},
        "num_args": {"i": str(len(inputs) - 2)},
    }
    return {"name": name, "op": op, "input": inputs, "attr": attrs}


def fused_model(folder):
    """Convolutions with the ops that TensorFlow does not have, or has with other attributes."""
    rng = np.random.default_rng(3)
    shapes = {"f": (3, 3, 2, 4), "b": (4,), "a": (1, 1, 4), "d": (3, 3, 4, 1), "a2": (5, 6, 4)}
    weights = [(name, rng.standard_normal(shape).astype(F4)) for name, shape in shapes.items()]
    nodes = [
        IMAGE,
        *(const(name, shape=shape) for name, shape in shapes.items()),
        convolution("c", "_FusedConv2D", ["x", "f", "b", "a"], ["BiasAdd", "Prelu"]),
        convolution("e", "FusedDepthwiseConv2dNative", ["c", "d", "b", "a"], ["BiasAdd", "Prelu"]),
        convolution("g", "FusedDepthwiseConv2dNative", ["e", "d"], ["NoOp", "Relu6"]),
        {"name": "y", "op": "Prelu", "input": ["g", "a2"], "attr": {}},
    ]
    signature = {
        "inputs": {"x": {"name": "x", "dtype": "DT_FLOAT", "tensorShape": SIZES}},
        "outputs": {"y": {"name": "y", "dtype": "DT_FLOAT"}},
    }
    return write(folder, nodes, weights, signature=signature), rng.standard_normal((2, 5, 6, 2)).astype(F4)


def loop_model(folder):
    nodes, library = loop()
    signature = {
        "inputs": {"x": {"name": "x:0", "dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": "2"}]}}},
        "outputs": {"y": {"name": "y:0", "dtype": "DT_FLOAT"}},
    }
    return write(folder, nodes, LOOP_WEIGHTS, library=library, signature=signature), np.array([1, 2], F4)


@pytest.mark.parametrize("make", [fused_model, loop_model])
def test_a_rewritten_model_is_a_saved_model_with_the_same_answers(make, tmp_path):
    folder, x = make(tmp_path)
    expected = tfport.Session(tfport.load(folder)).signature("serving_default")(x=x)["y"]
    tfport.fix(folder, target="tensorflow==2.21.0").save(tmp_path / "fixed")
    served = tf.saved_model.load(str(tmp_path / "fixed")).signatures["serving_default"]
    np.testing.assert_allclose(served(x=tf.constant(x))["y"].numpy(), expected, rtol=1e-5, atol=1e-5)


def test_tensorflow_refuses_the_graph_as_it_is(tmp_path):
    folder, _ = fused_model(tmp_path)
    model = tfport.load(folder)
    verdicts = [tfport.check(model, on=target).verdict for target in ("tensorflow==2.21.0", "tfport")]
    assert verdicts == ["fails", "runs"]
    tfport.save(model, tmp_path / "as_it_is")
    with pytest.raises(Exception, match=r"FusedDepthwiseConv2dNative|TArgs"):
        tf.saved_model.load(str(tmp_path / "as_it_is"))
