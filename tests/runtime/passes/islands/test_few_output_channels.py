"""Convolutions with few output channels are computed as transposed ones, with the same outputs."""

import numpy as np
import pytest
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.fast_convolutions import few_output_channels

REPLACED = [  # weights, attributes
    ((1, 2, 3), {"pads": [1, 1]}),
    ((1, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((3, 8, 4, 1), {"pads": [2, 0, 1, 0]}),
    ((4, 8, 4, 4), {"auto_pad": "SAME_UPPER"}),
    ((2, 5, 3, 2), {"pads": [2, 0, 2, 3], "dilations": [2, 3]}),
    ((1, 3, 3, 3, 3), {"pads": [1] * 6, "strides": [1, 1, 1]}),
]
KEPT = [
    ((1, 8, 3, 3), {}),  # the image becomes smaller
    ((1, 8, 3, 3), {"pads": [2, 2, 2, 2]}),
    ((1, 8, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ((1, 8, 3, 3), {"auto_pad": "SAME_LOWER"}),
    ((5, 16, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((1, 8, 1, 1), {"pads": [0, 0, 0, 0]}),
    ((2, 4, 3, 3), {"pads": [1, 1, 1, 1], "group": 2}),
]


def convolution(weights, attrs, *, biased=True):
    rng, b = np.random.default_rng(0), Builder("test")
    channels = weights[1] * attrs.get("group", 1)
    x = Operand(FLOAT32, (None, channels, *[None] * (len(weights) - 2)), name="x")
    constants = [rng.normal(size=weights), rng.normal(size=weights[:1])][: 1 + biased]
    y = b.Conv(x, *(b.const(constant, FLOAT32) for constant in constants), **attrs)
    return x, y, b.added


@pytest.mark.parametrize(("weights", "attrs"), REPLACED)
@pytest.mark.parametrize("biased", [True, False])
def test_a_transposed_convolution_gives_the_same_outputs(weights, attrs, biased):
    x, y, nodes = convolution(weights, attrs, biased=biased)
    assert [node.op for node in rewritten(few_output_channels, nodes)] == ["ConvTranspose"]
    image = np.random.default_rng(1).normal(size=(2, weights[1], *range(5, 3 + len(weights))))
    results = []
    for exported in (True, False):
        island = island_model(nodes, [x], [y], exported=exported)
        names = [info.name for info in island.model.graph.input], [o.name for o in island.model.graph.output]
        run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)
        results.append(run([image.astype(np.float32)])[0])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("weights", "attrs"), KEPT)
def test_other_convolutions_are_kept(weights, attrs):
    _, _, nodes = convolution(weights, attrs)
    assert rewritten(few_output_channels, nodes) == nodes


@pytest.mark.parametrize(
    ("weights", "image", "has_blocks", "is_replaced"),
    [
        ((8, 16, 3, 3), (64, 64), False, True),
        ((5, 12, 7, 1), (300, 1), False, True),
        ((8, 16, 3, 3), (64, 64), True, False),
        ((9, 32, 3, 3), (64, 64), False, False),
        ((8, 12, 3, 3), (64, 64), False, False),
        ((8, 16, 3, 3), (None, 64), False, False),
        ((8, 16, 3, 3, 3), (64, 64, 64), False, False),
    ],
)
def test_up_to_eight_channels_on_processors_without_blocks(
    weights, image, has_blocks, is_replaced, monkeypatch
):
    """Only for images of known sizes, whose products need little memory."""
    monkeypatch.setattr("tfport.runtime.passes.islands.fast_convolutions.HAS_BLOCKS", has_blocks)
    rng, b = np.random.default_rng(0), Builder("test")
    x = Operand(FLOAT32, (None, weights[1], *image), name="x")
    pads = [size // 2 for size in weights[2:]] * 2
    y = b.Conv(x, b.const(rng.normal(size=weights), FLOAT32), pads=pads)
    replaced = rewritten(few_output_channels, b.added)
    assert [node.op for node in replaced] == ["ConvTranspose" if is_replaced else "Conv"]
    if not is_replaced:
        return
    array = rng.normal(size=(2, weights[1], *image)).astype(np.float32)
    results = []
    for exported in (True, False):
        island = island_model(b.added, [x], [y], exported=exported)
        names = [info.name for info in island.model.graph.input], [o.name for o in island.model.graph.output]
        run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)
        results.append(run([array])[0])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-4)


def test_weights_that_are_computed_are_kept():
    b, x, w = (
        Builder("test"),
        Operand(FLOAT32, (1, 8, 4, 4), name="x"),
        Operand(FLOAT32, (1, 8, 3, 3), name="w"),
    )
    b.Conv(x, w, pads=[1, 1, 1, 1])
    assert rewritten(few_output_channels, b.added) == b.added
