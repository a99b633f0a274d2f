"""`explain.packages`: what versions of Python removed and added."""

import importlib
import sys

import pytest

from tfport.atlas.versions import version_key
from tfport.explain.packages import ADDED, REMOVED

RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
NAMES = [
    (name, table, version)
    for table in (REMOVED, ADDED)
    for version, names in table.items()
    for name in names.split()
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "table", "version"), NAMES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_running_python_has_the_names_that_it_should(name, table, version):
    module, _, attribute = name.partition(".")
    reached = version_key(RUNNING) >= version_key(version)
    try:
        is_there = not attribute or hasattr(importlib.import_module(module), attribute)
        importlib.import_module(module)
    except ImportError:
        is_there = False
    assert is_there is (reached if table is ADDED else not reached)
