import numpy as np
import pytest
from tests.runtime.engines.gpu.one_op_models import node, onnx_bytes, onnx_session

from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.engines.gpu.checked_indices import FLAG, check_flags, with_checked_indices

TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
CASES = [
    ("Gather", {}, np.array([[0, 2], [-3, 1]]), np.array([[0, 3], [-3, 1]])),
    ("Gather", {"axis": 1}, np.array([3]), np.array([4])),
    ("Gather", {"axis": -1}, np.array([-4, 3]), np.array([-5])),
    ("GatherElements", {"axis": 1}, np.array([[3], [-4]]), np.array([[3], [4]])),
    ("GatherND", {}, np.array([[2, 3], [-3, -4]]), np.array([[2, 4]])),
    ("GatherND", {}, np.array([[2]]), np.array([[3]])),
    ("GatherND", {"batch_dims": 1}, np.array([[3], [0], [1]]), np.array([[4], [0], [1]])),
]


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize(("op", "attrs", "right", "wrong"), CASES)
def test_indices(op, attrs, right, wrong, kind):
    if kind == "int32" and op == "GatherND":
        pytest.skip("GatherND of ONNX takes only int64")
    model = onnx_bytes(
        [node(op, "table indices", "y", **attrs)],
        {"table": ("float32", 2), "indices": (kind, right.ndim)},
        {"y": "float32"},
    )
    safe, has_flag = with_checked_indices(model)
    assert has_flag
    checked, plain = onnx_session(safe), onnx_session(model)
    feeds = {"table": TABLE, "indices": right.astype(kind)}
    actual, flag = checked.run(["y", FLAG], feeds)
    np.testing.assert_array_equal(actual, plain.run(["y"], feeds)[0])
    check_flags([flag])
    _, flag = checked.run(["y", FLAG], {"table": TABLE, "indices": wrong.astype(kind)})
    with pytest.raises(EngineFailed, match="an index is out of range"):
        check_flags([flag])


def test_any_of_several_nodes_raises_the_flag():
    nodes = [node("Gather", "table i", "a"), node("Gather", "table j", "b"), node("Gather", "table i", "c")]
    inputs = {"table": ("float32", 2), "i": ("int64", 1), "j": ("int64", 1)}
    safe, _ = with_checked_indices(onnx_bytes(nodes, inputs, {"a": "float32", "b": "float32"}))
    session = onnx_session(safe)
    for i, j, expected in ((0, 0, False), (3, 0, True), (0, 3, True)):
        flag = session.run([FLAG], {"table": TABLE, "i": np.array([i]), "j": np.array([j])})[0]
        assert bool(flag) is expected


def test_a_model_without_such_nodes_is_not_changed():
    model = onnx_bytes([node("Exp", "x", "y")], {"x": ("float32", 1)}, {"y": "float32"})
    assert with_checked_indices(model) == (model, False)
