"""SpaceToBatch, a convolution and BatchToSpace are one dilated convolution where that is certain.

The original nodes run without an engine, so both ways are compared here; `tests/live` compares with
TensorFlow.
"""

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

import tfport

FOUND = [([1, 4], [0, 4, 0, 4])]
"""The dilations and pads of the convolution of `SAME`."""


def graph(paddings, crops, *, size="?", conv='padding="VALID"', end="conv"):
    """A convolution over the third axis with a dilation of 4; `paddings` and `crops` name two numbers."""
    return f"""
        x = Placeholder() {{dtype=float32, shape=(?, 1, {size}, 1)}}
        shape = Shape(x) {{T=float32, out_type=int32}}
        at2 = Const() {{dtype=int32, value=int32(1)[2]}}
        at3 = Const() {{dtype=int32, value=int32(1)[3]}}
        step = Const() {{dtype=int32, value=int32(1)[1]}}
        size = StridedSlice(shape, at2, at3, step) {{T=int32, Index=int32, shrink_axis_mask=1}}
        block = Const() {{dtype=int32, value=int32(2)[1, 4]}}
        rate = Const() {{dtype=int32, value=int32()[4]}}
        four = Const() {{dtype=int32, value=int32()[4]}}
        eight = Const() {{dtype=int32, value=int32()[8]}}
        zero = Const() {{dtype=int32, value=int32()[0]}}
        padded = AddV2(size, eight) {{T=int32}}
        over = FloorMod(padded, rate) {{T=int32}}
        missing = Sub(rate, over) {{T=int32}}
        extra = FloorMod(missing, rate) {{T=int32}}
        end = AddV2(four, extra) {{T=int32}}
        none = Pack(zero, zero) {{N=2, T=int32, axis=0}}
        around = Pack({paddings}) {{N=2, T=int32, axis=0}}
        cut = Pack({crops}) {{N=2, T=int32, axis=0}}
        paddings = Pack(none, around) {{N=2, T=int32, axis=0}}
        crops = Pack(none, cut) {{N=2, T=int32, axis=0}}
        phases = SpaceToBatchND(x, block, paddings) {{T=float32, Tblock_shape=int32, Tpaddings=int32}}
        filter = Const() {{dtype=float32, value=float32(1, 3, 1, 2)[2, 1, -1, -2, 3, -3]}}
        conv = Conv2D(phases, filter) {{T=float32, strides=[1, 1, 1, 1], {conv}}}
        abs = Abs(conv) {{T=float32}}
        y = BatchToSpaceND({end}, block, crops) {{T=float32, Tblock_shape=int32, Tcrops=int32}}
    """


SAME = graph("four, end", "zero, extra")


def convolutions(text):
    islands = islands_of(text, ["y:0"], ["x:0"])
    nodes = [node for island in islands for node in island.graph.node if node.op_type == "Conv"]
    attrs = [{a.name: list(a.ints) for a in node.attribute} for node in nodes]
    return [(attr["dilations"], attr["pads"]) for attr in attrs]


def assert_equal_answers(text, *shape):
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32)
    answer, original = (session_of(text, engine=e).run("y:0", {"x:0": x}) for e in ("onnxruntime", "none"))
    np.testing.assert_array_equal(answer, original)


def test_computed_paddings_become_constant():
    assert convolutions(SAME) == FOUND


@pytest.mark.parametrize("size", [1, 3, 8, 13])
def test_equal_answers(size):
    assert_equal_answers(SAME, 2, 1, size, 1)


def test_crops_before_reduce_the_padding():
    text = graph("four, end", "four, extra")
    assert convolutions(text) == [([1, 4], [0, 0, 0, 4])]
    assert_equal_answers(text, 1, 1, 9, 1)


def test_constant_paddings_of_a_known_size():
    text = graph("four, four", "zero, zero", size=8)
    assert convolutions(text) == FOUND
    assert_equal_answers(text, 2, 1, 8, 1)


OTHERS = {
    "a size may not be a multiple of the block": graph("four, four", "zero, zero"),
    "the result has the extra padding": graph("four, end", "zero, zero"),
    "more is cropped than padded": graph("four, end", "eight, extra"),
    "what is cropped is not what was added": graph("four, end", "zero, over"),
    "the phases are padded": graph("four, end", "zero, extra", conv='padding="SAME"'),
    "the phases are dilated": graph(
        "four, end", "zero, extra", conv='padding="VALID", dilations=[1, 1, 2, 1]'
    ),
    "another node is between": graph("four, end", "zero, extra", end="abs"),
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_others_stay_as_they_are(text):
    steps = session_of(text).program(["y:0"], ["x:0"]).steps
    assert "BatchToSpaceND" in [step.op for step in steps]
    assert_equal_answers(text, 1, 1, 24, 1)


def test_a_block_of_one_over_the_channels_changes_nothing():
    text = SAME.replace("int32(2)[1, 4]", "int32(3)[1, 4, 1]")
    for rows in ("none, around", "none, cut"):
        text = text.replace(f"Pack({rows}) {{N=2", f"Pack({rows}, none) {{N=3")
    assert convolutions(text) == FOUND


def test_a_block_over_the_channels_is_no_dilation():
    text = SAME.replace("int32(2)[1, 4]", "int32(3)[1, 4, 2]")
    for rows in ("none, around", "none, cut"):
        text = text.replace(f"Pack({rows}) {{N=2", f"Pack({rows}, none) {{N=3")
    text = text.replace("shape=(?, 1, ?, 1)", "shape=(?, 1, ?, 2)")
    assert "BatchToSpaceND" in [step.op for step in session_of(text).program(["y:0"], ["x:0"]).steps]


def test_an_input_that_does_not_fit_fails_as_the_original():
    text = graph("zero, extra", "zero, extra")
    for engine in ("onnxruntime", "none"):
        with pytest.raises(tfport.Error, match="output size would be negative: -1"):
            session_of(text, engine=engine).run("y:0", {"x:0": np.zeros((1, 1, 2, 1), np.float32)})
