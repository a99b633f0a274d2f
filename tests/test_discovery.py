"""The index says which module declares what, so that a process imports only what it needs."""

import os
import re
import shutil
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


def test_an_op_that_the_index_lacks_says_to_make_the_index(tmp_path):
    """A kernel that is missing in the index is reported as such, not as a missing kernel."""
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "pyproject.toml").touch()
    index = copy / "src/tfport" / discovery.INDEX
    index.write_text(re.sub(r"\bAbs\b ?", "", index.read_text()))
    code = (
        "import tfport; from tfport.graph.build import graph_to_def\n"
        "from tests.recorded_models import graph\n"
        "made = graph('x = Placeholder() {dtype=float32, shape=(2,)}\\ny = Abs(x) {T=float32}')\n"
        "session = tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))\n"
        "session.run('y:0', {'x:0': [1.0, -2.0]})"
    )
    environment = os.environ | {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert "`y` (Abs): the index lacks this op" in done.stderr
    assert "run `make index`" in done.stderr


ASK_TWICE = """
import threading
from tfport import discovery
from tfport.runtime.implementations import BUILT_IN

answers, imported = [], discovery._import
ask = lambda: answers.append(len(BUILT_IN.kernels_of("StringLower")))
other = threading.Thread(target=ask)

def import_slowly(module):
    if other.ident is None:
        other.start()
        other.join(0.2)
    imported(module)

discovery._import = import_slowly
ask()
other.join()
print(answers)
"""


def test_a_thread_that_asks_while_another_one_imports_gets_the_same_answer():
    assert python(ASK_TWICE) == "[1, 1]\n"
