"""In these tests no island is too small for the engine, so that a case of one op is lowered too."""

import pytest

from tfport.runtime import plan


@pytest.fixture(autouse=True)
def lower_everything(monkeypatch):
    monkeypatch.setattr(plan, "MIN_ISLAND", 0)
