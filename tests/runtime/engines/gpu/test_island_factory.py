"""Islands for certain numbers of sequences, with the CPU in place of the GPU."""

import numpy as np
import pytest
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu
from tests.runtime.engines.gpu.one_op_models import node, onnx_bytes

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.engine import IslandHints
from tfport.runtime.engines.gpu.island_factory import IslandFactory
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.pass_list import NodeForms
from tfport.runtime.program import OnnxNode

X, Y = (Operand(FLOAT32, (None, 3), name=name) for name in "xy")
MANY = 64


def doubled(times: int):
    """A model of some doublings, one after the other."""
    b = Builder("test")
    result = X
    for _ in range(times - 1):
        result = b.Add(result, result)
    nodes = [*b.added, OnnxNode("Add", (result, result), (Y,), {})]
    return island_model(nodes, [X], [Y], forms=NodeForms.PLAIN)


@pytest.fixture
def asked():
    """The numbers of sequences that a model was asked for."""
    return []


def factory_of(asked, **options):
    usual = doubled(1)
    names = [info.name for info in usual.model.graph.input]

    def for_batch(batch):
        asked.append(batch)
        return doubled(2) if batch >= MANY else None

    hints = IslandHints(for_batch=for_batch)
    model = usual.model.SerializeToString()
    return IslandFactory(engine_on_cpu(**options), model, usual.weights, names, hints)


def answer(island, batch: int) -> float:
    return float(island.run([np.ones((batch, 3), np.float32)])[0].numpy()[0, 0])


def test_a_model_that_is_faster_for_many_sequences_is_used_for_them(asked):
    factory = factory_of(asked, precision="float16")
    few, many = (factory.optimized(((batch, 3),)) for batch in (1, MANY))
    assert asked == [1, MANY]
    assert (answer(few, 1), answer(many, MANY)) == (2, 4)


def test_in_16_bits_each_shape_has_a_session_of_its_own(asked):
    factory = factory_of(asked, precision="float16")
    islands = [factory.optimized(((batch, 3),)) for batch in (1, 2, 1, 2)]
    assert islands[0] is islands[2]
    assert islands[1] is islands[3]
    assert islands[0].session is not islands[1].session
    assert [answer(island, batch) for batch, island in zip((1, 2), islands[:2], strict=True)] == [2, 2]


def test_each_shape_of_a_network_that_convolves_has_a_session_of_its_own():
    inputs = {"x": ("float32", 4), "w": ("float32", 4)}
    model = onnx_bytes([node("Conv", "x w", "y")], inputs, {"y": "float32"})
    factory = IslandFactory(engine_on_cpu(), model, {}, list(inputs))
    shapes = [((batch, 1, 4, 4), (2, 1, 3, 3)) for batch in (1, 2)]
    one, two, again = map(factory.optimized, (*shapes, shapes[0]))
    assert one is again
    assert one.session is not two.session
    (answer,) = two.run([np.ones(shape, np.float32) for shape in shapes[1]])
    assert np.array_equal(answer.numpy(), np.full((2, 2, 2, 2), 9))


def test_the_shapes_of_other_networks_share_a_session(asked):
    factory = factory_of(asked)
    one, two = (factory.optimized(((batch, 3),)) for batch in (1, 2))
    assert one.session is two.session
