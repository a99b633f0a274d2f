"""Settings of all tests: no deadlines (machines may be busy), fixed examples in CI, no forced color."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("explore", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "explore")
os.environ.pop("FORCE_COLOR", None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exempt the collected tests from garbage collection: they are many, and stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
