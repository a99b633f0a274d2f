"""Islands in parts, with NumPy in place of CUDA's libraries and the CPU in place of the GPU."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.runtime.engines.gpu.numpy_operations import NumpyOperations
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu
from tests.runtime.passes.rewritten import rewritten

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.engines.engine import IslandHints
from tfport.runtime.engines.gpu import part_island
from tfport.runtime.engines.gpu.captured_island import CapturedIsland
from tfport.runtime.engines.gpu.graph_stream import HostGraphStream
from tfport.runtime.engines.gpu.island_factory import IslandFactory
from tfport.runtime.engines.gpu.part_island import PartIsland, _BoundParts
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.model import CONTRIB
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.attention import ATTENTION
from tfport.runtime.passes.islands.attention_bias import added_attention_bias
from tfport.runtime.passes.islands.island_parts import parts_with_convolutions, parts_with_products
from tfport.runtime.passes.pass_list import NodeForms
from tfport.runtime.program import OnnxNode

FLOAT16, BFLOAT16 = DType.parse("float16"), DType.parse("bfloat16")


@pytest.fixture
def anywhere(monkeypatch):
    """NumPy computes with numbers that begin anywhere in the memory, as those of a CPU do."""
    monkeypatch.setattr(part_island, "ALIGNMENT", 1)


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
    island = parts_with_convolutions(b.added, [x], outputs)
    factory = factory_of(b.added, island, prepared, precision=precision, **options)
    if fails:
        prepared.prepared = _fails
    return factory


def factory_of(nodes, island, prepared, **options):
    """`prepared` takes the place of CUDA's libraries; None for none."""
    usual = island_model(nodes, island.inputs, island.outputs, forms=NodeForms.PLAIN)
    return factory_from(usual, island, prepared, **options)


def factory_from(usual, island, prepared, **options):
    hints = IslandHints(in_parts=lambda: island)
    names = [info.name for info in usual.model.graph.input]
    engine = engine_on_cpu(**options)
    if prepared is not None:
        engine.operations = lambda stream: prepared  # type: ignore[method-assign]
    return IslandFactory(engine, usual.model.SerializeToString(), usual.weights, names, hints)


def _fails(*arguments):
    raise Error("cudnnGetConvolutionForwardWorkspaceSize fails: CUDNN_STATUS_NOT_SUPPORTED")


@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize(("dtype", "tolerance"), [(FLOAT32, 1e-6), (FLOAT16, 4e-3)])
def test_parts_give_the_same_answers(dtype, tolerance):
    library = NumpyOperations()
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
    assert library.all_have_run


def test_what_cudnn_refuses_runs_in_one_session():
    library = NumpyOperations()
    factory = island_of(FLOAT32, library, fails=True)
    island = CapturedIsland(factory.plain(), HostGraphStream(), factory.optimized, 4)
    x = numbers(2, 13, 11, 3)
    answers = [island.run([x])[0].numpy() for _ in range(4)]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-5)


def test_without_cudnn_or_with_a_limit_of_memory_there_are_no_parts():
    assert not isinstance(island_of(FLOAT32, None).optimized(((1, 13, 11, 3),)), PartIsland)
    limited = island_of(FLOAT32, NumpyOperations(), memory_bytes=1 << 30)
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
    library = NumpyOperations()
    factory = factory_of(b.added, parts_with_convolutions(b.added, [x, other], [output]), library)
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
    library = NumpyOperations()
    factory = island_of(FLOAT32, library)
    plain = factory.plain()
    monkeypatch.setattr(factory, "_part_session", _no_session)
    island = CapturedIsland(plain, HostGraphStream(), factory.optimized, 4)
    x = numbers(2, 13, 11, 3)
    (expected, _) = plain.run([x])
    for _ in range(4):
        np.testing.assert_allclose(island.run([x])[0].numpy(), expected.numpy(), rtol=1e-5)
    assert library.prepared_shapes == []


def transformer(b, x, width=32, heads=4):
    """A layer with attention, and two dense layers."""

    def dense(x, rows, columns, seed):
        matrix = numbers(rows, columns, seed=seed) / rows**0.5
        product = b.MatMul(x, b.const(matrix, x.dtype))
        return b.Add(product, b.const(numbers(columns, seed=seed + 1), x.dtype))

    def normalized(x):
        return b.LayerNormalization(x, *(b.const(numbers(width, seed=i), x.dtype) for i in (7, 8)), axis=-1)

    parts = [b.MatMul(x, b.const(numbers(width, width, seed=i), x.dtype)) for i in range(3)]
    for part in parts:
        part.shape = (None, 16, width)
    joined = Operand(x.dtype, (None, 16, width), name="joined")
    offsets = b.const(numbers(3 * width, seed=3), x.dtype)
    attrs = {"num_heads": heads, "scale": 0.5}
    b.added.append(OnnxNode(ATTENTION, (*parts, offsets), (joined,), attrs, CONTRIB))
    first = normalized(b.Add(x, dense(joined, width, width, 10)))
    inner = b.Relu(dense(first, width, 2 * width, 20))
    return normalized(b.Add(first, dense(b.Tanh(dense(inner, 2 * width, width, 30)), width, width, 40)))


@pytest.mark.usefixtures("anywhere")
def test_products_give_the_same_answers():
    x = Operand(FLOAT32, (None, 16, 32), name="x")
    b = Builder("test")
    output = transformer(b, x)
    island = parts_with_products(rewritten(added_attention_bias, b.added), [x], [output])
    library = NumpyOperations()
    factory = factory_of(b.added, island, library)
    plain = factory.plain()
    captured = CapturedIsland(plain, HostGraphStream(), factory.optimized, 4)
    for turn in range(4):
        for batch in (1, 3):
            array = numbers(batch, 16, 32, seed=turn)
            (actual,), (expected,) = captured.run([array]), plain.run([array])
            np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)
    assert len(library.prepared_shapes) == 2 * 5  # queries, keys and values are one
    assert library.all_have_run


def dense_layers(b, x):
    for seed in range(4):
        x = b.Relu(b.MatMul(x, b.const(numbers(8, 8, seed=seed) / 2, x.dtype)))
    return x


@pytest.mark.usefixtures("anywhere")
def test_bfloat16_passes_between_parts():
    """The usual island is in float32 here: ONNX Runtime multiplies no bfloat16 on a CPU."""
    x = Operand(FLOAT32, (None, 8), name="x")
    b, usual = Builder("test"), Builder("usual")
    output = b.cast(dense_layers(b, b.cast(x, BFLOAT16)), FLOAT32)
    island = parts_with_products(b.added, [x], [output])
    made = island_model(usual.added, [x], [dense_layers(usual, x)], forms=NodeForms.PLAIN)
    library = NumpyOperations()
    factory = factory_from(made, island, library, precision="bfloat16")
    plain = factory.plain()
    captured = CapturedIsland(plain, HostGraphStream(), factory.optimized, 4)
    for seed in range(4):
        array = numbers(3, 8, seed=seed)
        (actual,), (expected,) = captured.run([array]), plain.run([array])
        np.testing.assert_allclose(actual.numpy(), expected.numpy(), atol=2e-2)
    assert not np.array_equal(actual.numpy(), expected.numpy())
    assert library.prepared_shapes == [(3, 8)] * 4
    assert library.all_have_run


def test_a_product_of_numbers_that_begin_anywhere_runs_in_one_session():
    """cuBLASLt chooses its kernels for addresses that are multiples of 256."""
    x = Operand(FLOAT32, (None, 8), name="x")
    b = Builder("test")
    output = x
    for seed in range(4):
        output = b.Relu(b.MatMul(output, b.const(numbers(8, 8, seed=seed), FLOAT32)))
    library = NumpyOperations()
    factory = factory_of(b.added, parts_with_products(b.added, [x], [output]), library)
    plain = factory.plain()
    whole = np.zeros(4 * 8 + 256, np.float32)
    begin = -whole.ctypes.data % 256 // 4 + 1
    array = whole[begin : begin + 32].reshape(4, 8)
    array[...] = numbers(4, 8)
    values = [ort.OrtValue.ortvalue_from_numpy(a) for a in (array, plain.run([array])[0].numpy())]
    expected = values[1].numpy().copy()
    bound = factory.optimized(((4, 8),)).bound(values[:1], values[1:])
    assert not isinstance(bound, _BoundParts)
    bound.run()
    np.testing.assert_allclose(values[1].numpy(), expected, rtol=1e-6)


def _no_session(part, shapes):
    raise RuntimeError("[ONNXRuntimeError] : 1 : FAIL : Failed to allocate memory")
