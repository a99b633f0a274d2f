"""Islands in parts, with NumPy in place of cuDNN and the CPU in place of the GPU."""

import numpy as np
import pytest
from tests.runtime.engines.gpu.numpy_convolutions import NumpyConvolutions
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.engines.engine import IslandHints
from tfport.runtime.engines.gpu.captured_island import CapturedIsland
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


def island_of(dtype, prepared, *, fails=False, **options):
    x = Operand(dtype, (None, 13, 11, 3), name="x")
    b = Builder("test")
    outputs = network(b, x)
    precision = "float16" if dtype == FLOAT16 else "tf32"
    factory = factory_of(b.made, [x], outputs, prepared, precision=precision, **options)
    if fails:
        prepared.prepared = _fails
    return factory


def factory_of(nodes, inputs, outputs, prepared, **options):
    """`prepared` takes the place of cuDNN; None for none."""
    usual = onnx_model(nodes, inputs, outputs, forms=NodeForms.PLAIN)
    hints = IslandHints(in_parts=lambda: island_parts(nodes, inputs, outputs))
    names = [info.name for info in usual.model.graph.input]
    engine = engine_on_cpu(**options)
    if prepared is not None:
        engine.convolutions = lambda stream: prepared  # type: ignore[method-assign]
    return IslandFactory(engine, usual.model.SerializeToString(), usual.weights, names, hints)


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
    limited = island_of(FLOAT32, NumpyConvolutions(), memory_bytes=1 << 30)
    assert not isinstance(limited.optimized(((1, 13, 11, 3),)), PartIsland)


def test_a_shortcut_of_another_size_runs_in_one_session():
    """ONNX Runtime repeats one image for all; cuDNN adds only images of the same number."""
    x, other = (Operand(FLOAT32, (None, 4, 5, 5), name=name) for name in ("x", "other"))
    b = Builder("test")
    weights = b.const(numbers(4, 4, 3, 3), FLOAT32)
    image = x
    for _ in range(3):
        image = b.Relu(b.Conv(image, weights, kernel_shape=[3, 3], pads=[1] * 4))
    output = b.Relu(b.Add(b.Conv(image, weights, kernel_shape=[3, 3], pads=[1] * 4), other))
    library = NumpyConvolutions()
    factory = factory_of(b.made, [x, other], [output], library)
    plain = factory.plain()
    island = CapturedIsland(plain, HostGraphStream(), factory.optimized, 4)
    for batch, convolutions in ((3, 4), (1, 3)):  # the last one is not asked for
        library.prepared_shapes.clear()
        arrays = [numbers(3, 4, 5, 5), numbers(batch, 4, 5, 5, seed=2)]
        (expected,) = plain.run(arrays)
        for _ in range(4):
            np.testing.assert_allclose(island.run(arrays)[0].numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
        assert library.prepared_shapes == [(3, 5, 5, 4)] * convolutions


def test_a_part_that_onnx_runtime_refuses_is_no_error(monkeypatch):
    library = NumpyConvolutions()
    factory = island_of(FLOAT32, library)
    plain = factory.plain()
    monkeypatch.setattr(factory, "_part_session", _no_session)
    island = CapturedIsland(plain, HostGraphStream(), factory.optimized, 4)
    x = numbers(2, 13, 11, 3)
    (expected, _) = plain.run([x])
    for _ in range(4):
        np.testing.assert_allclose(island.run([x])[0].numpy(), expected.numpy(), rtol=1e-5)
    assert library.prepared_shapes == []


def _no_session(part):
    raise RuntimeError("[ONNXRuntimeError] : 1 : FAIL : Failed to allocate memory")
