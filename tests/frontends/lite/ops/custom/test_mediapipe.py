"""MediaPipe's custom ops, which no package registers: compared with their definitions, pixel by pixel."""

import struct

import numpy as np
import pytest
from flatbuffers import flexbuffers
from tests.frontends.lite.cases import case, const, out, run
from tests.runtime.cases import numbers

import tfport

WAYS = ["engine", "host"]


def _answer(name, *inputs, way, options=b"", version=2):
    c = case(
        "CUSTOM", *inputs, custom=name, custom_options=options, outputs=[out("FLOAT32")], version=version
    )
    return run(c, way)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("padding", "stride", "window"), [(1, 2, 2), (1, 2, 3), (1, 3, 5), (2, 2, 3), (1, 1, 3)]
)
def test_transposed_convolution_adds_the_window_at_each_place(padding, stride, window, way):
    x, weights, bias = numbers(2, 3, 4, 3), numbers(2, window, window, 3, seed=1), numbers(2, seed=2)
    answer = _answer(
        "Convolution2DTransposeBias",
        x,
        const(weights),
        const(bias),
        way=way,
        options=struct.pack("<3i", padding, stride, stride),
        version=1,
    )
    whole = [stride * (size - 1) + window for size in (3, 4)]
    removed = [max(0, window - (size - 1) % stride - 1) if padding == 1 else 0 for size in (3, 4)]
    full = np.zeros((2, *whole, 2), np.float32)
    for row in range(3):
        for column in range(4):
            part = np.einsum("bi,ohwi->bhwo", x[:, row, column], weights)
            top, left = row * stride, column * stride
            full[:, top : top + window, left : left + window] += part
    cut = [slice(r // 2, r // 2 + w - r) for r, w in zip(removed, whole, strict=True)]
    np.testing.assert_allclose(answer, full[:, cut[0], cut[1]] + bias, 1e-5, 1e-5)


def _matrix(points, left, right, subset, size, scale, target):
    """Shift to the center of the box, turn back, scale, and shift by half of the output."""
    angle = target - np.arctan2(*(points[right] - points[left])[[1, 0]])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned = points[subset][:, :2] @ turn.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    matrix = np.eye(4)
    linear = turn.T @ np.diag(scale * (high - low) / size)
    matrix[:2, :2] = linear
    matrix[:2, 3] = turn.T @ ((low + high) / 2) - linear @ (np.array(size) / 2)
    return matrix


@pytest.mark.parametrize("way", WAYS)
def test_landmarks_become_the_matrix_of_their_box(way):
    points = numbers(1, 9, 3, low=0, high=50)
    options = {
        "left_rotation_idx": 1, "right_rotation_idx": 5, "subset_idxs": [2, 3, 7, 8], "output_height": 6,
        "output_width": 8, "scale_x": 1.5, "scale_y": 1.25, "target_rotation_radians": 0.25,
    }  # fmt: skip
    answer = _answer("Landmarks2TransformMatrix", points, way=way, options=bytes(flexbuffers.Dumps(options)))
    expected = _matrix(points[0], 1, 5, [2, 3, 7, 8], [8, 6], np.array([1.5, 1.25]), 0.25)
    np.testing.assert_allclose(answer, expected[None], 1e-5, 1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_an_image_through_a_map_is_zero_outside(way):
    image = numbers(1, 5, 6, 3)
    matrix = np.eye(4, dtype=np.float32)[None] + 0
    matrix[0, :2] = [[0.9, 0.3, 0, -0.71], [-0.4, 0.8, 0, 1.13]]
    options = bytes(flexbuffers.Dumps({"output_height": 7, "output_width": 4}))
    answer = _answer("TransformTensorBilinear", image, matrix, way=way, options=options)
    expected = np.zeros((1, 7, 4, 3), np.float32)
    for row in range(7):
        for column in range(4):
            x, y = matrix[0, :2, :2] @ [column + 0.5, row + 0.5] + matrix[0, :2, 3] - 0.5
            if 0 <= x <= 5 and 0 <= y <= 4:
                for i in (int(y), int(y) + 1):
                    for j in (int(x), int(x) + 1):
                        weight = max(0, 1 - abs(y - i)) * max(0, 1 - abs(x - j))
                        if weight:
                            expected[0, row, column] += weight * image[0, i, j]
    assert 0 < (expected == 0).mean() < 1
    np.testing.assert_allclose(answer, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_landmarks_through_a_map_keep_their_depth(dimensions, way):
    points, matrix = numbers(1, 4, dimensions), numbers(1, 4, 4, seed=1)
    expected = points.copy()
    expected[0, :, :2] = points[0, :, :2] @ matrix[0, :2, :2].T + matrix[0, :2, 3]
    np.testing.assert_allclose(_answer("TransformLandmarks", points, matrix, way=way), expected, 1e-5, 1e-5)


def test_the_first_version_means_something_else():
    with pytest.raises(tfport.Error, match="version 1 is not supported"):
        _answer("TransformLandmarks", numbers(1, 4, 2), numbers(1, 4, 4), way="host", version=1)
