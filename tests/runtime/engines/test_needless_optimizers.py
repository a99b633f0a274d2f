"""Optimizers of ONNX Runtime that are left out where they can change nothing."""

import numpy as np
import onnxruntime as ort
import pytest

from tfport.formats.proto import onnx_pb2 as pb
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.engines import needless_optimizers as module
from tfport.runtime.engines.needless_optimizers import needless_optimizers
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.pass_list import NodeForms


def gelu(b, x):
    return b.Mul(b.Mul(x, b.Add(b.Erf(b.Div(x, number(b, 2**0.5))), number(b, 1))), number(b, 0.5))


def layer_normalization(b, x):
    centered = b.Sub(x, b.ReduceMean(x, b.ints(-1)))
    variance = b.ReduceMean(b.Pow(centered, number(b, 2)), b.ints(-1))
    scaled = b.Div(centered, b.Sqrt(b.Add(variance, number(b, 1e-5))))
    return b.Add(b.Mul(scaled, b.const(np.ones(4), FLOAT32)), b.const(np.ones(4), FLOAT32))


def product(b, x):
    return b.Relu(b.Add(b.MatMul(x, b.const(np.eye(4), FLOAT32)), b.const(np.ones(4), FLOAT32)))


def scaled_product(b, x):
    return b.MatMul(b.Transpose(x, perm=[1, 0]), b.Mul(x, number(b, 3)))


PATTERNS = {
    "Gelu": gelu,
    "QuickGelu": lambda b, x: b.Mul(x, b.Sigmoid(x)),
    "LayerNormalization": layer_normalization,
    "Gemm": product,
    "FusedMatMul": scaled_product,
}


@pytest.mark.parametrize("made", PATTERNS)
def test_the_optimized_model_is_the_same(made, tmp_path, monkeypatch):
    """Each pattern is one that an optimizer of the table replaces."""
    monkeypatch.setattr(module, "_HARMFUL", ())
    model = model_of(PATTERNS[made])
    needless = needless_optimizers(model)
    without, with_all = optimized(model, needless, tmp_path), optimized(model, [], tmp_path)
    assert needless
    assert made.encode() in with_all
    assert without == with_all


def test_a_product_of_float64_keeps_its_digits():
    """The optimizer would make its factor a float32."""

    def scaled(b, x):
        return b.MatMul(x, b.Mul(b.transpose(x, (1, 0)), b.const(1 / 138, x.dtype)))

    assert "MatMulScaleFusion" in needless_optimizers(model_of(scaled, dtype=DType.parse("float64")))
    assert "MatMulScaleFusion" not in needless_optimizers(model_of(scaled))


def test_the_optimizers_for_ops_that_a_model_lacks_are_needless():
    needless = needless_optimizers(model_of(gelu))
    assert {"QDQPropagationTransformer", "MatMulAddFusion", "LayerNormFusionL1"} <= {*needless}
    assert {"GeluFusionL1", "GeluFusionL2", "BiasGeluFusion"}.isdisjoint(needless)


def test_slow_nodes_are_not_made(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_HARMFUL", module._SLOW)
    model = model_of(layer_normalization)
    assert b"LayerNormalization" not in optimized(model, needless_optimizers(model), tmp_path)


def test_an_op_in_a_loop_counts():
    inner, outer = pb.ModelProto.FromString(model_of(gelu)), pb.ModelProto()
    outer.graph.node.add(op_type="Loop").attribute.add(name="body").g.CopyFrom(inner.graph)
    assert "GeluFusionL2" not in needless_optimizers(outer.SerializeToString())


def test_a_name_is_no_op():
    model = model_of(lambda b, x: b.Relu(x), name="MatMul")
    assert b"MatMul" in model
    assert "MatMulAddFusion" in needless_optimizers(model)


def test_a_session_is_opened_without_needless_optimizers(monkeypatch):
    opened, usual = [], ort.InferenceSession

    def session(model, options, **others):
        opened.append(others["disabled_optimizers"])
        return usual(model, options, **others)

    monkeypatch.setattr(ort, "InferenceSession", session)
    model = model_of(gelu)
    OnnxRuntime(1).compile(model, {}, ["x"], ["y"])
    assert opened == [needless_optimizers(model)]


def test_a_large_model_is_not_optimized_node_by_node(tmp_path, monkeypatch):
    def constant_root(b, x):
        return b.Add(x, b.Sqrt(number(b, 2)))

    model = model_of(constant_root)
    general = {"ConstantFolding", "Level1_RuleBasedTransformer"}
    assert general.isdisjoint(needless_optimizers(model))
    assert optimized(model, needless_optimizers(model), tmp_path).count(b"Sqrt") < model.count(b"Sqrt")
    monkeypatch.setattr(module, "LARGE", len(model) - 1)
    assert general <= {*needless_optimizers(model)}
    assert optimized(model, needless_optimizers(model), tmp_path).count(b"Sqrt") == model.count(b"Sqrt")


def number(b, value):
    return b.const(np.float32(value), FLOAT32)


def model_of(compute, name="x", dtype=FLOAT32):
    b, x = Builder("test"), Operand(dtype, (2, 4))
    y = compute(b, x)
    model = island_model(b.added, [x], [y], names={x: name, y: "y"}, forms=NodeForms.PLAIN).model
    return model.SerializeToString()


def optimized(model, disabled, folder):
    """The model as ONNX Runtime optimizes it."""
    path = folder / "optimized.onnx"
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    ort.InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled)
    return path.read_bytes()
