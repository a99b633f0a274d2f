"""What a GPU prepares beside its calls is prepared at once here, so that tests know what has run."""

import pytest

from tfport.runtime.engines.gpu.preparation import PREPARATIONS


@pytest.fixture(autouse=True)
def prepared_at_once(monkeypatch):
    monkeypatch.setattr(PREPARATIONS, "begin", lambda work: work())
