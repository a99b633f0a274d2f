"""Each file of tests/broken/files gives the error in the file beside it."""

import importlib.util
from pathlib import Path

import pytest

from tfport.errors import Error

BROKEN = Path(__file__).parent.parent / "broken"
CASES = sorted(path.name.removesuffix(".error") for path in (BROKEN / "files").glob("*.error"))


@pytest.fixture(scope="module")
def make_files():
    spec = importlib.util.spec_from_file_location("make_files", BROKEN / "make_files.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_is_not_a_model_gives_its_error(name, make_files, monkeypatch):
    monkeypatch.chdir(BROKEN / "files")
    with pytest.raises(Error) as raised:
        make_files.read(name)
    assert f"{type(raised.value).__name__}: {raised.value}\n" == Path(name + ".error").read_text()


def test_each_file_is_one_that_the_script_writes(make_files):
    assert sorted(make_files.cases()) == CASES
