"""Average poolings are written in the version of ONNX's ops whose kernel is fast, with the same answers."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32, STRING, DType
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import OPSET, Builder
from tfport.runtime.onnx.model import BEFORE_NEW_POOLING
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.pass_list import NodeForms

POOL = {"kernel_shape": [3, 3]}
POOLS = [
    POOL,
    {**POOL, "strides": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 0},
    {**POOL, "auto_pad": "SAME_UPPER", "strides": [2, 1]},
    {"kernel_shape": [7, 7], "pads": [0, 0, 2, 0], "count_include_pad": 1},
]


def pooling(attrs, dtype=FLOAT32):
    b, x = Builder("test"), Operand(dtype, (1, 2, 7, 7), name="x")
    return x, b.AveragePool(x, **attrs), b


def version(b, x, *outputs, **options):
    (opset,) = island_model(b.added, [x], list(outputs), **options).model.opset_import
    return opset.version


@pytest.mark.parametrize("attrs", POOLS, ids=range(len(POOLS)))
def test_both_versions_answer_alike(attrs):
    x, y, b = pooling(attrs)
    image = np.random.default_rng(0).normal(size=(1, 2, 7, 7)).astype(np.float32)
    answers = []
    for exported in (False, True):
        island = island_model(b.added, [x], [y], exported=exported)
        assert island.model.opset_import[0].version == (OPSET if exported else BEFORE_NEW_POOLING)
        names = [info.name for info in island.model.graph.input], [o.name for o in island.model.graph.output]
        run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)
        answers.append(run([image])[0])
    np.testing.assert_allclose(*answers, rtol=1e-6, atol=1e-6)


def test_other_models_and_other_engines_have_the_usual_version():
    x, y, b = pooling(POOL)
    assert version(b, x, y, forms=NodeForms.PLAIN) == OPSET
    other = Builder("test")
    assert version(other, x, other.MaxPool(x, **POOL)) == OPSET


@pytest.mark.parametrize("attrs", [{**POOL, "dilations": [2, 2]}, {**POOL, "dilations": [1, 1]}])
def test_dilated_windows_need_the_newest_version(attrs):
    x, y, b = pooling(attrs)
    assert version(b, x, y) == OPSET


def test_other_types_of_numbers_need_the_newest_version():
    x, y, b = pooling(POOL, DType.parse("float64"))
    assert version(b, x, y) == OPSET


NEEDS_NEWEST = {
    "a new op": (lambda b, x: b.Gelu(x), True),
    "a new type": (
        lambda b, x: b.Equal(Operand(STRING, (1,), name="s"), Operand(STRING, (1,), name="t")),
        True,
    ),
    "a known type": (lambda b, x: b.Equal(x, x), False),
    "a new mode": (lambda b, x: b.Pad(x, b.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="wrap"), True),
    "a known mode": (lambda b, x: b.Pad(x, b.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect"), False),
}


@pytest.mark.parametrize("name", NEEDS_NEWEST)
def test_what_else_a_model_has_decides(name):
    made, needs_newest = NEEDS_NEWEST[name]
    x, y, b = pooling(POOL)
    other = made(b, x)
    assert version(b, x, y, other) == (OPSET if needs_newest else BEFORE_NEW_POOLING)
