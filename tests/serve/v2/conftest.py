"""One server for the tests of each module."""

import pytest
from tests.serve.v2.server import serving


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running
