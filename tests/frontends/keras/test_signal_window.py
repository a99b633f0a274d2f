"""Windows of frames, as the backend that saved a model has them."""

from types import SimpleNamespace

import numpy as np
import pytest

from tfport.frontends.keras.signal_window import signal_window


def window_of(backend, name, length, fft_length):
    builder = SimpleNamespace(model=SimpleNamespace(file=SimpleNamespace(backend=backend)))
    return signal_window(builder, name, length, fft_length)


@pytest.mark.parametrize("backend", ["", "tensorflow"])
def test_tensorflow_ends_odd_windows_at_their_last_element(backend):
    np.testing.assert_allclose(window_of(backend, "hann", 7, 7), np.hanning(7), atol=1e-15)
    np.testing.assert_allclose(window_of(backend, "hamming", 7, 7), np.hamming(7), atol=1e-15)


@pytest.mark.parametrize(("backend", "length"), [("tensorflow", 6), ("jax", 6), ("jax", 7), ("torch", 7)])
def test_other_windows_are_periodic(backend, length):
    expected = np.hanning(length + 1)[:-1]
    np.testing.assert_allclose(window_of(backend, "hann", length, length), expected, atol=1e-15)


def test_zeros_are_around_a_window():
    assert np.flatnonzero(window_of("tensorflow", "hamming", 4, 9)).tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize(("backend", "ones"), [("tensorflow", 9), ("jax", 9), ("torch", 4)])
def test_without_a_window_all_elements_count_but_in_pytorch(backend, ones):
    assert window_of(backend, None, 4, 9).sum() == ones
