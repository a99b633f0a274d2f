"""Islands in parts, with NumPy in place of cuDNN and the CPU in place of the GPU."""

import numpy as np
import pytest
from tests.runtime.engines.gpu.numpy_convolutions import NumpyConvolutions
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.engines.engine import IslandHints
from tfport.runtime.engines.gpu.captured_island import CapturedIsland
from tfport.runtime.engines.gpu.gpu_engine import GpuEngine
from tfport.runtime.engines.gpu.graph_stream import HostGraphStream
from tfport.runtime.engines.gpu.island_factory import IslandFactory
from tfport.runtime.engines.gpu.part_island import PartIsland
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.island_parts import island_parts
from tfport.runtime.onnx.model import NodeForms, onnx_model
from tfport.runtime.operand import Operand

FLOAT16 = DType.parse("float16")


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def network(b, x):
    """A stem of three channels, two blocks of which one has strides, and scores."""

    def conv(x, inputs, outputs, window, stride=1):
        weights = numbers(outputs, inputs, window, window, seed=outputs + window)
        pads = [window // 2] * 4
        constants = b.const(weights, x.dtype), b.const(numbers(outputs, seed=1), x.dtype)
        return b.Conv(x, *constants, strides=[stride] * 2, pads=pads, kernel_shape=[window] * 2)

    image = b.Transpose(x, perm=[0, 3, 1, 2])
    stem = b.Relu(conv(image, 3, 8, 5, stride=2))
    pooled = b.MaxPool(stem, kernel_shape=[2, 2], strides=[1, 1])
    first = b.Relu(b.Add(conv(b.Relu(conv(pooled, 8, 8, 3)), 8, 8, 1), pooled))
    side = conv(first, 8, 16, 1, stride=2)
    second = b.Relu(b.Add(conv(b.Relu(conv(first, 8, 8, 3, stride=2)), 8, 16, 1), side))
    mean = b.GlobalAveragePool(second)
    return b.reshape(mean, 0, 16), second


def island_of(dtype, prepared: NumpyConvolutions | None, *, fails=False):
    x = Operand(dtype, (None, 13, 11, 3), name="x")
    b = Builder("test")
    outputs = network(b, x)
    usual = onnx_model(b.made, [x], outputs, forms=NodeForms.PLAIN)
    hints = IslandHints(in_parts=lambda: island_parts(b.made, [x], outputs))
    names = [info.name for info in usual.model.graph.input]
    engine = engine_on_cpu(precision="float16" if dtype == FLOAT16 else "tf32")
    if prepared is not None:
        engine.convolutions = lambda stream: prepared  # type: ignore[method-assign]
    factory = IslandFactory(engine, usual.model.SerializeToString(), usual.weights, names, hints)
    if fails:
        prepared.prepared = _fails  # type: ignore[union-attr, method-assign]
    return factory


def _fails(*arguments):
    raise Error("cudnnGetConvolutionForwardWorkspaceSize fails: CUDNN_STATUS_NOT_SUPPORTED")


@pytest.mark.parametrize(("dtype", "tolerance"), [(FLOAT32, 1e-6), (FLOAT16, 4e-3)])
def test_parts_give_the_same_answers(dtype, tolerance):
    library = NumpyConvolutions()
    factory = island_of(dtype, library)
    plain = factory.plain()
    island = CapturedIsland(plain, HostGraphStream(), factory.optimized, 4)
    assert isinstance(factory.optimized(((1, 13, 11, 3),)), PartIsland)
    for turn in range(4):
        for batch in (1, 3):
            x = numbers(batch, 13, 11, 3, seed=turn).astype(dtype.numpy)
            for actual, expected in zip(island.run([x]), plain.run([x]), strict=True):
                assert actual.dtype == expected.dtype
                wanted = expected.numpy().astype(np.float32)
                distance = np.abs(actual.numpy().astype(np.float32) - wanted).max()
                assert distance <= tolerance * np.abs(wanted).max()
    assert len(library.prepared_shapes) == 2 * 6  # six convolutions, for two sizes of batches
    assert {shape[-1] for shape in library.prepared_shapes} == {4, 8}  # three channels are padded


def test_what_cudnn_refuses_runs_in_one_session():
    library = NumpyConvolutions()
    factory = island_of(FLOAT32, library, fails=True)
    island = CapturedIsland(factory.plain(), HostGraphStream(), factory.optimized, 4)
    x = numbers(2, 13, 11, 3)
    answers = [island.run([x])[0].numpy() for _ in range(4)]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-5)


def test_without_cudnn_or_with_a_limit_of_memory_there_are_no_parts():
    assert not isinstance(island_of(FLOAT32, None).optimized(((1, 13, 11, 3),)), PartIsland)
    factory = island_of(FLOAT32, NumpyConvolutions())
    factory._engine = GpuEngine(factory._engine.device, type(factory._engine.options)(memory_bytes=1 << 30))
    factory._engine.convolutions = lambda stream: NumpyConvolutions()  # type: ignore[method-assign]
    assert not isinstance(factory.optimized(((1, 13, 11, 3),)), PartIsland)


def test_an_image_that_is_too_small_runs_in_one_session():
    """cuDNN would not be asked for an output without pixels."""
    library = NumpyConvolutions()
    x = Operand(FLOAT32, (None, 4, None, None), name="x")
    b = Builder("test")
    weights = b.const(numbers(4, 4, 3, 3), FLOAT32)
    output = b.Relu(b.Conv(x, weights, kernel_shape=[3, 3]))
    parts = island_parts(b.made, [x], [output])
    (conv,) = (part for part in parts.parts if hasattr(part, "weights"))
    assert conv.output_shape((1, 2, 2, 4)) == (1, 0, 0, 4)
    assert library.prepared_shapes == []
