"""A convolution of an image with repeated pixels is computed from the small image.

Where the enlarged image is fed, it is convolved itself; both ways are compared here.
"""

import numpy as np
import pytest
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu
from tests.runtime.programs import islands_of, session_of

from tfport.runtime.ops.nn.enlarged_convolutions import summed_weights


def constant(name, value, kind="int32"):
    array = np.asarray(value)
    dims = "".join(f"{n}, " for n in array.shape)
    numbers = ", ".join(str(v) for v in array.reshape(-1).tolist())
    return f"{name} = Const() {{dtype={kind}, value={kind}({dims.rstrip(', ')})[{numbers}]}}"


def placeholder(*sizes):
    return f"x = Placeholder() {{dtype=float32, shape=({', '.join(map(str, sizes))})}}"


def convolution(op, x, kernel, channels=2, padding="SAME", strides=1):
    weights = np.random.default_rng(7).integers(-5, 5, (*kernel, channels, 3)) / 4
    ones, steps = "1, ", f"{strides}, "
    along = f"[1, {steps * len(kernel)}1]"
    return [
        constant("w", weights, "float32"),
        f'y = {op}({x}, w) {{T=float32, strides={along}, padding="{padding}", '
        f'data_format="N{"DHW"[3 - len(kernel) :]}C", dilations=[1, {ones * len(kernel)}1]}}',
    ]


def resized(times=2, factors=None, **conv):
    """UpSampling2D of Keras, for images of unknown size."""
    return [
        placeholder("?", "?", "?", 2),
        "shape = Shape(x) {T=float32, out_type=int32}",
        constant("first", [1]),
        constant("end", [3]),
        constant("step", [1]),
        "sizes = StridedSlice(shape, first, end, step) {T=int32, Index=int32}",
        constant("times", factors or [times, times]),
        "size = Mul(sizes, times) {T=int32}",
        "large = ResizeNearestNeighbor(x, size) {T=float32, align_corners=false, half_pixel_centers=true}",
        *convolution("Conv2D", "large", **{"kernel": (3, 4), **conv}),
    ]


def tiled(times=2, axes=(1, 2, 3), extra=1, kernel=(3, 2, 3)):
    """UpSampling3D of Keras, for volumes of unknown size: each axis is repeated by itself."""
    lines, x = [placeholder("?", "?", "?", "?", 2)], "x"
    for axis in axes:
        multiples, factors = np.ones(6, int), np.ones(5, int)
        multiples[axis + 1], factors[axis] = times, times * extra
        lines += [
            f"shape{axis} = Shape({x}) {{T=float32, out_type=int32}}",
            constant(f"new{axis}", axis + 1),
            f"expanded{axis} = ExpandDims({x}, new{axis}) {{T=float32, Tdim=int32}}",
            constant(f"multiples{axis}", multiples),
            f"tiled{axis} = Tile(expanded{axis}, multiples{axis}) {{T=float32, Tmultiples=int32}}",
            constant(f"factors{axis}", factors),
            f"sizes{axis} = Mul(shape{axis}, factors{axis}) {{T=int32}}",
        ]
        x = f"repeated{axis}" if axis != axes[-1] else "large"
        lines.append(f"{x} = Reshape(tiled{axis}, sizes{axis}) {{T=float32, Tshape=int32}}")
    return [*lines, *convolution("Conv3D", "large", kernel)]


def joined(order=(0, 0, 1, 1, 2, 2)):
    """UpSampling1D of Keras: each row of a known number several times, and a 1-D convolution."""
    rows = ", ".join(f"rows:{i}" if i else "rows" for i in order)
    return [
        placeholder("?", 3, 2),
        constant("axis", 1),
        "rows = Split(axis, x) {T=float32, num_split=3}",
        f"large = ConcatV2({rows}, axis) {{T=float32, N={len(order)}, Tidx=int32}}",
        "image = ExpandDims(large, axis) {T=float32, Tdim=int32}",
        *convolution("Conv2D", "image", (1, 5)),
    ]


def ops(lines):
    islands = islands_of("\n".join(lines), ["y:0"], ["x:0"])
    return [node.op_type for island in islands for node in island.graph.node]


def check_answers(lines, shape):
    session = session_of("\n".join(lines))
    image = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    large = session.run("large:0", {"x:0": image})
    expected = session.run("y:0", {"large:0": large})
    for engine in ("onnxruntime", "none"):
        result = session_of("\n".join(lines), engine=engine).run("y:0", {"x:0": image})
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


FOUND = [
    (resized(), (2, 4, 5, 2)),
    (resized(4, kernel=(2, 5)), (1, 3, 1, 2)),
    (resized(8), (1, 2, 2, 2)),
    (tiled(), (2, 3, 4, 2, 2)),
    (tiled(3, (2,)), (1, 3, 4, 2, 2)),
    (tiled(3, (1, 2), kernel=(4, 3, 1)), (2, 2, 3, 2, 2)),
    (tiled(2, (1,), kernel=(1, 3, 3)), (1, 2, 3, 2, 2)),
    (tiled(), (0, 3, 4, 2, 2)),
    (joined(), (2, 3, 2)),
    (joined((0, 0, 0, 1, 1, 1, 2, 2, 2)), (1, 3, 2)),
    (resized(), (0, 4, 5, 2)),
    (resized(), (1, 1, 1, 2)),
]
OTHERS = [
    (resized(3), (1, 4, 5, 2)),
    (resized(factors=[2, 4]), (1, 4, 5, 2)),
    (resized(padding="VALID"), (1, 4, 5, 2)),
    (resized(strides=2), (1, 4, 5, 2)),
    (joined((0, 1, 2, 0, 1, 2)), (1, 3, 2)),
    (joined((0, 0, 1, 1, 2, 1)), (1, 3, 2)),
    (joined((0, 0, 1, 2)), (1, 3, 2)),
]


@pytest.mark.parametrize(("lines", "shape"), FOUND)
def test_the_small_image_is_convolved(lines, shape):
    found = ops(lines)
    assert "ConvTranspose" in found
    assert not {"Conv", "Tile", "Split"} & {*found}
    check_answers(lines, shape)


@pytest.mark.parametrize(("lines", "shape"), OTHERS)
def test_other_images_are_convolved_as_they_are(lines, shape):
    assert "ConvTranspose" not in ops(lines)
    check_answers(lines, shape)


def test_a_gpu_convolves_the_large_image():
    session = session_of("\n".join(resized()), engine=engine_on_cpu())
    found = [node.op for step in session.program(["y:0"], ["x:0"]).steps for node in step.lowered or ()]
    assert "Conv" in found
    assert "ConvTranspose" not in found


def test_sizes_that_do_not_follow_from_the_repetition_are_left_alone():
    assert "ConvTranspose" not in ops(tiled(2, (1,), extra=2))


def test_weights_that_meet_the_same_pixel_are_summed():
    weights = np.array([1, 10, 100], np.float32).reshape(3, 1, 1)
    assert summed_weights(weights, [2]).reshape(-1).tolist() == [100, 110, 11, 1]
