"""The index says which module declares what, so that a process imports only what it needs."""

import subprocess
import sys
from pathlib import Path

import pytest

from tfport import Error, discovery
from tfport.discovery import Catalog

ROOT = Path(__file__).parent.parent


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_index_is_current():
    made = python(
        "import sys; sys.path.append('tools'); import make_index as m; print(m.text(m.index()), end='')"
    )
    assert made == (ROOT / "src/tfport" / discovery.INDEX).read_text(), "run `make index`"


def test_a_session_imports_only_the_modules_it_needs():
    loaded = python(
        "import sys, tfport\n"
        "s = tfport.Session('examples/attention')\n"
        "s.signature('serving_default')(words=[['the', 'river']])\n"
        "print(*(m for m in sys.modules if m.startswith('tfport.runtime.ops.')))"
    ).split()
    assert "tfport.runtime.ops.state.kernels.variables" in loaded
    assert not any("parse" in module or "image" in module for module in loaded)


@pytest.fixture
def stale(monkeypatch):
    """A catalog of this test, whose index names a module that is gone and lacks a declared name."""
    monkeypatch.setattr(discovery, "_index", lambda: {"samples": {"gone": "Gone"}})
    discovery._modules_by_name.cache_clear()
    yield Catalog("samples", "tfport.errors")
    del Catalog.every["samples"]
    discovery._modules_by_name.cache_clear()


def test_a_module_that_is_gone_says_to_make_the_index(stale):
    with pytest.raises(Error, match=r"names the module tfport.gone, which does not exist; run `make index`"):
        stale.of("Gone")


def test_a_name_that_the_index_lacks_is_noticed_in_a_checkout(stale):
    stale.add("New", object())
    assert stale.lacks("New")
    assert not stale.lacks("Gone")
    assert not stale.lacks("Never declared")
