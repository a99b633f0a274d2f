"""Whether ONNX Runtime allocates one block for all tensors of an island."""

import numpy as np
import onnxruntime as ort
import pytest

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.engine import IslandHints
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.island_work import IslandWork
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model


@pytest.mark.parametrize(
    ("op", "work", "has_pattern"),
    [
        ("Conv", IslandWork(1e9, 1, is_fixed=True), False),
        ("Conv", IslandWork(1e3, 1, is_fixed=False), False),
        ("Conv", IslandWork(1e3, 1, is_fixed=True), True),
        ("Relu", IslandWork(1e9, 1, is_fixed=True), True),
    ],
)
def test_large_convolutions_have_no_pattern(op, work, has_pattern, monkeypatch):
    options = []
    usual = ort.InferenceSession

    def session(model, given, **others):
        options.append(given)
        return usual(model, given, **others)

    monkeypatch.setattr(ort, "InferenceSession", session)
    b, x = Builder("test"), Operand(FLOAT32, (1, 2, 4, 4), name="x")
    y = b.Relu(x) if op == "Relu" else b.Conv(x, b.const(np.ones((3, 2, 1, 1)), FLOAT32))
    island = island_model(b.added, [x], [y])
    names = [info.name for info in island.model.graph.input], [o.name for o in island.model.graph.output]
    run = OnnxRuntime(1).compile(
        island.model.SerializeToString(), island.weights, *names, IslandHints(work=work)
    )
    assert run([np.ones((1, 2, 4, 4), np.float32)])[0].sum() > 0
    assert [given.enable_mem_pattern for given in options] == [has_pattern]
