"""No TensorFlow is asked here, installed or not: that is for `tests/live`, and takes seconds each time."""

import pytest

from tfport.fix.certify import verify as certify


@pytest.fixture(autouse=True)
def without_tensorflow(monkeypatch):
    monkeypatch.setattr(certify, "live_tensorflow", lambda: None)
