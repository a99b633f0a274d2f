"""No island is too small for the engine here: a case of one op would be left to the host otherwise."""

import pytest

from tfport.runtime import plan


@pytest.fixture(autouse=True)
def lower_everything(monkeypatch):
    monkeypatch.setattr(plan, "WORTHWHILE", 0)
