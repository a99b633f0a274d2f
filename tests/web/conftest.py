"""A server that all tests of the API share; it may open the recorded models and the examples."""

import pytest
from tests.recorded_models import MODELS
from tests.web.ui_client import running


@pytest.fixture(scope="session")
def ui():
    with running(allow=(str(MODELS),)) as client:
        yield client
