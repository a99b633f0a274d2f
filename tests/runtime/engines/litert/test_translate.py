"""What cannot be said in TensorFlow Lite is refused."""

import pytest
from tests.runtime.engines.litert.translated import IMAGE, SmallModel, floats, number, one

from tfport.runtime.engines.litert.island_node import NotInLite

REFUSED = {
    "Conv with computed weights": (lambda b, x, w: b.Conv(x, w, None), IMAGE, (3, 4, 2, 2)),
    "Conv of volumes in groups": (
        lambda b, x: b.Conv(x, floats(b, 4, 1, 1, 1, 1), None, group=4),
        (1, 4, 2, 2, 2),
    ),
    "ConvTranspose in groups": (lambda b, x: b.ConvTranspose(x, floats(b, 4, 1, 2, 2), None, group=4), IMAGE),
    "DepthToSpace of channels first": one("DepthToSpace", (1, 8, 2, 2), blocksize=2, mode="CRD"),
    "Gather out of range": (lambda b, x: b.Gather(x, b.ints(5), axis=1), IMAGE),
    "Gemm with a factor": (lambda b, x: b.Gemm(x, floats(b, 5, 3), None, alpha=2.0), (2, 5)),
    "AveragePool of padding that is not even": one("AveragePool", kernel_shape=[3, 3], pads=[2, 2, 0, 0]),
    "Pad with the edge": (lambda b, x: b.Pad(x, b.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="edge"), IMAGE),
    "Resize by the nearest": (
        lambda b, x: b.Resize(x, None, None, b.ints(1, 4, 9, 11), mode="nearest"),
        IMAGE,
    ),
    "Div by zero": (lambda b, x: b.Div(x, number(b, 0)), IMAGE),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_translation_is_refused(case):
    build, *sizes = REFUSED[case]
    with pytest.raises(NotInLite):
        SmallModel(build, *sizes).translated()


def test_unknown_sizes_are_refused():
    model = SmallModel(lambda b, x: b.Relu(x), (2, 3))
    model.model.model.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    with pytest.raises(NotInLite, match="unknown size"):
        model.translated()


def test_results_that_may_be_infinite_are_looked_at():
    quotient = SmallModel(lambda b, x, y: b.Relu(b.Div(x, y)), (2, 3), (2, 3)).translated()
    assert len(quotient.watched) == 1
    assert not SmallModel(lambda b, x: b.Div(x, number(b, 2)), (2, 3)).translated().watched
