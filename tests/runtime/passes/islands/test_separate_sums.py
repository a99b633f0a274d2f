"""Sums that cuDNN would compute with a slow kernel are nodes of their own."""

import numpy as np
import pytest
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.fused_convolution import separate_sums
from tfport.runtime.passes.pass_list import IslandForm


def convolution(channels=8, *, group=1, bias=True):
    b = Builder("test")
    x = Operand(FLOAT32, (None, channels, 8, 8), name="x")
    weights = b.const(np.ones((16, channels // group, 3, 3)), FLOAT32)
    offset = [b.const(np.arange(16), FLOAT32)] if bias else []
    b.Conv(x, weights, *offset, kernel_shape=[3, 3], group=group)
    return b.added


@pytest.mark.parametrize(
    ("parts", "half"), [({"group": 8}, False), ({"group": 8}, True), ({"channels": 3}, True)]
)
def test_slow_sums_are_separate(parts, half):
    (conv,) = convolution(**parts)
    form = IslandForm(False, "float16" if half else None)
    alone, to_last, add, to_first = rewritten(separate_sums, [conv], form=form)
    assert (alone.op, alone.inputs, alone.attrs) == ("Conv", conv.inputs[:2], conv.attrs)
    assert (to_last.inputs, to_last.attrs) == (alone.outputs, {"perm": [0, 2, 3, 1]})
    assert (add.op, add.inputs) == ("Add", (to_last.outputs[0], conv.inputs[2]))
    assert (to_first.inputs, to_first.attrs) == (add.outputs, {"perm": [0, 3, 1, 2]})
    assert to_first.outputs == conv.outputs


@pytest.mark.parametrize(
    ("parts", "half"),
    [({}, False), ({}, True), ({"channels": 3}, False), ({"group": 8, "bias": False}, False)],
)
def test_others_stay_as_they_are(parts, half):
    nodes, form = convolution(**parts), IslandForm(False, "float16" if half else None)
    assert rewritten(separate_sums, nodes, form=form) == nodes
