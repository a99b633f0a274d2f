"""Keys of islands: equal for the same island in another process, else different."""

import numpy as np
from tests.runtime.programs import session_of

from tfport.formats.proto.onnx_pb2 import ModelProto
from tfport.runtime.engines.island_key import island_key, machine
from tfport.runtime.plan import Plan

GRAPH = """
    x = Placeholder() {{dtype=float32, shape=(?, 512)}}
    y = {op}(x, w) {{T=float32, transpose_a=false, transpose_b=false}}
    z = {then}(y) {{T=float32}}
"""


def key(*settings, op="MatMul", then="Relu", value=1.0):
    weights = f"w = Const() {{dtype=float32, value=float32(512, 4)[{', '.join(['0'] * 2047)}, {value}]}}"
    session = session_of(weights.replace("[0", f"[{value}", 1) + GRAPH.format(op=op, then=then))
    engine = Kept(session.engine)
    Plan(session.program(["z:0"], ["x:0"]), engine)
    return island_key(ModelProto.FromString(engine.model).graph, engine.weights, *settings)


class Kept:
    """An engine that keeps what it compiles."""

    def __init__(self, engine):
        self.takes, self.compiled_by = engine.takes, engine.compile
        self.form, self.on_device = engine.form, engine.on_device

    def engine_for(self, nodes):
        return self

    def compile(self, model, weights, *borders, **options):
        self.model, self.weights = model, weights
        return self.compiled_by(model, weights, *borders, **options)


def test_names_do_not_count():
    first = key()
    assert key() == first  # the operands of another session have other names


def test_ops_weights_and_settings_count():
    keys = [key(), key(then="Tanh"), key(value=2.0), key(1), key(2)]
    assert len(set(keys)) == len(keys)


def test_the_machine_and_the_versions_count():
    assert all(machine()[:3])
    assert np.unique(machine()).size > 1
