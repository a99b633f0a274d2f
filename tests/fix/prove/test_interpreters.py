"""Interpreters are found on PATH and in pyenv; what is not an interpreter of that version is passed over."""

from __future__ import annotations

import sys

import pytest

from tfport.fix.prove import environments
from tfport.fix.prove.environments import find_python

OWN = "{}.{}".format(*sys.version_info)


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    find_python.cache_clear()
    yield
    find_python.cache_clear()


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_this_python_is_one():
    assert find_python(OWN) == sys.executable


def test_there_may_be_none():
    assert find_python("3.1") is None


def test_one_on_path(tmp_path):
    assert find_python("3.2") is None
    find_python.cache_clear()
    path = program(tmp_path / "bin/python3.2", "echo 3.2")
    assert find_python("3.2") == path


def test_a_shim_that_runs_nothing_is_passed_over(tmp_path):
    program(tmp_path / "bin/python3.2", "echo 'command not found' >&2; exit 127")
    path = program(tmp_path / "pyenv/versions/3.2.9/bin/python", "echo 3.2")
    assert find_python("3.2") == path


def test_one_of_uv_and_one_of_the_launcher(tmp_path):
    path = program(tmp_path / "elsewhere/python", "echo 3.2")
    program(tmp_path / "bin/uv", f'[ "$*" = "python find --no-python-downloads 3.2" ] && echo {path}')
    assert find_python("3.2") == path
    program(tmp_path / "elsewhere/python", "echo 3.3")
    program(tmp_path / "bin/py", f'[ "$1" = -3.3 ] && echo {path}')
    assert find_python("3.3") == path


def test_a_program_that_hangs_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "PROBE_SECONDS", 0.1)
    program(tmp_path / "bin/python3.2", "while :; do :; done")
    assert find_python("3.2") is None
