"""On a GPU, no branch is left that only saves time, and the answers are the same."""

import numpy as np
import pytest
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu
from tests.runtime.programs import WatchedEngine, session_of

from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.plan import Plan

RESIZE = """
    x = Placeholder() {dtype=float32, shape=(1, ?, ?, 2)}
    size = Placeholder() {dtype=int32, shape=(2)}
    y = ResizeBilinear(x, size) {T=float32, align_corners=false, half_pixel_centers=true}
"""
LARGEST = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    axis = Const() {dtype=int32, value=int32()[1]}
    y = Max(x, axis) {T=float32, Tidx=int32, keep_dims=false}
"""
WHERE_LARGEST = """
    x = Placeholder() {dtype=float32, shape=(?, ?, ?, ?)}
    axis = Const() {dtype=int32, value=int32()[3]}
    y = ArgMax(x, axis) {T=float32, Tidx=int32, output_type=int64}
"""
IMAGE = np.array([1, np.inf, -np.inf, 4, np.nan, 6, 7, 8, 9, 10, 11, 12], np.float32).reshape(1, 2, 3, 2)
CASES = [
    *((RESIZE, {"x": IMAGE, "size": np.array(size, np.int32)}) for size in [(2, 3), (5, 7), (1, 1), (2, 6)]),
    *((LARGEST, {"x": np.array([row], np.float32)}) for row in [(1, 3), (np.nan, 3), (np.inf, -np.inf)]),
    *((WHERE_LARGEST, {"x": np.array([[[row]]], np.float32)}) for row in [(1, 3, 2), (np.nan, 3, 5)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "inputs"), CASES)
def test_answers(text, inputs):
    feeds = {f"{name}:0": array for name, array in inputs.items()}
    expected = session_of(text, engine="none").run("y:0", feeds)
    for engine in (OnnxRuntime(1), engine_on_cpu()):
        np.testing.assert_array_equal(session_of(text, engine=engine).run("y:0", feeds), expected)


@pytest.mark.parametrize(
    ("text", "feeds"), [(RESIZE, ["x:0", "size:0"]), (LARGEST, ["x:0"]), (WHERE_LARGEST, ["x:0"])]
)
def test_branches(text, feeds):
    """A CPU takes them; a GPU would wait for them, and computes them without its host."""
    has_branch = []
    for engine in (OnnxRuntime(1), engine_on_cpu()):
        watched = Watched(engine)
        Plan(session_of(text, engine=engine).program(["y:0"], feeds), watched)
        (model,) = watched.compiled
        has_branch.append("If" in {node.op_type for node in model.graph.node})
    assert has_branch == [True, False]


class Watched(WatchedEngine):
    """An engine with the form of another."""

    def __init__(self, engine) -> None:
        super().__init__(engine)
        self.form, self.on_device = engine.form, engine.on_device
