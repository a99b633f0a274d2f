from tests.runtime.engines.gpu.one_op_models import node, onnx_bytes, onnx_session

from tfport.runtime.engines.shared_island import with_fixed_shapes


def test_inputs_have_the_shapes_that_are_named():
    inputs = {"x": ("float32", 2), "y": ("float32", 2)}
    model = onnx_bytes([node("Add", "x y", "z")], inputs, {"z": "float32"})
    fixed = onnx_session(with_fixed_shapes(model, {"x": (2, 3)}))
    assert [(i.name, i.shape) for i in fixed.get_inputs()] == [("x", [2, 3]), ("y", [None, None])]
    scalar = onnx_session(with_fixed_shapes(model, {"x": (), "y": (4, 1)}))
    assert [i.shape for i in scalar.get_inputs()] == [[], [4, 1]]
