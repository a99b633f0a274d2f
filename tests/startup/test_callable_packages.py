"""`tfport.check` and `tfport.fix` are functions and packages at the same time, however they are imported."""

import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import tfport

ROOT = Path(__file__).parents[2]
PREFER_FUNCTION = """
import tfport
assert tfport.check("examples/attention", on="tensorflow==1.14.0").verdict == "runs"
"""
PREFER_PACKAGE = """
import tfport.check.loaders
import tfport.fix.rule
"""
USES = {
    "attribute": "import tfport; assert tfport.check.loaders.LOADERS; assert tfport.fix.rule.rule",
    "import as": "import tfport.check.loaders as loaders; assert loaders.LOADERS",
    "from package": "from tfport.fix import rule; assert rule.rule",
    "from module": "from tfport.fix.rule import rule; assert callable(rule)",
    "from tfport": "from tfport import check, fix; assert callable(check); assert callable(fix)",
    "call": "import tfport; assert tfport.check('examples/attention', on='tensorflow==1.13.2').findings",
    "call after from": "from tfport import check; assert check('examples/attention', 'tensorflow==1.14.0')",
}


@pytest.mark.parametrize(
    "first", ["", PREFER_FUNCTION, PREFER_PACKAGE], ids=["nothing", "function", "package"]
)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_in_a_fresh_process(first, use):
    subprocess.run([sys.executable, "-c", f"{first}\n{use}\n{first}"], check=True, cwd=ROOT)


def test_the_signature_is_that_of_the_function():
    assert list(inspect.signature(tfport.check).parameters)[:3] == ["model", "on", "device"]
    assert list(inspect.signature(tfport.fix).parameters)[:2] == ["model", "target"]


def test_a_callable_package_can_be_pickled_like_a_function():
    assert pickle.loads(pickle.dumps(tfport.check)) is tfport.check


@pytest.mark.parametrize("name", ["nonsense", "__nonsense__"])
def test_an_unknown_attribute_is_an_error(name):
    with pytest.raises(AttributeError, match=f"module 'tfport.check' has no attribute '{name}'"):
        getattr(tfport.check, name)


def test_no_other_public_function_shadows_a_module():
    source = ROOT / "src" / "tfport"
    modules = {path.stem for path in source.iterdir() if path.is_dir() or path.suffix == ".py"}
    shadowing = {name for name in tfport.__all__ if name in modules}
    assert shadowing == {"batch", "check", "explain", "fix", "matrix", "scan"}
    assert all(inspect.ismodule(getattr(tfport, name)) for name in shadowing)
