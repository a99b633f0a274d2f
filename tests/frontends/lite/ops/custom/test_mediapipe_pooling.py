"""Pooling that keeps places: compared with its definition, element by element."""

import struct

import numpy as np
import pytest
from tests.frontends.lite.cases import case, out, run
from tests.runtime.cases import f32, numbers

import tfport

HEIGHT, WIDTH = 2, 3
OPTIONS = struct.pack("<6i", 1, WIDTH, HEIGHT, WIDTH, HEIGHT, 0)
IMAGE = numbers(2, 4, 6, 3)


def _pooled():
    values, places = np.zeros((2, 2, 2, 2, 3), np.float32)
    for index in np.ndindex(values.shape):
        n, row, column, channel = index
        part = IMAGE[n, row * HEIGHT : (row + 1) * HEIGHT, column * WIDTH : (column + 1) * WIDTH, channel]
        values[index], places[index] = part.max(), part.argmax() + np.float32(0.1)
    return values, places


def _case(name, *inputs, outputs=1, options=OPTIONS):
    return case("CUSTOM", *inputs, custom=name, custom_options=options, outputs=[out("FLOAT32")] * outputs)


@pytest.mark.parametrize("way", ["engine", "host"])
def test_pooling_and_unpooling(way):
    values, places = run(_case("MaxPoolingWithArgmax2D", IMAGE, outputs=2), way)
    for ours, theirs in zip((values, places), _pooled(), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6)
    (image,) = run(_case("MaxUnpooling2D", values, places), way)
    assert image.shape == IMAGE.shape
    np.testing.assert_array_equal(image[image != 0], IMAGE[image != 0])
    assert (image != 0).sum() == values.size


@pytest.mark.parametrize(
    ("options", "image", "why"),
    [
        (b"", IMAGE, "too short"),
        (struct.pack("<6i", 1, 1, 1, 2, 2, 0), IMAGE, "overlap"),
        (OPTIONS, f32(*range(5)).reshape(1, 1, 5, 1), "do not fill"),
    ],
)
def test_other_windows_are_refused(options, image, why):
    c = _case("MaxPoolingWithArgmax2D", image, outputs=2, options=options)
    assert why in tfport.load(c.model).no_graph
