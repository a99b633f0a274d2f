"""The index of who declares which op is true, so that what a session does not need is not loaded."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_index_is_what_the_files_declare():
    found = python(
        "import sys; sys.path.append('tools'); import index_ops\n"
        "print(index_ops.text(index_ops.index()), end='')"
    )
    assert found == (ROOT / "src/tfport/runtime/families.json").read_text(), "run `make index`"


def test_a_session_loads_only_what_it_needs():
    loaded = python(
        "import sys, tfport\n"
        "s = tfport.Session('examples/attention')\n"
        "s.signature('serving_default')(words=[['the', 'river']])\n"
        "print(*(m for m in sys.modules if m.startswith('tfport.runtime.kernels.')))"
    ).split()
    assert "tfport.runtime.kernels.variables" in loaded
    assert not any("parse" in module or "image" in module for module in loaded)
