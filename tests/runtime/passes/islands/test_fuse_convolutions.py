"""What is folded into convolutions: the constants that engines get."""

from tests.runtime.programs import WatchedEngine, session_of

from tfport.runtime.plan import Plan

NUMBERS = ", ".join(str(i % 5) for i in range(3 * 3 * 8 * 16))
NET = f"""
    x = Placeholder() {{dtype=float32, shape=(1, 16, 16, 8)}}
    w = Const() {{dtype=float32, value=float32(3, 3, 8, 16)[{NUMBERS}]}}
    s = Const() {{dtype=float32, value=float32(16)[{", ".join(["2"] * 16)}]}}
    c = Conv2D(x, w) {{T=float32, strides=[1, 1, 1, 1], padding="SAME"}}
    y = Mul(c, s) {{T=float32}}
"""


class KeepsWeights(WatchedEngine):
    """An engine that keeps the weights that it gets."""

    def compile(self, model, weights, *borders, **options):
        self.weights = weights
        return super().compile(model, weights, *borders, **options)


def test_folded_weights_are_contiguous():
    session = session_of(NET)
    engine = KeepsWeights(session.engine)
    Plan(session.program(["y:0"], ["x:0"]), engine)
    assert [node.op_type for node in engine.compiled[0].graph.node].count("Mul") == 0
    assert [array.shape for array in engine.weights.values()] == [(16, 8, 3, 3)]
    assert all(array.flags.c_contiguous for array in engine.weights.values())
