"""Islands divided between two engines."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.island_parts import island_shares
from tfport.runtime.passes.pass_list import NodeForms

X = Operand(FLOAT32, (None, 8, 6, 6), name="x")


def conv(b, x):
    return b.Conv(x, b.const(np.ones((8, 8, 3, 3)), FLOAT32), kernel_shape=[3, 3], pads=[1] * 4)


def shown(b, *outputs):
    """Who computes which ops; only Exp and Sqrt must stay."""
    shares = island_shares(b.added, outputs, lambda node: node.op not in ("Exp", "Sqrt"), NodeForms.OPENVINO)
    return [
        (share.elsewhere, [node.op_type for node in share.part.model.model.graph.node]) for share in shares
    ]


def test_an_island_of_allowed_nodes_is_one_share():
    b = Builder("test")
    assert shown(b, b.Relu(conv(b, X))) == [(True, ["Conv", "Relu"])]


def test_an_island_without_heavy_nodes_stays_whole():
    b = Builder("test")
    assert shown(b, b.Relu(b.Exp(b.Relu(X)))) == [(False, ["Relu", "Exp", "Relu"])]


def test_what_comes_after_a_forbidden_node_stays_up_to_the_next_heavy_one():
    b = Builder("test")
    y = b.Relu(conv(b, b.Neg(b.Exp(b.Relu(conv(b, X))))))
    assert shown(b, b.Tanh(b.Sqrt(y))) == [
        (True, ["Conv", "Relu"]),
        (False, ["Exp", "Neg"]),
        (True, ["Conv", "Relu"]),
        (False, ["Sqrt", "Tanh"]),
    ]


def test_a_stage_with_little_of_the_work_stays():
    b = Builder("test")
    y = X
    for _ in range(5):
        y = conv(b, y)
    y = conv(b, b.Exp(y))
    assert shown(b, y) == [(True, ["Conv"] * 5), (False, ["Exp", "Conv"])]


@pytest.mark.parametrize("also_early", [False, True])
def test_shares_pass_on_what_later_ones_need(also_early):
    b = Builder("test")
    early = b.Relu(conv(b, X))
    y = b.Add(b.Exp(early), X)
    shares = island_shares(
        b.added, [y, early] if also_early else [y], lambda node: node.op != "Exp", NodeForms.OPENVINO
    )
    assert [(share.part.inputs, share.part.outputs) for share in shares] == [
        ((X,), (early,)),
        ((early, X), (y,)),
    ]
