"""The shapes after linear algebra on the host are known."""

from tests.runtime.programs import session_of

BAND = """
    x = Placeholder() {dtype=complex64, shape=(?, 3)}
    one = Const() {dtype=int64, value=int64()[1]}
    y = MatrixBandPart(x, one, one) {T=complex64, Tindex=int64}
"""


def test_a_band_has_the_shape_of_the_matrix():
    (step,) = session_of(BAND).program(["y:0"], ["x:0"]).steps
    assert step.outputs[0].shape == (None, 3)
