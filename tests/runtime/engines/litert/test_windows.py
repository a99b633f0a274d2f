"""Convolutions and poolings with any windows answer as in ONNX Runtime, or are refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engines.litert.translated import RUNNERS, SmallModel, assert_same, floats

from tfport.runtime.engines.litert.island_node import NotInLite

AXES = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2))
"""Length, step and dilation of the windows along an axis."""


@st.composite
def windows(draw, same=True):
    """Sizes of an image and its windows, with padding that is none, that of TensorFlow, or any."""
    axes = [draw(AXES) for _ in range(2)]
    sizes = [draw(st.integers(dilation * (length - 1) + 1, 11)) for length, _, dilation in axes]
    kind = draw(st.sampled_from(["VALID", "SAME", "any"] if same else ["VALID", "any"]))
    pads = [(0, 0), (0, 0)]
    if kind == "any":
        pads = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in axes]
    elif kind == "SAME":
        totals = [
            max((-(-size // step) - 1) * step + dilation * (length - 1) + 1 - size, 0)
            for size, (length, step, dilation) in zip(sizes, axes, strict=True)
        ]
        pads = [(total // 2, total - total // 2) for total in totals]
    lengths, steps, dilations = (list(values) for values in zip(*axes, strict=True))
    attrs = {"strides": steps, "pads": [pad[0] for pad in pads] + [pad[1] for pad in pads]}
    return sizes, lengths, dilations, attrs


@pytest.mark.parametrize("runner", RUNNERS)
@settings(max_examples=25, deadline=None)
@given(data=windows(), channels=st.integers(1, 5), results=st.integers(1, 4), depthwise=st.booleans())
def test_convolutions_of_any_windows(runner, data, channels, results, depthwise, tmp_path_factory):
    sizes, lengths, dilations, attrs = data
    weights = (channels * results, 1, *lengths) if depthwise else (results, channels, *lengths)
    attrs = {**attrs, "dilations": dilations, "group": channels if depthwise else 1}
    model = SmallModel(lambda b, x: b.Conv(x, floats(b, *weights), None, **attrs), (2, channels, *sizes))
    assert_same(model.by_onnx_runtime(), model.answers(runner, tmp_path_factory.mktemp("lite")))


@pytest.mark.parametrize("runner", RUNNERS)
@settings(max_examples=25, deadline=None)
@given(
    data=windows(same=False), more=st.tuples(st.integers(0, 1), st.integers(0, 1)), channels=st.integers(1, 4)
)
def test_transposed_convolutions_of_any_windows(runner, data, more, channels, tmp_path_factory):
    sizes, lengths, _, attrs = data
    attrs["output_padding"] = [
        min(extra, step - 1) for extra, step in zip(more, attrs["strides"], strict=True)
    ]
    model = SmallModel(
        lambda b, x: b.ConvTranspose(x, floats(b, channels, 3, *lengths), floats(b, 3), **attrs),
        (2, channels, *sizes),
    )
    try:
        answers = model.answers(runner, tmp_path_factory.mktemp("lite"))
    except NotInLite:
        return
    assert_same(model.by_onnx_runtime(), answers)


@pytest.mark.parametrize("runner", RUNNERS)
@settings(max_examples=25, deadline=None)
@given(data=windows(), op=st.sampled_from(["AveragePool", "MaxPool"]), channels=st.integers(1, 9))
def test_poolings_of_any_windows(runner, data, op, channels, tmp_path_factory):
    sizes, lengths, _, attrs = data
    pads = [max(attrs["pads"][axis], attrs["pads"][axis + 2]) for axis in range(2)]
    if any(pad >= length for pad, length in zip(pads, lengths, strict=True)):
        attrs["pads"] = [0] * 4  # ONNX has no windows of padding alone
    model = SmallModel(lambda b, x: getattr(b, op)(x, kernel_shape=lengths, **attrs), (2, channels, *sizes))
    try:
        answers = model.answers(runner, tmp_path_factory.mktemp("lite"))
    except NotInLite:
        return
    assert_same(model.by_onnx_runtime(), answers)
