"""An exported model for the tests of each module."""

import pytest
from tests.serve.models.exports import export, warm_up_file


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    base = tmp_path_factory.mktemp("models") / "m"
    export(base, 3, warm_up=warm_up_file(("", {"x": [1]})))
    return base
