"""Commands import modules of tfport from compiled files that are up to date."""

from __future__ import annotations

import importlib
import inspect
import os
import py_compile
import subprocess
import sys

import pytest

from tfport.startup.compiled_modules import CompiledLoader, CompiledModules, use_compiled_modules


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module `tfport.some_module` with its compiled file."""
    import tfport

    source = tmp_path / "some_module.py"
    source.write_text("answer = 42\n")
    py_compile.compile(str(source))
    monkeypatch.setattr(tfport, "__path__", [str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [CompiledModules, *sys.meta_path])
    yield source
    sys.modules.pop("tfport.some_module", None)


def imported():
    importlib.invalidate_caches()
    return importlib.import_module("tfport.some_module")


def test_a_compiled_file_that_is_up_to_date_is_used(module):
    loaded = imported()
    assert isinstance(loaded.__loader__, CompiledLoader)
    assert (loaded.answer, loaded.__file__) == (42, str(module))
    assert loaded.__cached__ == importlib.util.cache_from_source(str(module))
    assert (loaded.__package__, loaded.__spec__.parent) == ("tfport", "tfport")
    assert inspect.getsource(loaded) == "answer = 42\n"
    assert loaded.__loader__.get_code(loaded.__name__).co_filename == str(module)
    assert importlib.reload(loaded) is loaded


def test_a_changed_source_is_compiled_again(module):
    module.write_text("answer = 4711\n")
    loaded = imported()
    assert not isinstance(loaded.__loader__, CompiledLoader)
    assert loaded.answer == 4711


def test_so_is_one_of_another_time(module):
    os.utime(module, (1, 1))
    assert not isinstance(imported().__loader__, CompiledLoader)


def test_without_a_compiled_file_python_finds_the_module(module):
    os.remove(importlib.util.cache_from_source(str(module)))
    assert not isinstance(imported().__loader__, CompiledLoader)


def test_a_compiled_file_that_states_a_hash_is_left_to_python(module):
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    py_compile.compile(str(module), invalidation_mode=mode)
    assert not isinstance(imported().__loader__, CompiledLoader)


@pytest.mark.parametrize("name", ["tfport", "json.decoder", "tfport.no_such_module"])
def test_other_modules_are_left_to_python(name, tmp_path):
    assert CompiledModules.find_spec(name, [str(tmp_path)]) is None
    assert CompiledModules.find_spec(name, None) is None


PROGRAM = """
import sys
from tfport.startup.compiled_modules import CompiledModules
sys.argv = ["tfport", "ops", "Abs"]
from tfport.cli.main import main
main()
print(sys.meta_path.count(CompiledModules), file=sys.stderr)
"""
OPTIONS = [([], "1"), (["-O"], "0"), (["-X", "pycache_prefix=cache"], "0")]


@pytest.mark.parametrize(("options", "count"), OPTIONS)
def test_commands_use_them(options, count, tmp_path):
    places = ":".join(map(os.path.abspath, filter(None, sys.path)))
    environment = {**os.environ, "PYTHONPATH": places}
    program = [sys.executable, *options, "-c", PROGRAM]
    run = subprocess.run(program, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    assert run.stderr.strip() == count


def test_it_is_installed_once(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    use_compiled_modules()
    use_compiled_modules()
    assert sys.meta_path.count(CompiledModules) == 1
