"""These tests never run TensorFlow, even if it is installed: that is slow, and part of `tests/live`."""

import pytest

from tfport.fix.certify import verify as certify


@pytest.fixture(autouse=True)
def without_tensorflow(monkeypatch):
    monkeypatch.setattr(certify, "live_tensorflow", lambda: None)
