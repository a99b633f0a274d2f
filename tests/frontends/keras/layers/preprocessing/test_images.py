"""Images, numbers and sound: what layers compute without training."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential

from tfport.errors import CannotRun

IMAGE = np.arange(2 * 4 * 6, dtype="f").reshape(1, 4, 6, 2)


def result(layer, x, version="3.15.1", weights=(), shape=None):
    dtype = x.dtype.name
    model = built(
        sequential(layer, shape=(None, *(shape or x.shape[1:])), dtype=dtype), {"l0": weights}, version
    )
    return answers(model, x)[0]


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (("Rescaling", {"scale": 0.5, "offset": [1.0, -1.0]}), IMAGE * 0.5 + np.float32([1, -1])),
        (("CenterCrop", {"height": 2, "width": 3}), IMAGE[:, 1:3, 1:4]),
        (("Resizing", {"height": 2, "width": 3, "interpolation": "nearest"}), IMAGE[:, 1::2, 1::2]),
        (("RandomFlip", {"mode": "horizontal", "seed": None}), IMAGE),
        (("RandomCrop", {"height": 2, "width": 2}), IMAGE),
        (("RandAugment", {"value_range": [0, 255]}), IMAGE),
    ],
)
def test_images(layer, expected):
    np.testing.assert_allclose(result(layer, IMAGE), expected)


@pytest.mark.parametrize("open_size", [False, True])
def test_images_are_cut_to_the_aspect_ratio_of_the_target(open_size):
    layer = ("Resizing", {"height": 2, "width": 2, "interpolation": "nearest", "crop_to_aspect_ratio": True})
    shape = (None, None, 2) if open_size else None
    np.testing.assert_allclose(result(layer, IMAGE, shape=shape), IMAGE[:, 1::2, 2:5:2])


def test_images_are_padded_to_the_aspect_ratio_of_the_target():
    layer = ("Resizing", {"height": 3, "width": 3, "interpolation": "nearest", "pad_to_aspect_ratio": True})
    padded = np.pad(IMAGE, ((0, 0), (1, 1), (0, 0), (0, 0)))
    np.testing.assert_allclose(result(layer, IMAGE), padded[:, 1::2, 1::2])


def test_a_random_crop_before_keras_3_8_resizes_the_middle():
    layer = ("RandomCrop", {"height": 4, "width": 4})
    np.testing.assert_allclose(result(layer, IMAGE, "2.15.0"), IMAGE[:, :, 1:5])


@pytest.mark.parametrize("open_size", [False, True])
@pytest.mark.parametrize(  # the answers of TensorFlow 2.3.4 and 2.6.5
    ("size", "image", "dtype", "total", "weighted"),
    [
        ((3, 4), (5, 6), "float32", 1198.75, 15398.0),
        ((3, 4), (5, 6), "int32", 1198.75, 15398.0),
        ((3, 3), (9, 4), "float32", 1002.75, 8566.125),
        ((2, 5), (7, 6), "float32", 1084.2, 10541.56),
        ((6, 5), (4, 3), "float32", 2306.4, 82864.67),
        ((4, 4), (4, 7), "float32", 1768.0, 31442.0),
    ],
)
def test_a_random_crop_before_keras_2_7_resizes_first(size, image, dtype, total, weighted, open_size):
    x = (np.arange(2 * image[0] * image[1]) ** 2 % 97).reshape(1, *image, 2).astype(dtype)
    layer = ("RandomCrop", {"height": size[0], "width": size[1]})
    answer = result(layer, x, "2.6.0", shape=(None, None, 2) if open_size else None)
    assert answer.shape == (1, *size, 2)
    assert answer.dtype == np.float32
    places = np.arange(answer.size)
    np.testing.assert_allclose([answer.sum(), answer.ravel() @ places], [total, weighted], rtol=1e-5)


def test_a_random_crop_of_keras_2_7_keeps_the_type():
    x = np.int32([[[[1], [2], [4]]]])
    answer = result(("RandomCrop", {"height": 2, "width": 6}), x, "2.7.0")
    assert answer[0, 0, :, 0].tolist() == [1, 1, 1, 2, 3, 4]


NUMBERS = np.float32([[1, 2, 3], [4, 5, 6]])
MEAN, VARIANCE = np.float32([1, 2, 3]), np.float32([4, 1, 0])


def test_normalization_with_numbers_of_the_configuration_or_weights():
    expected = (NUMBERS - MEAN) / np.maximum(np.sqrt(VARIANCE), 1e-7)
    stated = ("Normalization", {"mean": MEAN.tolist(), "variance": VARIANCE.tolist()})
    np.testing.assert_allclose(result(stated, NUMBERS), expected, rtol=1e-6)
    weights = [MEAN, VARIANCE, np.int32(2)]
    np.testing.assert_allclose(result(("Normalization", {}), NUMBERS, weights=weights), expected, rtol=1e-6)
    inverse = ("Normalization", {"mean": 1.0, "variance": 4.0, "axis": None, "invert": True})
    np.testing.assert_allclose(result(inverse, NUMBERS), NUMBERS * 2 + 1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[1, 1, 2], [2, 2, 2]]),
        ({"output_mode": "count"}, [[0, 2, 1], [0, 0, 3]]),
        ({"output_mode": "multi_hot"}, [[0, 1, 1], [0, 0, 1]]),
    ],
)
def test_discretization(options, expected):
    layer = ("Discretization", {"bin_boundaries": [1.0, 3.0], **options})
    assert result(layer, NUMBERS).tolist() == expected


def test_boundaries_that_adapt_found_are_not_in_files_of_keras_2():
    with pytest.raises(CannotRun, match="the boundaries of its bins are not in the file"):
        result(("Discretization", {"num_bins": 3}), NUMBERS, "2.15.0")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"output_mode": "multi_hot"}, [[0, 1, 1, 0], [1, 0, 0, 0]]),
        ({"output_mode": "count"}, [[0, 1, 1, 0], [2, 0, 0, 0]]),
    ],
)
def test_category_encoding(options, expected):
    categories = np.int64([[1, 2], [0, 0]])
    assert result(("CategoryEncoding", {"num_tokens": 4, **options}), categories).tolist() == expected


@pytest.mark.parametrize(("version", "shape"), [("3.4.0", (2, 1, 4)), ("3.5.0", (2, 4)), ("2.15.0", (2, 4))])
def test_one_hot_vectors_keep_an_axis_in_early_keras_3(version, shape):
    layer = ("CategoryEncoding", {"num_tokens": 4, "output_mode": "one_hot"})
    assert result(layer, np.int64([[1], [3]]), version).shape == shape


def test_hashed_crossing_is_a_bucket_of_both():
    first = np.array([["a"], ["b"], ["a"]], object)
    config = {
        "name": "m",
        "layers": [
            {"class_name": "InputLayer", "name": n, "inbound_nodes": [],
             "config": {"name": n, "batch_shape": [None, 1], "dtype": d}}
            for n, d in (("s", "string"), ("n", "int64"))
        ]
        + [{"class_name": "HashedCrossing", "name": "c", "config": {"name": "c", "num_bins": 100},
            "inbound_nodes": [[["s", 0, 0, {}], ["n", 0, 0, {}]]]}],
        "input_layers": [["s", 0, 0], ["n", 0, 0]],
        "output_layers": [["c", 0, 0]],
    }  # fmt: skip
    model = built({"class_name": "Functional", "config": config}, {}, "2.15.0")
    names = list(model.signatures["serving_default"].inputs)
    values = {"s": first, "n": np.int64([[1], [1], [1]])}
    buckets = answers(model, *(values[name] for name in names))[0].ravel().tolist()
    assert buckets[0] == buckets[2] != buckets[1]


def test_a_spectrogram_is_a_fourier_transform_of_windows():
    signal = np.sin(np.arange(64, dtype="f") * 0.7)[None]
    options = {
        "fft_length": 16, "sequence_stride": 8, "sampling_rate": 16, "num_mel_bins": 4, "min_freq": 0.0,
        "power_to_db": False, "mag_exp": 1.0,
    }  # fmt: skip
    spectrum = result(("MelSpectrogram", options), signal)
    padded = np.pad(signal[0], 8, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(16) / 16)
    frames = np.stack([padded[i : i + 16] * window for i in range(0, 65, 8)])
    energy = np.abs(np.fft.rfft(frames)).astype("f")
    assert spectrum.shape == (1, 4, 9)
    assert np.all(spectrum[0].sum(0) <= energy.sum(1) + 1e-4)
    assert spectrum[0].argmax(0).tolist() == [1] * 9 or spectrum[0].max() > 0
